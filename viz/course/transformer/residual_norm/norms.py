"""The last three steps of the exhibit on residual and norm: one word normed, along which axis, and in which order with the sum."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from core.serving.engine import default
from viz.charts.bar_lanes import Lane, bar_lanes
from viz.charts.curves import number
from viz.course.shared.shown import Shown
from viz.course.transformer.maths import depth, residuals
from viz.course.transformer.residual_norm import maths as norms
from viz.course.transformer.residual_norm.charts import Panel, block, by_depth
from viz.course.transformer.residual_norm.sums import (
    FIRST,
    LAYERS,
    SLUG,
    factor,
    height,
    pick_model,
    pick_word,
    word_of,
)
from viz.instruments import heatmap
from viz.labels import distinct, visible
from viz.widgets import compute as ask
from viz.widgets import controls, lesson, parts

DRAWN = 512
NUMBERS = {"word": "the word's own", "drawn": f"{DRAWN} drawn ones"}
AXES = {"layer": "layer norm: along a row", "batch": "batch norm: down a column"}
ORDERS = {"post": "LN(x + f(x))", "pre": "x + f(LN(x))", "worded": "x + LN(f(x))"}
CALLED = {"post": "post-norm", "pre": "pre-norm", "worded": "as worded"}
HUES = {"post-norm": 0, "pre-norm": 1, "as worded": 3}
TRAINED = {"post": "bert-mini", "pre": "gpt-mini"}
ROWS, COLUMNS = 8, 5


def numbers_of(params: Any, data: Any) -> np.ndarray:
    """The numbers that are normed: the word's after the first sum, or drawn ones."""
    if params.numbers == "drawn":
        return np.random.default_rng(params.draw).standard_normal(DRAWN) * 1.6 + 0.8
    return data.after[word_of(params, data)].astype(np.float64)


def norm(params: Any, data: Any) -> Shown:
    """One word before and behind layer norm, with g, b and either sigma."""
    x = numbers_of(params, data)
    h, sigma = len(x), float(norms.deviation(x, printed=params.printed)[0])
    plain, y = norms.layer_norm(x), norms.layer_norm(x, params.gain, params.bias, printed=params.printed)
    bare = norms.layer_norm(x, printed=params.printed)
    limit = 1.1 * float(np.abs(plain).max()) * max(1.0, params.gain) + abs(params.bias)
    said = f"“{visible(data.tokens[word_of(params, data)].strip())}”" if params.numbers == "word" else "the drawn numbers"
    lanes = [Lane(f"before: {said}", x[:FIRST], 2, band=_band(x)), Lane(f"after the norm, g = {params.gain:g}, b = {number(params.bias, 1)}", y[:FIRST], 0, (-limit, limit), _band(y))]
    parts.show(bar_lanes(lanes, x_title=f"first {FIRST} of {h} numbers; shaded: mean ± standard deviation", across=lesson.presenting(), height=height(360, 210)), SLUG + "norm",
               f"{h} numbers before and after layer norm.")  # fmt: skip
    parts.numbers(
        f"{h} numbers: mean {number(float(x.mean()))}, variance {number(float(x.var()))}. Divided by σ = {number(sigma, 3)}"
        + (f", as printed, without 1/{h}: the variance is {bare.var():.6f} = 1/{h}, not 1." if params.printed else f": mean {number(float(bare.mean()))}, variance {bare.var():.3f}.")
        + (f" With g and b: mean {number(float(y.mean()))}, deviation {y.std():.3f}." if (params.gain, params.bias) != (1.0, 0.0) else "")
    )  # fmt: skip
    one, two, three = st.columns([2, 2, 3], gap="medium", vertical_alignment="bottom")
    with one:
        controls.slider("Gain g", 0.0, 3.0, SLUG + "gain", 1.0, 0.1)
    with two:
        controls.slider("Bias b", -2.0, 2.0, SLUG + "bias", 0.0, 0.1)
    with three:
        controls.toggle("σ as printed", SLUG + "printed", False)
        controls.segmented("Numbers", tuple(NUMBERS), SLUG + "numbers", "word", NUMBERS.__getitem__, quiet=True)
    with st.container():
        if params.numbers == "drawn":
            controls.draw(SLUG + "draw", 0, 99)
    mean, spread = float(x.mean()), number(sigma, 4)

    def change() -> None:
        pick_word(params, data)
        pick_model(params)

    return Shown(
        {"norm.apply": {"h_i": number(float(x[0]), 4), "g": f"{params.gain:g}", "mu": number(mean, 4), "sigma": spread}, "norm.mean": {"mu": number(mean, 4), "H": str(h)},
         "norm.deviation": {"sigma": spread, "H": str(h)}},
        (rf"\frac{{{params.gain:g}}}{{\sqrt{{{number(sigma**2, 4)} + 10^{{-5}}}}}} \left({number(float(x[0]), 4)} - ({number(mean, 4)})\right) + ({number(params.bias, 1)}) = {number(float(y[0]), 4)}",
         rf"\text{{as printed: }} \sigma = \sqrt{{\textstyle\sum (h_i - \mu)^2}} = \sqrt{{{h}}} \cdot \sqrt{{\tfrac{{1}}{{{h}}} \textstyle\sum (h_i - \mu)^2}}, \quad \sqrt{{{h}}} = {h**0.5:.3f}",
         rf"\text{{learned: one }} g \text{{ and one }} b \text{{ for each number, }} 2 \cdot {h} = {2 * h}"),
        "Above, the word's numbers after the sum; below, the same after the norm. The shaded band is the mean plus and minus one deviation of all numbers, not only of those drawn. "
        "In a model each number has a g and a b of its own; here one slider moves all. The small 10⁻⁵ under the root keeps a word whose numbers are all equal from dividing by zero.",
        lambda: pd.DataFrame({"before": x, "behind": y}).rename_axis("number"), {"before": x, "behind": y},
        _lines(params, data) + f"y = norms.layer_norm(x, {params.gain:g}, {params.bias:g}, printed={params.printed})\nprint(y.mean(), y.var(), norms.layer_norm(x, printed=True).var(), 1 / len(x))",
        change,
    )  # fmt: skip


