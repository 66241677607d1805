"""The last two steps on the input of BERT: the three vectors of a position, their sum, the effect of each."""

from __future__ import annotations

import numpy as np
import pandas as pd

from core.serving.engine import default
from viz.charts.bar_lanes import Lane, bar_lanes
from viz.course.bert.bert_input import input_sum
from viz.course.bert.bert_input.input_sum import PARTS, Sum
from viz.course.bert.bert_input.params import MODEL, NAMES, SLUG, Params
from viz.course.exhibit import Folds
from viz.labels import distinct, percent, visible
from viz.number_text import number
from viz.widgets import controls, engine_client, exhibit_parts, page_parts

N_DRAWN = 16


def added(params: Params, data: Sum) -> Folds:
    """Draw the first numbers of the three vectors and of their sum, one lane each."""
    place, names = min(params.place, len(data.tokens) - 1), distinct(data.tokens)
    vectors = [*(data.parts[name][place] for name in PARTS), data.total[place]]
    token, text = visible(data.tokens[place]), f"text {'AB'[data.segments[place]]}"
    say = (f"the token {token}", f"+ {text}", f"+ position {place}", "= the sum")
    lanes = [
        Lane(name, vector[:N_DRAWN], hue)
        for name, vector, hue in zip(say, vectors, (0, 1, 2, 4), strict=True)
    ]
    n = len(vectors[0])
    page_parts.show(
        bar_lanes(
            lanes,
            x_title=f"the first {N_DRAWN} of {n} numbers",
            height=exhibit_parts.by_mode(430, 390),
        ),
        SLUG + "sum",
        f"The first numbers of the token {token}, {text}, position {place}, and their sum.",
    )
    a, b, c, total = (float(vector[0]) for vector in vectors)
    sizes = [number(float(np.linalg.norm(vector))) for vector in vectors]
    page_parts.summary(
        f"First number: {number(a, 4)} + {number(b, 4)} + {number(c, 4)} = {number(total, 4)}. "
        f"The vectors are {sizes[0]}, {sizes[1]} and {sizes[2]} long, their sum {sizes[3]}. "
        + ("All numbers of all tokens agree to the last bit." if data.exact else "They agree up to rounding.")
    )
    controls.pills("Token", range(len(names)), SLUG + "place", place, lambda at: names[at])
    line = f"{number(a, 6)} + {number(b, 6)} + {number(c, 6)} = {number(total, 6)}"
    return Folds(
        lambda: pd.DataFrame(
            dict(zip((*NAMES.values(), "sum"), vectors, strict=True)),
        ).rename_axis("number"),
        {name: data.parts[name] for name in PARTS} | {"total": data.total},
        {"model": MODEL, "pair": _pair(params), "place": place},
        equations={"bert.input": {}},
        latex=(line.replace("−", "-"),),
    )


def ablation(params: Params, data: Sum) -> Folds:
    """Ask which of the three matters most, then draw the change of each token's last vector without each."""
    pair = params.pair if params.pair.strip() else None

    def all_three() -> list[input_sum.Ablation]:
        model = default().open(MODEL)
        return [input_sum.ablate(model, params.text, pair, part) for part in PARTS]

    key = ("bert_input.without", params.text, pair)
    every = engine_client.submit(key, all_three, 60 * len(params.text + params.pair))
    found = {one.part: one for one in every}
    means = {part: float(one.turned.mean()) for part, one in found.items()}
    most = max(means, key=lambda part: means[part])
    told = exhibit_parts.predict(
        SLUG + "off",
        "One of the three embeddings is set to zero at all positions. Without which one does the last layer change most?",
        {NAMES[part]: mean for part, mean in means.items()},
        NAMES[most],
        "; ".join(f"{NAMES[part]}: 1 − cosine {mean:.3f} on average" for part, mean in means.items()) + ".",
    )
    names, off = distinct(data.tokens), params.off
    top = max(0.05, 1.1 * max(float(one.turned.max()) for one in every))
    lanes = [
        Lane(
            f"without “{NAMES[part]}”",
            found[part].turned,
            hue,
            (0, top),
            marked=None if part == off else frozenset(),
        )
        if told
        else Lane(f"without “{NAMES[part]}”", None, hue, (0, 1))
        for hue, part in enumerate(PARTS)
    ]
    turned = ": " + ", ".join(f"{NAMES[part]} {mean:.3f}" for part, mean in means.items()) + "."
    page_parts.show(
        bar_lanes(lanes, labels=names, height=exhibit_parts.by_mode(430, 470)),
        SLUG + "without",
        "How much the last vector of each token changes without each of the three"
        + (turned if told else "; covered until you guess."),
    )
    before, after = found[off].follows
    follows = f"{percent(before)} with all three, {percent(after)} without."
    page_parts.summary(
        f"Without “{NAMES[off]}” the last vectors change by {means[off]:.3f} on average "
        "(1 − cosine; 0: same direction, 1: orthogonal)."
        + (f" P(the second text follows the first): {follows}" if pair else "")
        if told
        else "The bars are shown after your guess."
    )
    return Folds(
        lambda: pd.DataFrame({NAMES[part]: one.turned for part, one in found.items()}, index=names),
        {part: one.turned for part, one in found.items()},
        {"model": MODEL, "pair": _pair(params), "second": pair},
        told,
        {"bert.input": {}},
        [
            rf"\text{{without {part}: }} \tfrac{{1}}{{n}} \sum_i (1 - \cos) = {mean:.4f}"
            for part, mean in means.items()
        ],
    )


def _pair(params: Params) -> str:
    return f", pair={params.pair!r}" if params.pair.strip() else ""
