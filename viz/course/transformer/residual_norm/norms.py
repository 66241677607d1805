"""The last three steps of the exhibit on residual and norm: the norm of one word, its axis, and its order with the sum."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st

from core.serving.engine import default
from viz.charts.bar_lanes import Lane, bar_lanes
from viz.course.exhibit import Folds
from viz.course.transformer import depth, residuals
from viz.course.transformer.residual_norm import maths
from viz.course.transformer.residual_norm.charts import block, by_depth
from viz.course.transformer.residual_norm.params import AXES, N_RANDOM, ORDERS, Params
from viz.course.transformer.residual_norm.sums import (
    FIRST,
    LAYERS,
    SLUG,
    columns,
    pick_model,
    signal_and_gradient,
)
from viz.course.transformer.residuals import Sum
from viz.instruments import heatmap
from viz.labels import distinct, visible
from viz.number_text import number, two_digits
from viz.widgets import engine_client, exhibit_parts, page_parts

CALLED = {"post": "post-norm", "pre": "pre-norm", "worded": "as worded"}
HUES = {"post-norm": 0, "pre-norm": 1, "as worded": 3}
TRAINED = {"post": "bert-mini", "pre": "gpt-mini"}
ROWS, COLUMNS = 8, 5


def numbers_of(params: Params, data: Sum) -> np.ndarray:
    """Return the numbers to normalise: the word's after the first sum, or random ones."""
    if params.numbers == "drawn":
        return np.random.default_rng(params.draw).standard_normal(N_RANDOM) * 1.6 + 0.8
    return data.after[params.at_word(data.tokens)].astype(np.float64)


def norm(params: Params, data: Sum) -> Folds:
    """Draw one word before and after layer norm, with g, b and either sigma."""
    x = numbers_of(params, data)
    h, sigma = len(x), float(maths.deviation(x, printed=params.printed)[0])
    plain, y = maths.layer_norm(x), maths.layer_norm(x, params.gain, params.bias, printed=params.printed)
    bare = maths.layer_norm(x, printed=params.printed)
    limit = 1.1 * float(np.abs(plain).max()) * max(1.0, params.gain) + abs(params.bias)
    said = (
        f"“{visible(data.tokens[params.at_word(data.tokens)].strip())}”"
        if params.numbers == "word"
        else "the random numbers"
    )
    lanes = [
        Lane(f"before: {said}", x[:FIRST], 2, band=_band(x)),
        Lane(
            f"after the norm, g = {params.gain:g}, b = {number(params.bias, 1)}",
            y[:FIRST],
            0,
            (-limit, limit),
            _band(y),
        ),
    ]
    under = f"first {FIRST} of {h} numbers; shaded: mean ± standard deviation"
    picture = bar_lanes(
        lanes, x_title=under, across=exhibit_parts.presenting(), height=exhibit_parts.by_mode(360, 390)
    )
    page_parts.show(picture, SLUG + "norm", f"{h} numbers before and after layer norm.")
    page_parts.summary(
        f"{h} numbers: mean {number(float(x.mean()))}, variance {number(float(x.var()))}. After subtracting the mean and dividing by σ = "
        f"{number(sigma, 3)}"
        + (
            f", as printed, without 1/{h}: the variance is {bare.var():.6f} = 1/{h}, not 1."
            if params.printed
            else f": mean {number(float(bare.mean()))}, variance {bare.var():.3f}."
        )
        + (
            f" With g and b: mean {number(float(y.mean()))}, deviation {y.std():.3f}."
            if (params.gain, params.bias) != (1.0, 0.0)
            else ""
        )
    )
    mean, spread, first = float(x.mean()), number(sigma, 4), number(float(x[0]), 4)
    return Folds(
        lambda: pd.DataFrame({"before": x, "after": y}).rename_axis("number"),
        {"before": x, "after": y, "mean": mean, "variance": x.var(), "deviation": sigma},
        {"numbers": _lines(params, data)},
        equations={
            "norm.apply": {"h_i": first, "g": f"{params.gain:g}", "mu": number(mean, 4), "sigma": spread},
            "norm.mean": {"mu": number(mean, 4), "H": str(h)},
            "norm.deviation": {"sigma": spread, "H": str(h)},
        },
        latex=(
            rf"\frac{{{params.gain:g}}}{{\sqrt{{{number(sigma**2, 4)} + 10^{{-5}}}}}} \left({first} - "
            rf"({number(mean, 4)})\right) + ({number(params.bias, 1)}) = {number(float(y[0]), 4)}",
            rf"\text{{as printed: }} \sigma = \sqrt{{\textstyle\sum (h_i - \mu)^2}} = \sqrt{{{h}}} \cdot "
            rf"\sqrt{{\tfrac{{1}}{{{h}}} \textstyle\sum (h_i - \mu)^2}}, \quad \sqrt{{{h}}} = {h**0.5:.3f}",
            rf"\text{{learned: one }} g \text{{ and one }} b \text{{ for each number, }} 2 \cdot {h} = "
            rf"{2 * h}",
        ),
        change=lambda: _pick(params, data),
    )


