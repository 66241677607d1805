"""The last two steps of what BERT reads: the three vectors of one place and their sum, and what each of the three is worth."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from core.serving.engine import default
from viz.charts.bar_lanes import Lane, bar_lanes
from viz.charts.curves import number
from viz.course.bert.bert_input.maths import input_sum
from viz.course.bert.bert_input.pieces import LATER, SLUG
from viz.course.shared.shown import Shown
from viz.labels import distinct, percent, visible
from viz.widgets import compute as ask
from viz.widgets import controls, lesson, parts

MODEL = "bert-mini"
SHOWN = 16
NAMES = {"token": "token embedding", "segment": "segment embedding", "position": "position embedding"}
TRY = (
    "**Try.** Take ##ing out, then put every letter in: unknown becomes readable, and longer.",
    "**Try.** Type a rare word, an emoji, a word in another language.",
    "**Try.** Leave the second text empty: there is only A, and one [SEP] less.",
    "**Try.** Choose the same word at two positions: the token embedding stays, the position embedding differs.",
    "**Try.** Put both texts into one: what is the segment worth then?",
)


def numbers_of(data: Any, place: int) -> tuple[float, float, float, float]:
    """The first number of the three vectors of a place, and of their sum."""
    a, b, c = (float(data.parts[name][place][0]) for name in input_sum.PARTS)
    return a, b, c, float(data.total[place][0])


def added(params: Any, data: Any) -> Shown:
    """The first numbers of the three vectors and of their sum, lane below lane."""
    place, names = min(params.place, len(data.tokens) - 1), distinct(data.tokens)
    vectors = [data.parts[name][place] for name in input_sum.PARTS]
    sizes = [float(np.linalg.norm(vector)) for vector in (*vectors, data.total[place])]
    say = (f"the token {visible(data.tokens[place])}", f"text {'AB'[data.segments[place]]}", f"position {place}", "the sum")
    lanes = [Lane(f"{'+ ' if 0 < at < 3 else '= ' if at == 3 else ''}{name}", vector[:SHOWN], hue)
             for at, (name, vector, hue) in enumerate(zip(say, (*vectors, data.total[place]), (0, 1, 2, 4), strict=True))]  # fmt: skip
    parts.show(bar_lanes(lanes, x_title=f"the first {SHOWN} of {len(vectors[0])} numbers", height=390 if lesson.presenting() else 430), SLUG + "sum",
               f"The first numbers of {say[0]}, {say[1]}, {say[2]}, and their sum.")  # fmt: skip
    a, b, c, total = numbers_of(data, place)
    parts.numbers(
        f"First number: {number(a, 4)} + {number(b, 4)} + {number(c, 4)} = {number(total, 4)}. The vectors are {number(sizes[0])}, {number(sizes[1])} and {number(sizes[2])} long, their sum {number(sizes[3])}. "
        + ("All numbers of all tokens agree to the last bit." if data.exact else "They agree up to rounding.")
    )  # fmt: skip
    controls.pills("Token", range(len(names)), SLUG + "place", place, lambda at: names[at])
    return Shown(
        {"bert.input": {}}, (rf"{number(a, 6)} + {number(b, 6)} + {number(c, 6)} = {number(total, 6)}".replace("−", "-"),),
        "Four vectors of bert-mini at one position, all on one scale. All three tables are learned, the position embeddings too: BERT has no sine waves in it, though bert-mini's position embeddings began as such. "
        "A layer norm follows before the first block.",
        lambda: pd.DataFrame({NAMES[name]: vector for name, vector in zip(input_sum.PARTS, vectors, strict=True)} | {"sum": data.total[place]}).rename_axis("number"),
        {name: data.parts[name] for name in input_sum.PARTS} | {"total": data.total},
        f"{_run(params)}print(found.exact, found.tokens[{place}], found.total[{place}][:4])",
    )  # fmt: skip


def _run(params: Any) -> str:
    pair = f", pair={params.pair!r}" if params.pair.strip() else ""
    return f"import core\nfrom viz.course.bert.bert_input.maths import input_sum\n\nmodel = core.open_model({MODEL!r})\nfound = input_sum.summed(model.run({params.text!r}{pair}, keep=input_sum.KEEP))\n"


def without(params: Any, data: Any) -> Shown:
    """How far the last vector of each token turns when one of the three is switched off, for all three."""
    pair = params.pair if params.pair.strip() else None

    def all_three() -> list[input_sum.Without]:
        model = default().open(MODEL)
        return [input_sum.without(model, params.text, pair, part) for part in input_sum.PARTS]

    found = {one.part: one for one in ask.submit(("bert_input.without", params.text, pair), all_three, 60 * len(params.text + params.pair))}
    means = {part: float(one.turned.mean()) for part, one in found.items()}
    most = max(means, key=lambda part: means[part])
    told = lesson.predict(
        SLUG + "off", "One of the three embeddings is set to zero everywhere. Which one changes the last layer most?", {NAMES[part]: mean for part, mean in means.items()}, NAMES[most],
        "; ".join(f"{NAMES[part]}: 1 − cosine {mean:.3f} on average" for part, mean in means.items()) + ".",
    )  # fmt: skip
    names, off = distinct(data.tokens), params.off
    top = max(0.05, 1.1 * max(float(one.turned.max()) for one in found.values()))
    lanes = [Lane(f"without “{NAMES[part]}”", found[part].turned if told or (part == off and part != most) else None, hue, (0, top),
                  marked=None if part == off else frozenset()) for hue, part in enumerate(input_sum.PARTS)]  # fmt: skip
    if not told:
        lanes = [Lane(lane.name, None, lane.hue, (0, 1)) for lane in lanes]
    parts.show(bar_lanes(lanes, labels=names, height=380 if lesson.presenting() else 430), SLUG + "without",
               "How far the last vector of each token turns without each of the three" + (": " + ", ".join(f"{NAMES[p]} {m:.3f}" for p, m in means.items()) + "." if told else "; covered until you guessed."))  # fmt: skip
    before, after = found[off].follows
    follows = f" That the second text follows the first: {percent(before)} with all three, {percent(after)} without." if pair else ""
    parts.numbers(f"Without “{NAMES[off]}” the last vectors turn by {means[off]:.3f} on average (0: not at all, 1: at right angles).{follows}" if told else "Guess, and the bars come.")
    controls.segmented("Off", input_sum.PARTS, SLUG + "off", "position", lambda part: NAMES[part])
    return Shown(
        {"bert.input": {}}, tuple(rf"\text{{without {part}: }} \tfrac{{1}}{{n}} \sum_i (1 - \cos) = {mean:.4f}" for part, mean in means.items()) if told else (),
        "A bar is 1 − cosine between the last layer's vector of a token with all three and without one. The one that is off is drawn strongly. bert-mini was never trained without one of them, so this says what it has "
        "come to rely on, not what a model could do without it.",
        lambda: pd.DataFrame({NAMES[p]: one.turned for p, one in found.items()}, index=names) if told else LATER,
        {p: one.turned for p, one in found.items()} if told else {},
        _run(params) + f"for part in input_sum.PARTS:\n    print(input_sum.without(model, {params.text!r}, {pair!r}, part).turned.mean())",
    )  # fmt: skip
