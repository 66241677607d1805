"""The first three steps of the exhibit on residual and norm: the sum of one word, a stack without sums, a trained model without."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd

from core.serving.engine import default
from viz.charts.bar_lanes import Lane, bar_lanes
from viz.course.exhibit import Folds
from viz.course.transformer import depth, residuals
from viz.course.transformer.residual_norm.charts import Panel, by_depth
from viz.course.transformer.residual_norm.params import Params
from viz.course.transformer.residuals import Sum
from viz.labels import percent, visible
from viz.number_text import number, two_digits
from viz.widgets import engine_client, exhibit_parts, page_parts

SLUG = "residual_norm."
FIRST = 24
"""Numbers of a word that are drawn; all of them are counted."""
MODEL = "gpt-mini"
LAYERS = 12
ON, OFF = "x + f(x), with sums", "f(x), without"
SHOWN_AS = {"on": ON, "off": OFF}
HUES = {ON: 0, OFF: 1}
LENGTHS = ("less than half as long", "from half to 1½ times as long", "longer than that")
MEASURES = {"signal": "signal", "gradient": "gradient", "alike": "mean_cosine"}
"""Fields of `Depths` by their names in tables and archives."""
FARES = (
    "about the same as before",
    "higher, but lower than for a uniform guess",
    "higher than for a uniform guess",
)


def pick_model(params: Params) -> None:
    """Draw the controls of the trained model and its layer."""
    params.show("residual_norm", "model")
    params.pick_layer(SLUG)


def add(params: Params, data: Sum) -> Folds:
    """Draw x, the addition of attention and the sum, as bars of one word; the addition is hidden until its length is guessed."""
    word = params.at_word(data.tokens)
    x, z, y = data.before[word], data.added[word], data.after[word]
    long, more = (float(np.linalg.norm(v)) for v in (x, z))
    ratio = more / max(long, 1e-12)
    token, layer = visible(data.tokens[word].strip()), params.at_layer
    answer = LENGTHS[0] if ratio < 0.5 else LENGTHS[1] if ratio <= 1.5 else LENGTHS[2]
    end = {
        LENGTHS[0]: " So the vector is changed a little, not replaced.",
        LENGTHS[2]: " So the vector of the word is the smaller part of the sum.",
    }.get(answer, "")
    told = exhibit_parts.predict(
        SLUG + "long",
        f"In layer {layer} of {params.model}, attention adds a vector to the vector of “{token}”. How long is the added vector, compared with the one it is added to?",
        LENGTHS,
        answer,
        f"The word's vector has length {number(long)}, the added one {number(more)}: {percent(ratio)} of it.{end}",
    )
    here, adds = (
        ("", "from attention")
        if exhibit_parts.presenting()
        else (", as the layer receives it", "what attention adds")
    )
    lanes = [
        Lane(f"x: “{token}”{here}", x[:FIRST]),
        Lane(f"z: {adds}", z[:FIRST] if told else None, 1),
        Lane("x + z: passed on", y[:FIRST] if told else None, 2),
    ]
    picture = bar_lanes(
        lanes,
        x_title=f"the first {FIRST} of {len(x)} numbers",
        across=exhibit_parts.presenting(),
        height=exhibit_parts.by_mode(340, 370),
    )
    rest = ", what attention adds, and the sum." if told else ". The rest is covered."
    page_parts.show(picture, SLUG + "add", "Bars of one word: as the layer receives it" + rest)
    page_parts.summary(
        f"Number 1: {number(float(x[0]), 3)} + {number(float(z[0]), 3)} = {number(float(y[0]), 3)}."
        if told
        else f"Number 1 of “{token}”: {number(float(x[0]), 3)}. What is added is shown after your guess."
    )
    params.pick_word(SLUG, data.tokens)
    return Folds(
        lambda: pd.DataFrame({"x": x, "z": z, "x + z": y}).rename_axis("number"),
        {"x": x, "z": z, "sum": y},
        {"layer": layer, "word": word},
        told,
        {
            "residual.first": {
                "X": number(float(x[0]), 4),
                "Z_t": number(float(z[0]), 4),
                "Z'_t": number(float(y[0]), 4),
            }
        },
        (
            rf"\lVert x \rVert = {number(long, 3)}, \quad \lVert z \rVert = {number(more, 3)}",
            rf"\text{{all {data.after.size:,} numbers of the sentence: x + z and the model's own sum differ by at most }} {data.gap:g}",
        ),
        look={"layer": layer},
        change=lambda: pick_model(params),
    )


def stacks(size: float, lot: int = 0) -> dict[str, depth.Depths]:
    """Measure the random stack with its sums and without."""

    def both() -> dict[str, depth.Depths]:
        return {
            name: depth.by_depth("none", residual=name == ON, size=size, n_layers=LAYERS, lot=lot)
            for name in (ON, OFF)
        }

    return engine_client.submit(("residual_norm.stacks", size, lot), both, 20_000)


def without_sums(params: Params, data: Sum) -> Folds:
    """Draw signal and gradient by depth in a random stack, with its sums and without."""
    found, chosen = stacks(params.size, params.draw), SHOWN_AS[params.residual]
    panels = signal_and_gradient(found)
    picture = by_depth(
        panels,
        HUES,
        strong=[chosen],
        across=exhibit_parts.presenting(),
        height=exhibit_parts.by_mode(430, 320),
    )
    page_parts.show(
        picture,
        SLUG + "without",
        f"Signal and gradient by depth with and without sums, {LAYERS} random layers.",
    )
    d = found[chosen]
    ratios = {
        "signal_ratio": d.signal[-1] / d.signal[0],
        "gradient_ratio": d.gradient[0] / d.gradient[-1],
    }
    kept, back = ratios.values()
    page_parts.summary(
        f"{'With' if params.residual == 'on' else 'Without'} sums: after {LAYERS} layers the signal is "
        f"{two_digits(kept)} times what came in, and the gradient at the start is "
        f"{two_digits(back)} times that at the end."
        + (
            " The gradient does not vanish, but the signal keeps growing: that is what the norm is for."
            if params.residual == "on"
            else " The first layers can hardly learn."
        )
    )
    gap, slope = engine_client.submit(
        ("residual_norm.identity", params.draw), lambda: depth.identity_gap(params.draw), 1000
    )
    return Folds(
        lambda: pd.DataFrame(columns(found, ", ")).rename_axis("layers passed"),
        lambda: columns(found, ": ") | ratios,
        {"layers": LAYERS},
        equations={"residual.first": {}},
        latex=(
            r"\frac{\partial (x + f(x))}{\partial x} = I + \frac{\partial f}{\partial x}",
            rf"\text{{measured for one drawn network and one word of {depth.WIDTH} numbers: largest "
            rf"difference }} {gap:.0e}, \quad \left\lVert \partial f / \partial x \right\rVert = {slope:.2f}",
        ),
    )


def signal_and_gradient(depths: Mapping[str, depth.Depths]) -> list[Panel]:
    """Return two panels by depth, with a line for each stack."""
    return [
        Panel("Signal: root mean square", {name: d.signal for name, d in depths.items()}),
        Panel("Gradient: length", {name: d.gradient for name, d in depths.items()}),
    ]


def columns(
    depths: Mapping[str, depth.Depths], between: str, measures: Iterable[str] = MEASURES
) -> dict[str, np.ndarray]:
    """Return the measures by depth, named as "signal, with"."""
    return {
        f"{each}{between}{name}": getattr(d, MEASURES[each])
        for name, d in depths.items()
        for each in measures
    }


def real(params: Params, data: Sum) -> Folds:
    """Draw the trained model with its sums and without; the second is hidden until its loss is guessed."""
    model = default().open(MODEL)
    found = {
        name: engine_client.submit(
            ("residual_norm.through", params.text, name),
            lambda name=name: residuals.run_stream(model, params.text, residual=name == ON),
            8000,
        )
        for name in (ON, OFF)
    }
    kept, bare, blind = found[ON].surprise, found[OFF].surprise, math.log(model.config.n_vocab)
    answer = FARES[0] if bare < kept + 0.1 else FARES[1] if bare < blind else FARES[2]
    told = exhibit_parts.predict(
        SLUG + "fares",
        f"The loss of {MODEL} on the next token is {number(kept)} nats (a uniform guess: {number(blind)}). What is the loss without the residual sums?",
        FARES,
        answer,
        f"{number(bare)} nats. Without the sums each layer passes on only its own output, and it was trained to compute what is to be added.",
    )
    alike, size = "How alike two words are (mean cosine)", "Signal: root mean square"
    if exhibit_parts.presenting():
        alike = "How alike two words are"
    depths = {name: t.depths for name, t in found.items()}
    panels = [
        Panel(alike, {name: d.mean_cosine for name, d in depths.items()}, (-0.1, 1.08)),
        Panel(size, {name: d.signal for name, d in depths.items()}),
    ]
    picture = by_depth(
        panels,
        HUES,
        covered=() if told else (OFF,),
        across=exhibit_parts.presenting(),
        height=exhibit_parts.by_mode(350, 390),
    )
    which = ", with sums and without." if told else " as it was trained."
    page_parts.show(
        picture, SLUG + "real", f"How alike words are and how large, by depth, in {MODEL}" + which
    )
    ends = {name: d.mean_cosine[-1] for name, d in depths.items()}
    page_parts.summary(
        f"Without sums: {number(bare)} nats instead of {number(kept)}. After the last layer the mean "
        f"cosine of two words is {number(ends[OFF])}, with sums {number(ends[ON])}: the signal is still large, because every norm rescales it, but the words can no longer be distinguished."
        if told
        else f"As it was trained, {MODEL} has a mean cosine of {number(ends[ON])} between two words after "
        "its last layer."
    )
    return Folds(
        lambda: pd.DataFrame(columns(depths, ", ")).rename_axis("layers passed"),
        lambda: columns(depths, ": ") | {f"loss: {name}": each.surprise for name, each in found.items()},
        {"model": MODEL},
        told,
        {"residual.first": {}},
        (
            rf"\text{{loss with sums }} {number(kept, 3)}",
            rf"\text{{without }} {number(bare, 3)}, \quad \ln {model.config.n_vocab} = {number(blind, 3)}",
        ),
    )
