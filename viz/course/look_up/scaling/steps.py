"""The steps of the exhibit on the scale: each draws its question, its picture and its sentence of numbers."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

import core.serving.engine
from core.model import Model
from core.trace import Edit
from viz.charts.curves import number
from viz.course.lesson import Folds
from viz.course.look_up.charts import scaling as figures
from viz.course.look_up.charts.exponentials import exponentials
from viz.course.look_up.scaling import maths
from viz.course.look_up.scaling.params import CHOICES, MODEL, Params
from viz.course.shared.maths import unscaled
from viz.instruments.kit import origin
from viz.labels import percent
from viz.shell import state
from viz.widgets import compute, lesson, parts

SLUG = "scaling."
NOT_A_NUMBER = "not a number"
RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
EVEN = math.log(maths.N_KEYS)
Drawn = maths.Drawn


def spread(params: Params, data: Drawn) -> Folds:
    """How far dot products stray from 0; before the guess only those of another width are shown."""
    d = state.read(SLUG + "asked", params.d_k, state.one_of(CHOICES, params.d_k))
    deviation = float(maths.drawn(d, params.draw).raw.std())
    shown = {f"about {size:.3g}": size for size in (1.0, math.sqrt(d), float(d))}
    answer = min(shown, key=lambda name: abs(math.log(shown[name] / deviation)))
    told = lesson.predict(
        f"{SLUG}spread",
        f"A query and a key have {d} numbers each, drawn around 0 with variance 1. How far from 0 is their dot product, typically?",
        tuple(shown),
        answer,
        f"It adds {d} products, each of variance 1, so its variance is {d} and its typical size √{d} = {number(math.sqrt(d))}. "
        f"Measured on this draw: {number(deviation)}.",
    )
    scores, names = data.scores, ("raw", "scaled")
    if told:
        state.write(
            **{SLUG + "asked": d}
        )  # another width afterwards is another picture, not another question
        d = params.d_k
    else:
        scores, names = maths.drawn(4 if d != 4 else 64, params.draw), ("raw",)
    values = {"raw": scores.raw, "scaled": scores.scaled}
    closed = {"raw": float(scores.d_k), "scaled": 1.0}
    values, titles, bells = {name: values[name] for name in names}, {}, {}
    for name in names:
        variance = float(values[name].var())
        x = np.linspace(-4, 4, 161) * math.sqrt(closed[name])
        bells[name] = (x, maths.bell(x, closed[name]))
        titles[name] = (
            f"{figures.NAMES[name]}, d = {scores.d_k}: variance {number(variance)} (closed form {closed[name]:.0f})"
        )
    _picture(
        figures.histograms(values, bells, titles, line=_tall()),
        f"{SLUG}spread.picture",
        "Histograms of dot products: " + "; ".join(titles.values()),
    )
    if told:
        parts.numbers(
            f"{scores.raw.size:,} dot products with d = {d}: their variance is {number(data.raw.variance)}, the closed form says {d}. "
            f"Divided by √{d} = {number(math.sqrt(d))} it is {number(data.scaled.variance)}, whatever the width."
        )
    else:
        parts.numbers(f"With d = {scores.d_k} it looks like this. And with d = {d}?")
    return _drawn(params, data, told)


def one_row(params: Params, data: Drawn) -> Folds:
    """The softmax of one query, undivided and divided, over the same keys in the same order."""
    row, order = data.typical, np.argsort(-data.scores.raw[data.typical])
    rows = {"raw": data.scores.raw[row], "scaled": data.scores.scaled[row]}
    weights = {name: maths.softmax(values[None])[0][order] for name, values in rows.items()}
    entropies = {name: float(maths.entropy(values)) for name, values in weights.items()}
    titles = {
        name: f"{figures.NAMES[name]}: best key {number(float(values[0]))}, entropy {number(entropies[name])} nats"
        for name, values in weights.items()
    }
    _picture(
        figures.weights(weights, titles, line=_tall()),
        f"{SLUG}row.picture",
        "Softmax weights of one query: " + "; ".join(titles.values()),
    )
    parts.numbers(
        f"One middling query of {len(data.scores.raw)}, d = {params.d_k}: unscaled its best key takes {percent(weights['raw'][0])} of all weight, "
        f"scaled {percent(weights['scaled'][0])}. Uniform attention over {maths.N_KEYS} keys would have the entropy ln {maths.N_KEYS} = {number(EVEN)} nats."
    )
    return _drawn(params, data)


def widths(params: Params, data: Drawn) -> Folds:
    """Entropy and slope over every width."""
    found = every_width(params.draw)
    panels = tuple(
        (title, {name: [getattr(m, leaf) for m in rows] for name, rows in found.items()}, limit)
        for title, leaf, limit in (
            ("Entropy of the weights, nats", "entropy", (EVEN, f"uniform: ln {maths.N_KEYS}")),
            ("Gradient of the softmax, Σ a(1 − a)", "slope", (1 - 1 / maths.N_KEYS, "uniform: 1 − 1/n")),
        )
    )
    _picture(
        figures.by_width(maths.WIDTHS, panels, marked=params.d_k, line=_tall()),
        f"{SLUG}widths.picture",
        "Entropy and gradient of the softmax over the width, scaled and unscaled.",
    )
    last = {name: rows[-1] for name, rows in found.items()}
    parts.numbers(
        f"At d = {params.d_k} the mean entropy is {number(data.raw.entropy)} nats unscaled and {number(data.scaled.entropy)} scaled; the gradient "
        f"{number(data.raw.slope)} and {number(data.scaled.slope)}. At d = {maths.WIDTHS[-1]} unscaled, {number(last['raw'].entropy)} and "
        f"{number(last['raw'].slope)} are left: the winner takes all, and moving a score changes nothing."
    )
    return _drawn(params, data)


def real(params: Params, data: Drawn) -> Folds:
    """gpt-mini reads the sentence with and without the division; before the guess only as it was trained."""
    text, found = params.text, readings(params.text)
    origin.tell(model=MODEL, text=text)
    evenness = {name: float(reading.evenness.mean()) for name, reading in found.items()}
    told = lesson.predict_number(
        f"{SLUG}real",
        f"{MODEL} reads “{text}”. The mean normalised entropy of its heads is {percent(evenness['scaled'])}. How many percent unscaled?",
        0.0,
        1.0,
        round(evenness["raw"], 2),
        f"Every score is √{d_head()} = {number(math.sqrt(d_head()))} times as large, so the softmax gets sharper: from "
        f"{percent(evenness['scaled'], 2)} to {percent(evenness['raw'], 2)} on average over all heads.",
        0.1,
        "%",
    )
    shown = ("scaled", "raw") if told else ("scaled",)
    _picture(
        figures.layers({name: found[name].evenness for name in shown}),
        f"{SLUG}real.picture",
        "Normalised entropy of the heads of each layer, scaled and unscaled.",
    )
    parts.numbers(_trained(found, told))
    columns = {"with 1/√d": found["scaled"], "without": found["raw"]}
    told_rows = (
        ("evenness", lambda r: r.evenness.mean(1)),
        ("standard deviation of scores", lambda r: r.spread),
    )
    return _drawn(
        params,
        data,
        told,
        table=lambda: pd.DataFrame(
            {f"{name}, {what}": of(r) for name, r in columns.items() for what, of in told_rows}
        ).rename_axis("layer"),
        code="import core\nfrom viz.course.shared.maths import unscaled\n\n"
        f"model = core.open_model({MODEL!r})\n"
        "for edits in ((), unscaled.without_scale(model.config)):\n"
        f"    print(unscaled.reading(model.run({text!r}, keep=unscaled.KEEP, edits=edits)))",
    )


def _trained(found: dict[str, unscaled.Reading], told: bool) -> str:
    with_, without = found["scaled"], found["raw"]
    said = (
        f"Trained, the standard deviation of its scores is {number(with_.spread.min(), 1)} to {number(with_.spread.max(), 1)} from layer to layer: 1/√d makes a fair start, "
        f"training goes its own way."
    )
    if not told:
        return said
    return (
        f"Unscaled, the loss on the next token is {number(without.surprise)} nats instead of "
        f"{number(with_.surprise)}. " + said
    )


def overflow(params: Params, data: Drawn) -> Folds:
    """Three scores through exp in float32, plain or with the largest subtracted."""
    score = state.read(SLUG + "asked_score", params.score, state.whole(0, 200))
    scores = three(score)
    plain, safe = (maths.in_float32(scores, safe=way) for way in (False, True))
    first = [_weight(found.weights[0]) for found in (plain, safe)]
    told = lesson.predict(
        f"{SLUG}overflow",
        f"Three scores, {_listed(scores)}, in 32-bit numbers. e^s / Σ e^s, computed just so: which weight does the first get?",
        (number(float(safe.weights[0])), "1.00", "0.00", NOT_A_NUMBER),
        first[0],
        f"The largest number that 32 bits hold is {_power(maths.LARGEST)}, reached at s = {maths.OVERFLOW:.2f}. "
        + (
            f"e^{score} is beyond it: infinity, and infinity / infinity is no number."
            if plain.broken
            else f"e^{score} = {_power(float(plain.exponentials[0]))} still fits."
        ),
    )
    if told:
        state.write(**{SLUG + "asked_score": score})
    way, scores = params.safe, three(params.score)
    found = maths.in_float32(scores, safe=way)
    shown = zip(("first", "second", "third"), found.inputs, found.exponentials, strict=True)
    points = [(name, float(s), float(e)) for name, s, e in shown] if told else []
    x = np.linspace(-210, 210, 421)
    picture = exponentials(
        points, (x, x / math.log(10)), top=math.log10(maths.LARGEST), smallest=maths.VANISHES / math.log(10)
    )
    _picture(
        picture,
        f"{SLUG}overflow.picture",
        "e to the power s over s; above the largest 32-bit number it is infinite.",
    )
    parts.numbers(
        _summed(scores, found, safe=way)
        if told
        else "The line is e^s. The hatched part has no 32-bit number."
    )
    return Folds(
        lambda: _exponentials(params),
        lambda: _arrays(params),
        "from viz.course.look_up.scaling.maths import in_float32\n\n"
        f"print(in_float32({three(params.score)}, safe=False).weights, in_float32({three(params.score)}, safe=True).weights)",
        told,
        {"softmax.safe": {"m": str(params.score)}},
        (
            r"\frac{e^{s_j}}{\sum_i e^{s_i}} = \frac{e^{-m}\, e^{s_j}}{e^{-m} \sum_i e^{s_i}} = \frac{e^{s_j - m}}{\sum_i e^{s_i - m}}, \quad m = \max_i s_i = "
            + str(params.score),
            r"e^{s} \le 3.4 \cdot 10^{38} \iff s \le " + f"{maths.OVERFLOW:.2f}",
        ),
        more=lambda: st.table(_exponentials(params), border="horizontal"),
    )


def _summed(scores: tuple[float, ...], found: maths.Softmax, *, safe: bool) -> str:
    weights = ", ".join(_weight(w) for w in found.weights)
    if safe:
        return (
            f"{_listed(found.inputs)} go into exp: none above 0, so none above 1, and the sum is {number(found.total)}. The weights are {weights}. "
            f"On paper nothing changed: e^−m cancels above and below the line."
        )
    total = (
        number(found.total)
        if found.total < 1e6
        else _power(found.total)
        if math.isfinite(found.total)
        else "infinite"
    )
    return f"{_listed(scores)} go into exp; the sum is {total}, the weights are {weights}." + (
        " Switch the subtraction on."
        if found.broken
        else f" It breaks above {maths.OVERFLOW:.2f}: move the slider."
    )


def three(largest: float) -> tuple[float, float, float]:
    """The scores of the last step: the largest, one below it, and 0."""
    return float(largest), float(largest - 1), 0.0


def every_width(seed: int) -> dict[str, tuple[maths.Measures, ...]]:
    """The measures at all widths, once a draw."""
    return compute.submit(("scaling.widths", seed), lambda: maths.by_width(seed=seed), 2000)


def d_head() -> int:
    """The width of the model's heads."""
    return core.serving.engine.default().open(MODEL).config.d_head