def _band(values: np.ndarray) -> tuple[float, float]:
    return float(values.mean() - values.std()), float(values.mean() + values.std())


def _lines(params: Any, data: Any) -> str:
    if params.numbers == "drawn":
        return f"import numpy as np\nfrom viz.course.transformer.residual_norm import maths as norms\n\nx = np.random.default_rng({params.draw}).standard_normal({DRAWN}) * 1.6 + 0.8\n"
    layer = min(params.layer, default().open(params.model).config.n_layers - 1)
    return (f"import core\nfrom viz.course.transformer.maths import residuals\nfrom viz.course.transformer.residual_norm import maths as norms\n\nrun = core.open_model({params.model!r}).run({params.text!r}, keep=residuals.KEEP)\n"
            f"x = residuals.first_sum(run, {layer}).after[{word_of(params, data)}].astype(float)\n")  # fmt: skip


def rows_of(data: Any) -> int:
    """How many words the small table has: fewer before a room, whose cells are large."""
    return min(4 if lesson.presenting() else ROWS, len(data.tokens))


def tables(data: Any, word: int, push: float, rows: int = ROWS) -> dict[str, np.ndarray]:
    """A corner of the sentence as a small table (word, number), the same with one number pushed, and both behind both norms."""
    table = data.after[:rows, :COLUMNS].astype(np.float64)
    pushed = table.copy()
    pushed[word, 0] += push
    return {"table": table, "pushed": pushed} | {
        f"{name} {which}": normed(t) for which, t in (("before", table), ("now", pushed)) for name, normed in (("layer", norms.layer_norm), ("batch", norms.batch_norm))
    }


