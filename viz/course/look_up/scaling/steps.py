"""The steps of the exhibit on the scale: each draws its question, its picture, its sentence of numbers and its control."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import streamlit as st

import core.engine
from core.model import Model
from core.trace import Edit
from viz.charts.curves import number
from viz.course.look_up.charts import scaling as figures
from viz.course.look_up.scaling import maths as lessons
from viz.course.shared import shown as _shown
from viz.course.shared.maths import unscaled
from viz.instruments.kit import origin
from viz.labels import percent
from viz.shell import state
from viz.widgets import compute as ask
from viz.widgets import controls, lesson, parts

SLUG = "scaling."
MODEL = "gpt-mini"
WIDTHS = lessons.WIDTHS[2:]
SENTENCES = ("The little dog ran after the ball.", "She was hungry, so she ate the apple.", "Once upon a time there was a king.")
NOT_A_NUMBER = "not a number"
RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
EVEN = math.log(lessons.N_KEYS)


def spread(params: Any, data: Any, start: Any) -> bool:
    """How far dot products stray from 0; before the guess only those of another width are shown."""
    d = state.read(SLUG + "asked", params.d_k, state.one_of(WIDTHS, params.d_k))
    deviation = float(lessons.drawn(d, params.draw).raw.std())
    shown = {f"about {size:.3g}": size for size in (1.0, math.sqrt(d), float(d))}
    answer = min(shown, key=lambda name: abs(math.log(shown[name] / deviation)))
    told = lesson.predict(
        f"{SLUG}spread",
        f"A query and a key have {d} numbers each, drawn around 0 with variance 1. How far from 0 is their dot product, typically?",
        tuple(shown), answer,
        f"It adds {d} products, each of variance 1, so its variance is {d} and its typical size √{d} = {number(math.sqrt(d))}. "
        f"Measured on this draw: {number(deviation)}.",
    )  # fmt: skip
    scores, names = data.scores, ("raw", "scaled")
    if told:
        state.write(**{SLUG + "asked": d})  # another width afterwards is another picture, not another question
        d = params.d_k
    else:
        scores, names = lessons.drawn(4 if d != 4 else 64, params.draw), ("raw",)
    values = {"raw": scores.raw, "scaled": scores.scaled}
    closed = {"raw": float(scores.d_k), "scaled": 1.0}
    values, titles, bells = {name: values[name] for name in names}, {}, {}
    for name in names:
        variance = float(values[name].var())
        x = np.linspace(-4, 4, 161) * math.sqrt(closed[name])
        bells[name] = (x, lessons.bell(x, closed[name]))
        titles[name] = f"{figures.NAMES[name]}, d = {scores.d_k}: variance {number(variance)} (closed form {closed[name]:.0f})"
    _picture(figures.histograms(values, bells, titles, line=_tall()), f"{SLUG}spread.picture", "Histograms of dot products: " + "; ".join(titles.values()))
    if told:
        parts.numbers(
            f"{scores.raw.size:,} dot products with d = {d}: their variance is {number(data.raw.variance)}, the closed form says {d}. "
            f"Divided by √{d} = {number(math.sqrt(d))} it is {number(data.scaled.variance)}, whatever the width."
        )
    else:
        parts.numbers(f"With d = {scores.d_k} it looks like this. And with d = {d}?")
    _width(start)
    return told


def one_row(params: Any, data: Any, start: Any) -> bool:
    """The softmax of one query, undivided and divided, over the same keys in the same order."""
    row, order = data.typical, np.argsort(-data.scores.raw[data.typical])
    rows = {"raw": data.scores.raw[row], "scaled": data.scores.scaled[row]}
    weights = {name: lessons.softmax(values[None])[0][order] for name, values in rows.items()}
    entropies = {name: float(lessons.entropy(values)) for name, values in weights.items()}
    titles = {name: f"{figures.NAMES[name]}: best key {number(float(values[0]))}, entropy {number(entropies[name])} nats" for name, values in weights.items()}
    _picture(figures.weights(weights, titles, line=_tall()), f"{SLUG}row.picture", "Softmax weights of one query: " + "; ".join(titles.values()))
    parts.numbers(
        f"One middling query of {len(data.scores.raw)}, d = {params.d_k}: unscaled its best key takes {percent(weights['raw'][0])} of all weight, "
        f"scaled {percent(weights['scaled'][0])}. Uniform attention over {lessons.N_KEYS} keys would have the entropy ln {lessons.N_KEYS} = {number(EVEN)} nats."
    )
    _width(start)
    return True


def widths(params: Any, data: Any, start: Any) -> bool:
    """Entropy and slope over every width."""
    found = every_width(params.draw)
    panels = tuple(
        (title, {name: [getattr(m, leaf) for m in rows] for name, rows in found.items()}, limit)
        for title, leaf, limit in (
            ("Entropy of the weights, nats", "entropy", (EVEN, f"uniform: ln {lessons.N_KEYS}")),
            ("Gradient of the softmax, Σ a(1 − a)", "slope", (1 - 1 / lessons.N_KEYS, "uniform: 1 − 1/n")),
        )
    )
    _picture(figures.by_width(lessons.WIDTHS, panels, marked=params.d_k, line=_tall()), f"{SLUG}widths.picture",
               "Entropy and gradient of the softmax over the width, scaled and unscaled.")  # fmt: skip
    last = {name: rows[-1] for name, rows in found.items()}
    parts.numbers(
        f"At d = {params.d_k} the mean entropy is {number(data.raw.entropy)} nats unscaled and {number(data.scaled.entropy)} scaled; the gradient "
        f"{number(data.raw.slope)} and {number(data.scaled.slope)}. At d = {lessons.WIDTHS[-1]} unscaled, {number(last['raw'].entropy)} and "
        f"{number(last['raw'].slope)} are left: the winner takes all, and moving a score changes nothing."
    )
    _width(start)
    return True


def real(params: Any, data: Any, start: Any) -> bool:
    """gpt-mini reads the sentence with and without the division; before the guess only as it was trained."""
    box = st.container()
    text = controls.text("Sentence", "text", start.text, quiet=True, placeholder="Type a sentence", of=MODEL)
    controls.preset_row(SENTENCES, "text", start.text)
    found = readings(text)
    origin.tell(model=MODEL, text=text)
    evenness = {name: float(reading.evenness.mean()) for name, reading in found.items()}
    with box:
        told = lesson.predict_number(
            f"{SLUG}real",
            f"{MODEL} reads “{text}”. The mean normalised entropy of its heads is {percent(evenness['scaled'])}. How many percent unscaled?",
            0.0, 1.0, round(evenness["raw"], 2), f"Every score is √{d_head()} = {number(math.sqrt(d_head()))} times as large, so the softmax gets sharper: from "
            f"{percent(evenness['scaled'], 2)} to {percent(evenness['raw'], 2)} on average over all heads.", 0.1, "%",
        )  # fmt: skip
        shown = ("scaled", "raw") if told else ("scaled",)
        _picture(figures.layers({name: found[name].evenness for name in shown}), f"{SLUG}real.picture",
                   "Normalised entropy of the heads of each layer, scaled and unscaled.")  # fmt: skip
        parts.numbers(_told(found, told))
    return told


def _told(found: dict[str, unscaled.Reading], told: bool) -> str:
    with_, without = found["scaled"], found["raw"]
    said = (f"Trained, the standard deviation of its scores is {number(with_.spread.min(), 1)} to {number(with_.spread.max(), 1)} from layer to layer: 1/√d makes a fair start, "
            f"training goes its own way.")  # fmt: skip
    if not told:
        return said
    return (f"Unscaled, the loss on the next token is {number(without.surprise)} nats instead of "
            f"{number(with_.surprise)}. " + said)  # fmt: skip


def overflow(params: Any, data: Any, start: Any) -> bool:
    """Three scores through exp in float32, plain or with the largest subtracted."""
    score = state.read(SLUG + "asked_score", params.score, state.whole(0, 200))
    scores = three(score)
    plain, safe = (lessons.in_float32(scores, safe=way) for way in (False, True))
    first = [_weight(found.weights[0]) for found in (plain, safe)]
    told = lesson.predict(
        f"{SLUG}overflow",
        f"Three scores, {_listed(scores)}, in 32-bit numbers. e^s / Σ e^s, computed just so: which weight does the first get?",
        (number(float(safe.weights[0])), "1.00", "0.00", NOT_A_NUMBER), first[0],
        f"The largest number that 32 bits hold is {_power(lessons.LARGEST)}, reached at s = {lessons.OVERFLOW:.2f}. "
        + (f"e^{score} is beyond it: infinity, and infinity / infinity is no number." if plain.broken
           else f"e^{score} = {_power(float(plain.exponentials[0]))} still fits."),
    )  # fmt: skip
    if told:
        state.write(**{SLUG + "asked_score": score})
    way = controls.toggle("Subtract the largest score first", SLUG + "safe", start.safe)
    scores = three(params.score)
    found = lessons.in_float32(scores, safe=way)
    shown = zip(("first", "second", "third"), found.inputs, found.exponentials, strict=True)
    points = [(name, float(s), float(e)) for name, s, e in shown] if told else []
    x = np.linspace(-210, 210, 421)
    picture = figures.exponentials(points, (x, x / math.log(10)), top=math.log10(lessons.LARGEST), smallest=lessons.VANISHES / math.log(10))
    _picture(picture, f"{SLUG}overflow.picture", "e to the power s over s; above the largest 32-bit number it is infinite.")
    parts.numbers(_summed(scores, found, safe=way) if told else "The line is e^s. The hatched part has no 32-bit number.")
    controls.slider("The largest score", 0, 200, SLUG + "score", start.score)
    return told


def _summed(scores: tuple[float, ...], found: lessons.Softmax, *, safe: bool) -> str:
    weights = ", ".join(_weight(w) for w in found.weights)
    if safe:
        return (f"{_listed(found.inputs)} go into exp: none above 0, so none above 1, and the sum is {number(found.total)}. The weights are {weights}. "
                f"On paper nothing changed: e^−m cancels above and below the line.")  # fmt: skip
    total = number(found.total) if found.total < 1e6 else _power(found.total) if math.isfinite(found.total) else "infinite"
    return f"{_listed(scores)} go into exp; the sum is {total}, the weights are {weights}." + (
        " Switch the subtraction on." if found.broken else f" It breaks above {lessons.OVERFLOW:.2f}: move the slider.")  # fmt: skip


def three(largest: float) -> tuple[float, float, float]:
    """The scores of the last step: the largest, one below it, and 0."""
    return float(largest), float(largest - 1), 0.0


def every_width(seed: int) -> dict[str, tuple[lessons.Measures, ...]]:
    """The measures at all widths, once a draw."""
    return ask.submit(("scaling.widths", seed), lambda: lessons.by_width(seed=seed), 2000)


def d_head() -> int:
    """The width of the model's heads."""
    return core.engine.default().open(MODEL).config.d_head