def readings(text: str) -> dict[str, unscaled.Reading]:
    """The model's run as it was trained, and without the division. Of a run only its measures are kept: all scores of a long text are many."""
    model = core.serving.engine.default().open(MODEL)
    cost = 2.0 * len(text) * model.config.n_layers
    return {
        name: compute.submit(("scaling.reading", MODEL, text, name), partial(_read, model, text, edits), cost)
        for name, edits in (("scaled", ()), ("raw", unscaled.without_scale(model.config)))
    }


def _read(model: Model, text: str, edits: tuple[Edit, ...]) -> unscaled.Reading:
    return unscaled.reading(model.run(text, keep=unscaled.KEEP, edits=edits))


def _drawn(params: Params, data: Drawn, known: bool = True, table: Any = None, code: str = "") -> Folds:
    """The folds of a draw: the derivation with its numbers, and the measures at every width."""
    d, row = params.d_k, data.typical
    score = float(data.scores.raw[row].max())

    def widths() -> pd.DataFrame:
        found = every_width(params.draw)
        return pd.DataFrame(
            {
                f"{leaf}, {said}": [getattr(m, leaf) for m in found[name]]
                for leaf in ("variance", "entropy", "slope")
                for name, said in (("raw", "q·k"), ("scaled", "q·k / √d"))
            },
            index=list(maths.WIDTHS),
        ).rename_axis("d")

    def explained() -> None:
        st.text(
            f"Measured on this draw: variance {number(data.raw.variance)} of q·k, {number(data.scaled.variance)} after the division. "
            f"The first score is the best key of the middle query of this draw; the gradients are over all {data.scores.raw.size:,} pairs."
        )

    return Folds(
        table or widths,
        lambda: _arrays(params),
        code
        or "from viz.course.look_up.scaling.maths import by_width, drawn, measured\n\n"
        f"scores = drawn({d}, seed={params.draw})  # (query, key)\nprint(measured(scores.raw), measured(scores.scaled))\nprint(by_width(seed={params.draw}))",
        known,
        {
            "score.scaled": {"s_i": number(score / math.sqrt(d)), "p": str(d)},
            "scaling.spread": {"d_k": str(d)},
            "softmax.gradient": {},
        },
        (
            number(score) + r" / \sqrt{" + str(d) + "} = " + number(score / math.sqrt(d)),
            r"\frac{\partial a_j}{\partial s_j} = a_j (1 - a_j), \quad \sum_j a_j(1 - a_j) = "
            + number(data.raw.slope)
            + r"\text{ unscaled, }"
            + number(data.scaled.slope)
            + r"\text{ scaled}",
        ),
        explained,
    )