def _pick(params: Params, data: Sum) -> None:
    params.pick_word(SLUG, data.tokens)
    pick_model(params)


def _band(values: np.ndarray) -> tuple[float, float]:
    return float(values.mean() - values.std()), float(values.mean() + values.std())


def _lines(params: Params, data: Sum) -> str:
    if params.numbers == "drawn":
        return (
            "import numpy as np\n\n"
            f"x = np.random.default_rng({params.draw}).standard_normal({N_RANDOM}) * 1.6 + 0.8"
        )
    return (
        "import core\nfrom viz.course.transformer import residuals\n\n"
        f"run = core.open_model({params.model!r}).run({params.text!r}, keep=residuals.KEEP)\n"
        f"x = residuals.first_sum(run, {params.at_layer}).after[{params.at_word(data.tokens)}].astype(float)"
    )


def rows_of(data: Sum) -> int:
    """Return the number of words in the small table: fewer in present mode, where cells are large."""
    return min(4 if exhibit_parts.presenting() else ROWS, len(data.tokens))


def tables(data: Sum, word: int, push: float, rows: int = ROWS) -> dict[str, np.ndarray]:
    """Return a corner of the sentence as a small table (word, number), the same with one number changed, and both after both norms."""
    table = data.after[:rows, :COLUMNS].astype(np.float64)
    pushed = table.copy()
    pushed[word, 0] += push
    return {"table": table, "pushed": pushed} | {
        f"{name} {which}": normed(t)
        for which, t in (("before", table), ("now", pushed))
        for name, normed in (("layer", maths.layer_norm), ("batch", maths.batch_norm))
    }


def which_axis(params: Params, data: Sum) -> Folds:
    """Draw the small table after layer norm or batch norm, and the words that change when one number of one word is changed."""
    rows = rows_of(data)
    word = min(params.at_word(data.tokens), rows - 1)
    found = tables(data, word, params.push, rows)
    names = distinct([token.strip() or token for token in data.tokens[:rows]])
    corner = {
        "scale": "score",
        "unit": "number",
        "axis": ("word", "number"),
        "numbers": True,
        "height": exhibit_parts.by_mode(330, 250),
        "selected": (word, 0),
    }
    across = [f"{i + 1}" for i in range(COLUMNS)]
    left, right = st.columns(2, gap="medium")
    with left:
        heatmap(found["pushed"], names, across, key=SLUG + "before", title="The words", **corner)
    with right:
        title = f"After {AXES[params.axis].split(':')[0]}"
        heatmap(found[f"{params.axis} now"], names, across, key=SLUG + "after", title=title, **corner)
    far = {name: maths.row_changes(found[f"{name} before"], found[f"{name} now"]) for name in AXES}
    count = {name: int((moved > 1e-9).sum()) for name, moved in far.items()}
    others = {name: float(np.delete(moved, word).max(initial=0)) for name, moved in far.items()}
    apart = float(np.abs(found["layer now"] - found["batch now"]).max())
    page_parts.summary(
        f"{params.push:+.1f} on the first number of “{names[word]}” changes {count['layer']} of {len(names)} "
        f"words under layer norm (the others by at most {number(others['layer'])}) and {count['batch']} of "
        f"{len(names)} under batch norm (the others by at most {number(others['batch'])}). The results of the two norms differ by "
        f"up to {number(apart)}.".replace("+-", "−").replace("-", "−")
    )
    row, column = found["pushed"][word], found["pushed"][:, 0]
    says = [f"{say} {i + 1}" for say in ("word", "layer norm", "batch norm") for i in range(COLUMNS)]
    both = np.hstack([found["pushed"], found["layer now"], found["batch now"]])
    mean, sigma = float(row.mean()), float(row.std())
    return Folds(
        lambda: pd.DataFrame(both, index=names, columns=says).rename_axis("word"),
        lambda: found,
        {"layer": params.at_layer, "rows": ROWS, "columns": COLUMNS, "word": word},
        equations={
            "norm.mean": {"mu": number(mean, 4), "H": str(COLUMNS)},
            "norm.deviation": {"sigma": number(sigma, 4), "H": str(COLUMNS)},
        },
        latex=(
            rf"\text{{layer norm, the row: }} \mu = {number(mean, 3)}, \ \sigma = {number(sigma, 3)}",
            rf"\text{{batch norm, the first column: }} \mu = {number(float(column.mean()), 3)}, \ \sigma = "
            rf"{number(float(column.std()), 3)}",
        ),
        change=lambda: _pick(params, data),
    )