def readings(text: str) -> dict[str, unscaled.Reading]:
    """The model's run as it was trained, and without the division. Of a run only its measures are kept: all scores of a long text are many."""
    model = core.engine.default().open(MODEL)
    cost = 2.0 * len(text) * model.config.n_layers
    return {
        name: ask.submit(("scaling.reading", MODEL, text, name), partial(_read, model, text, edits), cost)
        for name, edits in (("scaled", ()), ("raw", unscaled.without_scale(model.config)))
    }


def _read(model: Model, text: str, edits: tuple[Edit, ...]) -> unscaled.Reading:
    return unscaled.reading(model.run(text, keep=unscaled.KEEP, edits=edits))


def _width(start: Any) -> None:
    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
        with st.container(width=560):
            controls.stops("d, the numbers in a query and in a key", WIDTHS, SLUG + "d_k", start.d_k)
        controls.draw(SLUG + "draw", start.draw, 99)


def _power(value: float) -> str:
    """A large number with its power of ten.

    >>> _power(3.4e38), _power(7.0)
    ('3.4 × 10³⁸', '7.00')
    """
    head, _, tail = f"{value:.1e}".partition("e+")
    return f"{head} × 10{str(int(tail)).translate(RAISED)}" if value >= 1e6 else number(value)


def _picture(figure: Any, key: str, told: str) -> None:
    _shown.show(figure, key, told, figures.ROOM_HEIGHT)


def _tall() -> int:
    """The room of a lane's title: more in large type."""
    return 36 if lesson.presenting() else figures.LINE


def _weight(value: float) -> str:
    return number(float(value)) if math.isfinite(value) else NOT_A_NUMBER


def _listed(values: Any) -> str:
    return ", ".join(number(float(v), 0) for v in values)


SHOWN: tuple[Callable[[Any, Any, Any], bool], ...] = (spread, one_row, widths, real, overflow)