def _exponentials(params: Params) -> pd.DataFrame:
    rows = []
    for safe in (False, True):
        found = maths.in_float32(three(params.score), safe=safe)
        for s, e, w in zip(found.inputs, found.exponentials, found.weights, strict=True):
            rows.append(
                {
                    "": "largest subtracted" if safe else "plain",
                    "into exp": number(float(s), 0),
                    "eˢ": f"{float(e):.3g}",
                    "weight": _weight(w),
                }
            )
    return pd.DataFrame(rows).set_index("")


def _arrays(params: Params) -> dict[str, np.ndarray]:
    """The draw, and the measures at every width."""
    drawn, found = maths.drawn(params.d_k, params.draw), every_width(params.draw)
    return {"raw": drawn.raw, "scaled": drawn.scaled, "d": np.array(maths.WIDTHS)} | {
        f"{leaf}: {name}": np.array([getattr(m, leaf) for m in rows])
        for name, rows in found.items()
        for leaf in ("variance", "entropy", "slope")
    }


def _power(value: float) -> str:
    """A large number with its power of ten.

    >>> _power(3.4e38), _power(7.0)
    ('3.4 × 10³⁸', '7.00')
    """
    head, _, tail = f"{value:.1e}".partition("e+")
    return f"{head} × 10{str(int(tail)).translate(RAISED)}" if value >= 1e6 else number(value)


def _picture(figure: Any, key: str, told: str) -> None:
    parts.show_large(figure, key, told, figures.ROOM_HEIGHT)


def _tall() -> int:
    """The room of a lane's title: more in large type."""
    return 36 if lesson.presenting() else figures.LINE


def _weight(value: float) -> str:
    return number(float(value)) if math.isfinite(value) else NOT_A_NUMBER


def _listed(values: Any) -> str:
    return ", ".join(number(float(v), 0) for v in values)