def by_order(size: float, lot: int = 0) -> dict[str, depth.Depths]:
    """Measure the random stack in each of the three orders."""

    def every() -> dict[str, depth.Depths]:
        return {
            name: depth.by_depth(order, size=size, n_layers=LAYERS, lot=lot) for order, name in CALLED.items()
        }

    return engine_client.submit(("residual_norm.orders", size, lot), every, 30_000)


def orders(params: Params, data: Sum) -> Folds:
    """Draw one order of sum and norm, and signal and gradient by depth of all three."""
    found, formula, called = by_order(params.size, params.draw), ORDERS[params.order], CALLED[params.order]
    left, right = st.columns([2, 5], gap="medium")
    tall = exhibit_parts.by_mode(410, 270)
    with left:
        page_parts.show(
            block(params.order, formula, height=tall), SLUG + "block", f"One sub-layer: {formula}."
        )
    with right:
        picture = by_depth(
            signal_and_gradient(found), HUES, strong=[called], across=exhibit_parts.presenting(), height=tall
        )
        page_parts.show(
            picture, SLUG + "orders", f"Signal and gradient by depth in three orders, {LAYERS} random layers."
        )
    d = found[called]
    ratio, sizes = d.gradient[0] / d.gradient[-1], _trained_sizes(params)
    page_parts.summary(
        f"{formula}, {called}: after {LAYERS} layers the signal is {two_digits(d.signal[-1])}, and the gradient "
        f"at the start {two_digits(ratio)} times that at the end. {_trained(params, sizes)}"
    )
    return Folds(
        lambda: pd.DataFrame(columns(found, ", ", ("signal", "gradient"))).rename_axis("layers passed"),
        lambda: (
            columns(found, ": ", ("signal", "gradient"))
            | {"gradient_ratio": ratio}
            | ({f"signal: {TRAINED[params.order]}": sizes} if sizes.size else {})
        ),
        {"layers": LAYERS, "orders": tuple(ORDERS)},
        equations={"residual.first": {}, "norm.apply": {}},
        latex=(
            r"\text{post: } x \leftarrow \mathrm{LN}(x + f(x)), \quad \text{pre: } x \leftarrow x + "
            r"f(\mathrm{LN}(x)), \quad \text{as worded: } x \leftarrow x + \mathrm{LN}(f(x))",
            *(
                rf"\text{{{name}, size {params.size:g}: signal }} {number(float(d.signal[-1]), 3)}"
                for name, d in found.items()
            ),
        ),
    )


def _trained_sizes(params: Params) -> np.ndarray:
    """Return the signal by layer of a trained model with that order on the visitor's sentence; empty where there is none."""
    name = TRAINED.get(params.order, "")
    entry = default().entry(name) if name else None
    if not (entry and entry.ok):
        return np.zeros(0)
    return residuals.by_layer(engine_client.run(name, params.text, keep=residuals.KEEP))


def _trained(params: Params, sizes: np.ndarray) -> str:
    """Describe the signal of the trained model."""
    name = TRAINED.get(params.order)
    if name is None:
        return "No model here was trained in this order: every sub-layer adds equally much, however small the output of f is."
    if not sizes.size:
        return ""
    return (
        f"{name} was trained in this order: its signal is {number(float(sizes[0]))} before and "
        f"{number(float(sizes[1:].min()))} to {number(float(sizes[1:].max()))} after its {len(sizes) - 1} "
        "layers."
    )
