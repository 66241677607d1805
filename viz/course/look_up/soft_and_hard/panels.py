"""The pictures, questions, controls and sentences of the exhibit on soft and hard attention."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import streamlit as st

from viz.charts.patches import PICKED, lit, place_name, reads
from viz.course.look_up.soft_and_hard import charts as lots
from viz.course.look_up.soft_and_hard import maths as lesson_of
from viz.course.shared.maths.scene import HARBOUR
from viz.labels import percent
from viz.shell import state
from viz.widgets import controls, lesson, parts

GUESS, SOFT, HARD, MANY, LEARN = range(5)
ROWS, COLUMNS = 4, 6
DRAWS = (1, 10, 50, 200, 1000, 5000)
NAMES = tuple(place_name(row, column) for row in range(ROWS) for column in range(COLUMNS))


def thing(place: int) -> str:
    """A patch by its name and the part of the picture that fills most of it."""
    shares = HARBOUR.shares(ROWS, COLUMNS)[place]
    return f"{NAMES[place]}, {HARBOUR.parts[int(shares.argmax())]}"


def picture(slug: str, data: Any, params: Any, step: int) -> None:
    """The harbour, clear where the weights are large; the asking patch dotted, a drawn one framed. A touch asks anew."""
    key = f"{slug}picture"
    framed = int(data.drawn[0]) if step == HARD else None
    figure = lit(HARBOUR.shapes, (HARBOUR.width, HARBOUR.height), (ROWS, COLUMNS), data.weights, framed=framed, asked=params.asks,
                 told=0.03, height=350)  # fmt: skip
    parts.show(figure, key, f"{HARBOUR.say} Patch {thing(params.asks)} asks; the largest weight is {percent(data.weights.max())}, on {thing(int(data.weights.argmax()))}.",
               on_pick=partial(_touch, key))  # fmt: skip


def _touch(key: str) -> None:
    patch = parts.picked(key, PICKED)
    if patch:
        state.write(**{"soft_and_hard.asks": int(patch["place"])})


def beside(slug: str, data: Any, params: Any, step: int, known: bool) -> None:
    """What is read: the blend, the crop, the mean of many crops; at the last step the gradients."""
    soft = lesson_of.soft_read(data.weights, data.patches)
    hard, mean = data.patches[data.drawn[0]], data.patches[data.drawn].mean(0)
    draws = f"{len(data.drawn)} draw{'s' if len(data.drawn) > 1 else ''}"
    shown = {
        GUESS: [("soft", soft if known else None), ("one draw", hard if known else None), ("the mean" if lesson.presenting() else f"mean of {len(data.drawn):,}", mean if known else None)],
        SOFT: [("soft", soft)],
        HARD: [("soft", soft), (f"hard: {NAMES[data.drawn[0]]}", hard)],
        MANY: [("soft", soft), (f"mean of {draws}", mean)],
    }
    low = step == MANY and lesson.presenting()
    if step == LEARN:
        names, exact, rows = gradients(data)
        figure = lots.guesses(names, exact, rows, columns=1, height=340) if lesson.presenting() else lots.guesses(names, exact, rows)
        parts.show(figure, f"{slug}gradient", f"The gradient of {len(names)} scores: exact, and two estimates with error bars.")
        return
    parts.show(reads(shown[step], height=170 if low else 200), f"{slug}reads", "What is read from the picture: " + ", ".join(title for title, _ in shown[step]) + ".")
    if step == MANY:
        near = data.near
        parts.show(lots.nearing(near.n, near.distance, near.expect, at=len(data.drawn), unit="colour", height=200 if low else 230), f"{slug}near",
                   f"The distance of the mean from the soft read falls to {near.distance[-1]:.4f} after {len(data.drawn)} draws.")  # fmt: skip


def gradients(data: Any, most: int = 6) -> tuple[list[str], np.ndarray, list[tuple[str, np.ndarray, np.ndarray]]]:
    """The scores with the largest derivatives: names, exact values, both estimates with their standard errors."""
    told, root = data.learning, np.sqrt(len(data.drawn))
    order = np.argsort(-np.abs(told.exact), kind="stable")[:most]
    rows = [("REINFORCE", told.plain[order], told.plain_deviation[order] / root), ("with a baseline", told.based[order], told.based_deviation[order] / root)]
    return [thing(int(place)) for place in order], told.exact[order], rows


def choose(slug: str, start: Any, step: int) -> None:
    """The one control of the step; how sharp the weights are, always."""
    if step == HARD:
        controls.draw(slug + "draw", start.lot, again="Draw another patch", strong=True)
    elif step in (MANY, LEARN):
        with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
            with st.container(width="content"):
                controls.segmented("Draws", DRAWS, slug + "draws", start.draws, lambda n: f"{n:,}")
            if step == LEARN:
                with st.container(width="content"):
                    controls.pills("What should be read", ("brighter", "redder", "greener", "bluer"), slug + "wanted", start.wanted)
            controls.draw(slug + "draw", start.lot)
    controls.slider("Inverse temperature β, from all patches alike to almost one", 0, 100, slug + "beta", start.beta)


def first_guess(slug: str, data: Any, params: Any) -> bool:
    """What is the mean of many draws like? Asked before any read is shown."""
    places = {
        "The soft mix of all patches": lesson_of.soft_read(data.weights, data.values),
        "The one patch with the largest weight": data.values[int(data.weights.argmax())],
        "The plain mean of the whole picture": data.values.mean(0),
    }
    drawn = lesson_of.draw(data.weights, 5000, params.lot)
    mean = data.values[drawn].mean(0)
    far = {name: float(np.linalg.norm(mean - value)) for name, value in places.items()}
    answer = min(far, key=far.__getitem__)
    soft, top, plain = far.values()
    why = (
        f"After {len(drawn):,} draws the mean colour is {soft:.4f} away from the soft mix, {top:.4f} from the patch with the largest weight and "
        f"{plain:.4f} from the plain mean. Each patch comes up as often as its weight says, so the mean of the draws is the weighted sum."
    )  # fmt: skip
    question = "Draw one patch with these weights, note its colour, put it back, draw again, thousands of times. What does the mean come to?"
    return lesson.predict(slug + "first", question, tuple(places), answer, why)


def last_guess(slug: str, data: Any) -> bool:
    """What does differentiation give for the patch with the largest score?"""
    soft, hard = data.automatic, data.argmax
    options = ("The same gradient as for the soft read", "Zero for every score", "Nothing: there is no path to the scores")
    answer = options[2] if hard is None else options[1] if not np.any(hard) else options[0]
    most = 0.0 if soft is None else float(np.abs(soft).max())
    why = (
        f"For the soft read automatic differentiation gives 24 numbers, the largest {most:.4f}; for the patch with the largest score it finds no path, "
        f"because an index does not change when a score changes a little. That is why hard attention learns by REINFORCE."
    )  # fmt: skip
    return lesson.predict(slug + "path", "Always take the patch with the largest score. What does automatic differentiation say about its scores?", options, answer, why)


def numbers(data: Any, params: Any, step: int) -> str:
    """One sentence of numbers of what is shown."""
    top = int(data.weights.argmax())
    if step in (GUESS, SOFT):
        over = int((data.weights >= 0.01).sum())
        return f"Patch {thing(params.asks)} asks. {over} of 24 patches weigh 1 % or more; {thing(top)} weighs most, {percent(data.weights[top], 2)}. All 24 together: {percent(round(data.weights.sum(), 6), 2)}."
    if step == HARD:
        place = int(data.drawn[0])
        return f"Drawn: {thing(place)}, which happens in {percent(data.weights[place], 2)} of all draws. The soft read touched 24 patches, this one 1: less work, and less certain."
    if step == MANY:
        near, n = data.near, len(data.drawn)
        return f"The mean of {n:,} draw{'s' if n > 1 else ''} is {near.distance[-1]:.4f} away from the soft read; chance alone lets {near.expect[-1]:.4f} expect. A hundred times the draws, a tenth of the distance."
    told, n = data.learning, len(data.drawn)
    best = int(told.exact.argmax())
    return (
        f"To read something {params.wanted}, the score of {thing(best)} should grow most: exactly {told.exact[best]:.4f}, from {n:,} draw{'s' if n > 1 else ''} {told.plain[best]:.4f}, "
        f"with a baseline {told.based[best]:.4f}. The baseline, {told.baseline:.3f}, divides the variance of a draw by {told.saved:.1f}."
    ).replace("-", "−")  # fmt: skip