def which_axis(params: Any, data: Any) -> Shown:
    """The same small table behind layer norm or batch norm, and whom it moves when one number of one word is pushed."""
    rows = rows_of(data)
    word = min(word_of(params, data), rows - 1)
    found = tables(data, word, params.push, rows)
    names = distinct([token.strip() or token for token in data.tokens[:rows]])
    columns, tall = [f"{i + 1}" for i in range(COLUMNS)], height(330, 250)
    left, right = st.columns(2, gap="medium")
    with left:
        heatmap(found["pushed"], names, columns, key=SLUG + "before", scale="score", unit="number", axis=("word", "number"), title="The words", numbers=True, height=tall, selected=(word, 0))
    now = found[f"{params.axis} now"]
    with right:
        heatmap(now, names, columns, key=SLUG + "after", scale="score", unit="number", axis=("word", "number"), title=f"After {AXES[params.axis].split(':')[0]}", numbers=True, height=tall, selected=(word, 0))
    far = {name: norms.moved(found[f"{name} before"], found[f"{name} now"]) for name in AXES}
    count = {name: int((moved > 1e-9).sum()) for name, moved in far.items()}
    others = {name: float(np.delete(moved, word).max(initial=0)) for name, moved in far.items()}
    apart = float(np.abs(found["layer now"] - found["batch now"]).max())
    parts.numbers(
        f"{params.push:+.1f} on the first number of “{names[word]}” moves {count['layer']} of {len(names)} words under layer norm (another by {number(others['layer'])} at most) and {count['batch']} of "
        f"{len(names)} under batch norm (another by {number(others['batch'])}). The two results differ by up to {number(apart)}.".replace("+-", "−").replace("-", "−")
    )  # fmt: skip
    one, two = st.columns(2, gap="medium")
    with one:
        controls.segmented("Norm", tuple(AXES), SLUG + "axis", "layer", AXES.__getitem__)
    with two:
        controls.slider("Push one number of the framed word by", -20.0, 20.0, SLUG + "push", 10.0, 0.5)
    row, column = found["pushed"][word], found["pushed"][:, 0]

    def change() -> None:
        pick_word(params, data)
        pick_model(params)

    return Shown(
        {"norm.mean": {"mu": number(float(row.mean()), 4), "H": str(COLUMNS)}, "norm.deviation": {"sigma": number(float(row.std()), 4), "H": str(COLUMNS)}},
        (rf"\text{{layer norm, the row: }} \mu = {number(float(row.mean()), 3)}, \ \sigma = {number(float(row.std()), 3)}",
         rf"\text{{batch norm, the first column: }} \mu = {number(float(column.mean()), 3)}, \ \sigma = {number(float(column.std()), 3)}"),
        f"A corner of a real table: up to {ROWS} words of the sentence, the first {COLUMNS} of their numbers, with one pushed. Layer norm gives each row mean 0 and variance 1, batch norm each "
        "column. Each picture has its own scale, centred on 0. Batch norm is shown over the words of one sentence; in training it looks over a whole batch, and keeps running means for "
        "use. A sentence of one word leaves it nothing to compare: all zeros.",
        lambda: pd.DataFrame(np.hstack([found["pushed"], found["layer now"], found["batch now"]]), index=names,
                             columns=[f"{say} {i + 1}" for say in ("word", "layer norm", "batch norm") for i in range(COLUMNS)]).rename_axis("word"),
        dict(found),
        f"import core\nfrom viz.course.transformer.maths import residuals\nfrom viz.course.transformer.residual_norm import maths as norms\n\nrun = core.open_model({params.model!r}).run({params.text!r}, keep=residuals.KEEP)\n"
        f"table = residuals.first_sum(run, {min(params.layer, default().open(params.model).config.n_layers - 1)}).after[:{ROWS}, :{COLUMNS}].astype(float)\ntable[{word}, 0] += {params.push:g}\n"
        "print(norms.layer_norm(table).round(3))\nprint(norms.batch_norm(table).round(3))",
        change,
    )  # fmt: skip


def by_order(size: float, lot: int = 0) -> dict[str, depth.Depths]:
    """The drawn stack in each of the three orders."""
    def every() -> dict[str, depth.Depths]:
        return {name: depth.by_depth(order, size=size, n_layers=LAYERS, lot=lot) for order, name in CALLED.items()}

    return ask.submit(("residual_norm.orders", size, lot), every, 30_000)


