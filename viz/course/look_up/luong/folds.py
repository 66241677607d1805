"""The folds of the exhibit on global and local attention: the row, the equations with its numbers, words, table, arrays."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from viz.charts.curves import number
from viz.course.look_up.luong import steps
from viz.course.shared.maths import luong as lessons
from viz.labels import distinct, formulas
from viz.widgets import controls, lesson, parts

SLUG = "luong."
GUESS = "Guess first: then the numbers are here."
LATER = pd.DataFrame({"": [GUESS]})
LOOKING = (
    "A row is a word that the model writes, a column a word that it reads; END is written last. A cell is a weight; each row sums to 1. Concat is the score that "
    "bahdanau-en-es learned: it asks with the decoder's state before the word. General is Luong's, which asks with the state of the word itself. Dot compares the same "
    "states without any parameter: the model was not trained for it, so its rows say little.",
    "The weights are the global ones; hatched cells lie outside the windows. Positions count from 0. “Where the global row points” is the mean position of a row: what a "
    "predictive model would have to find. Monotonic windows walk along the diagonal.",
    "Orange bars are the softmax inside the shaded window, the green curve is the Gaussian around p_t, blue bars are the products: what mixes the source. The scores are "
    "those of the trained model for this word.",
    "Each dot is a run of the trained model, shut into windows of that size while it writes its own translation again. The number at the dot counts the scores. The dotted "
    "line is the model with the whole source. It was trained to see everything: a model trained with windows would do better.",
)


def change_it(start: Any) -> None:
    """The fold with the written word and the switch of the window."""
    with parts.fold("Change it", SLUG + "change") as opened:
        if not opened.open:
            return
        controls.preset_row(("She has a white car.", "The red house is old.", "I want to see my old friend tomorrow."), "text", start.text)
        controls.toggle("The window cuts off what lies outside (without it: as printed in Beigy 2021)", SLUG + "windowed", start.windowed)


def equation(told: bool, params: Any, data: Any) -> None:
    """Scores, softmax, centre, Gaussian and product of the chosen row."""
    with parts.fold(parts.EQUATION, SLUG + "equation") as opened:
        if not opened.open:
            return
        if not told:
            st.text(GUESS)
            return
        row, n = steps.one_row(params, data), len(data.source)
        best, z = int(row.align.argmax()), lessons.needed(row.centre, len(data.source))
        here = {"p_t": number(row.centre), "sigma": number(row.sigma), "s": str(best)}
        lesson.equation("luong.weights", SLUG, values={"a_ts": number(float(data.weights[params.row, best])), "n": str(n)})
        lesson.equation(f"luong.{params.score}", SLUG)
        lesson.equation("luong.centre", SLUG, values={"p_t": here["p_t"], "n": str(n)})
        shown = number(z) if math.isfinite(z) else r"-\infty" if z < 0 else r"\infty"
        parts.equation(here["p_t"] + " = " + f"{n}" + r" \cdot \mathrm{sigmoid}(" + shown + ")")
        lesson.equation("luong.gaussian", SLUG, values={"a_ts": number(float(row.product[best]), 3), **here})
        parts.equation(number(float(row.product[best]), 3) + " = " + number(float(row.align[best]), 3) + r" \cdot e^{-(" + f"{best}" + " - "
                       + number(row.centre) + r")^2 / (2 \cdot " + number(row.sigma) + r"^2)}")  # fmt: skip
        lesson.equation("luong.width", SLUG, values={"sigma": here["sigma"], "D": str(row.window)})
        st.text(f"The last line is the source word “{distinct(data.source)[best]}” for the written word “{distinct(data.written)[params.row]}”; positions count from 0.")


def looking_at(at: int, params: Any, data: Any) -> None:
    """Axes and colours of the step, and what to try."""
    with parts.fold(parts.LOOKING, SLUG + "looking") as opened:
        if opened.open:
            st.markdown(formulas(LOOKING[at], ours=True))
            st.markdown(formulas("**Try** step 3 with a large σ: the Gaussian becomes flat and the product comes back to the softmax. Then drag p_t away from the word that is needed.", ours=True))


def table(params: Any, data: Any) -> pd.DataFrame:
    """The chosen row: every source word with its score and what local attention makes of it."""
    row = steps.one_row(params, data)
    return pd.DataFrame({
        "source word": distinct(data.source), "position": range(len(data.source)), "score": data.scores[params.row].round(4), "global weight": data.weights[params.row].round(4),
        "in the window": row.inside, "softmax": row.align.round(4), "Gaussian": row.gaussian.round(4), "product": row.product.round(4),
    }).set_index("source word")  # fmt: skip


def arrays(params: Any, data: Any) -> dict[str, np.ndarray]:
    """Scores, weights, and the chosen row."""
    row = steps.one_row(params, data)
    return {"queries": np.array(data.written), "keys": np.array(data.source), "scores": data.scores, "weights": data.weights, "align": row.align, "gaussian": row.gaussian, "product": row.product}


def code(params: Any, data: Any) -> str:
    """The lines that make the same numbers in a notebook."""
    row = steps.one_row(params, data)
    scores = "asked.dotted()[0]" if params.score == "dot" else "asked.scores"
    more = "" if params.windowed else ", windowed=False"
    return ("import core\nfrom viz.course.shared.maths import luong\n\n"
            f"run = core.open_model({data.model!r}).run({params.text!r}, target={data.target!r})\nasked = luong.asked(run)\n"
            f"row = luong.local({scores}[{params.row}], centre={row.centre:g}, window={row.window}, sigma={row.sigma:g}{more})\n"
            "print(row.align, row.gaussian, row.product, row.total)")  # fmt: skip


