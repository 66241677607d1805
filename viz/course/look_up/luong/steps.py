"""The steps of the exhibit on global and local attention: each draws its question, its picture, its sentence, its control."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import streamlit as st

from viz.charts.curves import number
from viz.course.look_up.charts.scaling import fitted
from viz.course.look_up.luong import charts as figures
from viz.course.look_up.luong import data as data_of
from viz.course.shared.maths import luong as lessons
from viz.instruments import heatmap
from viz.labels import distinct, percent
from viz.shell import state
from viz.widgets import compute as ask
from viz.widgets import controls, lesson, parts

SLUG = "luong."
WIDEST = 8
OF_A_SENTENCE = (SLUG + "row", SLUG + "p", SLUG + "sigma")
CENTRES = {
    "row": "where the global row points",
    "monotonic": "monotonic: pₜ = t",
    "predictive": "predicted by luong-local-en-es",
}


def everywhere(params: Any, data: Any, start: Any) -> bool:
    """The alignment matrix; before the guess without the row that is asked for."""
    row, keys = params.row, distinct(data.source)
    word, top = data.written[row], int(data.weights[row].argmax())
    told = lesson.predict(
        f"{SLUG}global", f"Writing “{word}”, at which source word does the model look most?", dict(zip(keys, data.weights[row].tolist(), strict=True)), keys[top],
        f"It gives “{keys[top]}” {percent(data.weights[row, top])}. Its {len(keys)} weights sum to {data.weights[row].sum():.2f}.",
    )  # fmt: skip
    rows = [i for i in range(len(data.written)) if told or i != row]
    written = distinct(data.written)
    heatmap(
        data.weights[rows], [written[i] for i in rows], keys, key=f"{SLUG}global.picture", selected=(row, top) if told else None, numbers=True,
        axis=("written", "source"), height=_tall(), title=f"{data.model}, {data_of.SCORES[params.score]}",
    )  # fmt: skip
    n_target, n_source = data.weights.shape
    parts.numbers(
        f"{data.model} writes “{data.target}”. Global attention computes {n_target} × {n_source} = {lessons.cells(n_target, n_source)} scores, one for each pair"
        + (f"; {written[row]} looks at {keys[top]} with {percent(data.weights[row, top])}." if told else f". The row of {written[row]} is left out until you guess.")
    )
    _written(params, data)
    controls.segmented("Score", tuple(data_of.offered()), SLUG + "score", data_of.opening(), data_of.SCORES.__getitem__, quiet=True)
    return told


def a_centre(params: Any, data: Any, start: Any) -> bool:
    """The windows of all rows in the global matrix; what they keep of the weight."""
    n_target, n_source = data.weights.shape
    diagonal = lessons.windows([lessons.monotonic(t, n_source) for t in range(n_target)], start.window, n_source)
    share = lessons.kept(data.weights, diagonal)
    told = lesson.predict_number(
        f"{SLUG}kept", f"Monotonic windows stand at p_t = t and reach D = {start.window} to each side. How many percent of the global weight lies inside them?",
        0.0, 1.0, round(share, 2), f"{percent(share, 2)}. " + _lost(share), 0.05, "%",
    )  # fmt: skip
    where = middles(params, data)
    inside = lessons.windows(where, params.window, n_source)
    allowed = inside if told else np.ones_like(inside)
    heatmap(
        np.where(allowed, data.weights, 0.0), distinct(data.written), distinct(data.source), key=f"{SLUG}centre.picture", allowed=allowed, numbers=True,
        axis=("written", "source"), height=_tall(), title=f"Global weights, {CENTRES[params.centre]}, D = {params.window}" if told else "Global weights",
    )  # fmt: skip
    t = params.row
    parts.numbers(
        f"Inside the windows: {percent(lessons.kept(data.weights, inside), 2)} of the weight, {int(inside.sum())} of {inside.size} cells. For {distinct(data.written)[t]} "
        f"p_t = {number(where[t])}" + _sigmoid(where[t], n_source) if told else f"Every cell is there: {inside.size} of {inside.size}."
    )
    controls.segmented("Where the window stands", tuple(centres(data)), SLUG + "centre", start.centre, CENTRES.__getitem__, quiet=True)
    controls.slider("D, the words to each side", 1, WIDEST, SLUG + "window", start.window)
    return told


def _lost(share: float) -> str:
    """What windows in a straight line cost this sentence."""
    if share > 0.98:
        return "The two languages keep nearly one order here, and each word looks at few others: nothing to speak of is lost."
    return f"{percent(1 - share, 2)} lies outside: of words that change places, and of rows that spread their weight. For these the window must be wide or elsewhere."


def _sigmoid(centre: float, n_source: int) -> str:
    z = lessons.needed(centre, n_source)
    if not math.isfinite(z):
        return f"; n · sigmoid(z) reaches {number(centre)} for no z."
    return f"; to predict it, v · tanh(W h) must come out as z = {number(z)}: {n_source} · sigmoid({number(z)}) = {number(lessons.predicted(z, n_source))}."


def window_and_bell(params: Any, data: Any, start: Any) -> bool:
    """Softmax, Gaussian and product of one row."""
    row = one_row(params, data)
    word, opening = distinct(data.written)[params.row], lessons.local(data.scores[params.row], middle(params, data), start.window)
    told = lesson.predict_number(
        f"{SLUG}total", f"“{word}”, p_t = {number(opening.centre)}, D = {opening.window}, σ = {number(opening.sigma)}: inside the window softmax sums to 1. Each weight is then "
        "multiplied by the Gaussian, at most 1. What do the products sum to?",
        0.0, 1.0, round(opening.total, 2), f"{opening.total:.3f}. Luong and others do not divide by it again: the further the weight lies from p_t, the less of it arrives.",
        0.05,
    )  # fmt: skip
    x = np.linspace(-0.6, len(data.source) - 0.4, 241)
    window = (row.centre - params.window, row.centre + params.window) if params.windowed else None
    nothing = np.zeros_like(row.product)
    picture = figures.local_row(data.source, row.align, row.product if told else nothing, (x, lessons.bell(x, row.centre, row.sigma)), centre=row.centre, window=window)
    parts.show(
        fitted(picture, lesson.presenting()), f"{SLUG}local.picture", f"Softmax, Gaussian and product over {len(data.source)} source words.",
    )  # fmt: skip
    best = int(row.align.argmax())
    said = f"p_t = {number(row.centre)}, D = {params.window}, σ = {number(row.sigma)}: {row.touched} of {len(data.source)} words are touched. "
    parts.numbers(
        said + (f"{distinct(data.source)[best]}: softmax {row.align[best]:.3f} × Gaussian {row.gaussian[best]:.3f} = {row.product[best]:.3f}. The products sum to "
                f"{row.total:.3f}." if told else "The blue bars, the products, come after your guess.")
    )  # fmt: skip
    n = len(data.source)
    _written(params, data)
    controls.slider("pₜ, the centre", 0.0, float(n), SLUG + "p", middle(params, data), 0.05)
    left, right = st.columns(2, gap="large")
    with left:
        controls.slider("D, the words to each side", 1, WIDEST, SLUG + "window", start.window)
    with right:
        controls.slider("σ, the width of the Gaussian (D / 2 in the paper)", 0.25, 10.0, SLUG + "sigma", params.window / 2, 0.25)
    return told


def savings(params: Any, data: Any, start: Any) -> bool:
    """The trained model shut into windows: surprise against scores computed."""
    n_target, n_source = data.weights.shape
    where = middles(params, data)
    found = ask.submit(("luong.cost", params.text, data.model, data.target, where), lambda: data_of.cost(params.text, data, where, WIDEST), 60 * WIDEST * max(1, len(params.text)))
    dear = found.surprise[0] - data.surprise
    told = lesson.predict(
        f"{SLUG}cost", f"{data.model} writes its translation again and may look only 1 word to each side of p_t ({CENTRES[params.centre]}). How does its cross-entropy loss change?",
        ("less than before", "hardly more", "much more"), "less than before" if dear < -0.02 else "hardly more" if dear < 0.25 else "much more",
        f"{number(data.surprise)} nats per token with the whole source, {number(found.surprise[0])} with D = 1.",
    )  # fmt: skip
    shown = range(len(found.windows)) if told else range(len(found.windows) - 1, len(found.windows))
    marked = min(params.window, found.windows[-1])
    picture = figures.costs(
        [found.windows[i] for i in shown], [found.surprise[i] for i in shown], [found.touched[i] for i in shown],
        whole=(data.surprise, n_target * n_source), marked=marked,
    )  # fmt: skip
    parts.show(
        fitted(picture, lesson.presenting()), f"{SLUG}cost.picture", "Cross-entropy loss of the model by the size of its window, with the number of scores.",
    )  # fmt: skip
    i = found.windows.index(marked)
    parts.numbers(
        f"D = {marked}: {found.touched[i]} scores instead of {n_target * n_source}, {number(found.surprise[i])} nats per token instead of {number(data.surprise)}. With 60 source words "
        f"it would be {lessons.cells(n_target, 60, marked)} instead of {lessons.cells(n_target, 60)}." if told
        else f"The numbers at the dots are scores computed. With the whole source: {number(data.surprise)} nats per token."
    )  # fmt: skip
    controls.segmented("Where the window stands", tuple(centres(data)), SLUG + "centre", start.centre, CENTRES.__getitem__, quiet=True)
    return told


def _written(params: Any, data: Any) -> None:
    """The written word whose row is looked at."""
    names = distinct(data.written)
    controls.pills("The written word", range(len(names)), SLUG + "row", lessons.crossing(data.weights), names.__getitem__)


def _tall() -> int:
    """Most pixels of a matrix; before a room less, so that its sentence and its control are on the same screen."""
    return 300 if lesson.presenting() else 380


def centres(data: Any) -> dict[str, str]:
    """The ways to choose a centre that can be shown: the predictive one where its model is there."""
    return {name: said for name, said in CENTRES.items() if name != "predictive" or data_of.here(data_of.PREDICTIVE)}


def middles(params: Any, data: Any) -> tuple[float, ...]:
    """p_t of every row under the chosen way."""
    n_target, n_source = data.weights.shape
    if params.centre == "predictive":
        found = ask.submit(("luong.predicted", params.text, data.target), lambda: data_of.predicted(params.text, data), 30 * max(1, len(params.text)))
        if found:
            return found
    if params.centre == "monotonic":
        return tuple(lessons.monotonic(t, n_source) for t in range(n_target))
    return tuple(round(lessons.pointed_at(row), 4) for row in data.weights)


def middle(params: Any, data: Any) -> float:
    """p_t of the chosen row before the visitor moves it, to a step of the slider."""
    return round(round(middles(params, data)[params.row] / 0.05) * 0.05, 2)


def one_row(params: Any, data: Any) -> lessons.Local:
    """Local attention of the chosen row, with the visitor's centre and width."""
    n = len(data.source)
    centre = state.read(SLUG + "p", middle(params, data), state.real(0, n))
    sigma = state.read(SLUG + "sigma", params.window / 2, state.real(0.25, 10))
    return lessons.local(data.scores[params.row], centre, params.window, sigma, windowed=params.windowed)


SHOWN: tuple[Callable[[Any, Any, Any], bool], ...] = (everywhere, a_centre, window_and_bell, savings)