def orders(params: Any, data: Any) -> Shown:
    """The drawing of one order, and signal and gradient by depth of all three."""
    found, formula, called = by_order(params.size, params.draw), ORDERS[params.order], CALLED[params.order]
    left, right = st.columns([2, 5], gap="medium")
    tall = height(410, 270)
    with left:
        parts.show(block(params.order, formula, height=tall), SLUG + "block", f"One sub-layer: {formula}.")
    with right:
        panels = [Panel("Signal: size of the words' numbers", {name: d.signal for name, d in found.items()}),
                  Panel("Gradient: how much it moves the loss", {name: d.gradient for name, d in found.items()})]  # fmt: skip
        parts.show(by_depth(panels, HUES, strong=[called], across=lesson.presenting(), height=tall), SLUG + "orders", f"Signal and gradient by depth in three orders, {LAYERS} drawn layers.")
    d = found[called]
    parts.numbers(
        f"{formula}, {called}: after {LAYERS} layers the signal is {factor(d.signal[-1])}, and the gradient at the start {factor(d.gradient[0] / d.gradient[-1])} times that at "
        f"the end. {_trained(params)}"
    )  # fmt: skip
    one, two, three = st.columns([3, 3, 3], gap="medium", vertical_alignment="bottom")
    with three:
        controls.draw(SLUG + "draw", 0, 99)
    with one:
        controls.segmented("Order of sum and norm", tuple(ORDERS), SLUG + "order", "post", ORDERS.__getitem__)
    with two:
        controls.slider("Size of what a sub-layer gives", 0.1, 1.0, SLUG + "size", 0.5, 0.1)
    return Shown(
        {"residual.first": {}, "norm.apply": {}},
        (r"\text{post: } x \leftarrow \mathrm{LN}(x + f(x)), \quad \text{pre: } x \leftarrow x + f(\mathrm{LN}(x)), \quad \text{as worded: } x \leftarrow x + \mathrm{LN}(f(x))",
         *(rf"\text{{{name}, size {params.size:g}: signal }} {number(float(d.signal[-1]), 3)}" for name, d in found.items())),
        f"The drawing is one sub-layer: x comes from below, f is attention or the feed-forward network, LN the norm, the blue line is the way around. The curves are {LAYERS} drawn layers "
        f"of two sub-layers each, {depth.WORDS} words of {depth.WIDTH} numbers, g = 1 and b = 0. Make the sub-layers small: x + LN(f(x)) does not notice, for its norm blows every addition up "
        "to the same size. Post-norm keeps the signal at 1, and its gradient shrinks on the way down, the more the larger the sub-layers; pre-norm lets the signal grow and keeps the gradient.",
        lambda: pd.DataFrame({f"{leaf}, {name}": getattr(d, leaf) for name, d in found.items() for leaf in ("signal", "gradient")}).rename_axis("layers after it"),
        {f"{leaf}: {name}": getattr(d, leaf) for name, d in found.items() for leaf in ("signal", "gradient")},
        f"from viz.course.transformer.maths.depth import by_depth\n\nfor order in {tuple(ORDERS)}:\n    found = by_depth(order, size={params.size:g}, n_layers={LAYERS}, lot={params.draw})\n"
        "    print(order, found.signal[-1], found.gradient[0] / found.gradient[-1])",
    )  # fmt: skip


def _trained(params: Any) -> str:
    """What a trained model in that order does with the visitor's sentence."""
    name = TRAINED.get(params.order)
    if name is None:
        return "No model of ours was trained so: it adds as much in every layer, however little it has to say."
    entry = default().entry(name)
    if not (entry and entry.ok):
        return ""
    sizes = residuals.by_layer(ask.run(name, params.text, keep=residuals.KEEP))
    return f"Trained, {name} is built so: its signal is {number(float(sizes[0]))} before and {number(float(sizes[1:].min()))} to {number(float(sizes[1:].max()))} after its {len(sizes) - 1} layers."
