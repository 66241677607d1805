"""The folds of the exhibit on the scale: the derivation with its numbers, words, table, arrays."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from viz.charts.curves import number
from viz.course.look_up.scaling import maths as lessons
from viz.course.look_up.scaling import steps
from viz.labels import formulas
from viz.widgets import lesson, parts

SLUG = "scaling."
GUESS = "Guess first: then the numbers are here."
LATER = pd.DataFrame({"": [GUESS]})
REAL, OVERFLOW = 3, 4
LOOKING = {
    0: "Each bar counts how often a dot product of that size came up; both lanes have the same axis. The line is a Gaussian with the "
    "variance of the closed form. For small d the bars are more pointed than the Gaussian: a sum of few products is not yet normal.",
    1: "Each bar is the weight of one key, in the order of their scores; both lanes have the same keys and the same scale from 0 to 1. The row "
    "belongs to the query whose entropy is in the middle of all queries of the draw.",
    2: "Above, the entropy of a row of weights, the mean over all queries: ln n for uniform attention, 0 when one key has everything. Below, the gradient, "
    "the sum of a(1 − a): how much each weight still answers to its own score. Training follows gradients; where they are 0 it stops. "
    "The dotted upright line is your d.",
    3: "A dot is a head, the line is the mean of its layer. The normalised entropy is the entropy of a row as a share of the largest possible, the mean over "
    "the rows that have a choice. The model learned with the division; taking it away afterwards shows what the factor does, not how a model "
    "trained without it would do.",
    4: "The line is e^s, on an axis that grows by factors of ten. Dots are the three scores as they go into exp. A cross in the hatched part has no "
    "32-bit number: the computer writes infinity, and infinity divided by infinity is not a number.",
}


def equation(told: bool, at: int, params: Any, data: Any) -> None:
    """What the step says, as equations with the numbers of this draw."""
    with parts.fold(parts.EQUATION, SLUG + "equation") as opened:
        if opened.open and not told:
            st.text(GUESS)
        elif opened.open:
            (_float32 if at == OVERFLOW else _scale)(params, data)


def _scale(params: Any, data: Any) -> None:
    d, row = params.d_k, data.typical
    best = int(data.scores.raw[row].argmax())
    score = float(data.scores.raw[row, best])
    lesson.equation("score.scaled", SLUG, values={"s_i": number(score / math.sqrt(d)), "p": str(d)})
    parts.equation(number(score) + r" / \sqrt{" + str(d) + "} = " + number(score / math.sqrt(d)))
    lesson.equation("scaling.spread", SLUG, values={"d_k": str(d)})
    st.text(f"Measured on this draw: variance {number(data.raw.variance)} of q·k, {number(data.scaled.variance)} after the division.")
    lesson.equation("softmax.gradient", SLUG)
    parts.equation(
        r"\frac{\partial a_j}{\partial s_j} = a_j (1 - a_j), \quad \sum_j a_j(1 - a_j) = " + number(data.raw.slope) + r"\text{ unscaled, }"
        + number(data.scaled.slope) + r"\text{ scaled}"
    )  # fmt: skip
    st.text(f"The first line is the best key of the middle query of this draw; the others are over all {data.scores.raw.size:,} pairs.")


def _float32(params: Any, data: Any) -> None:
    lesson.equation("softmax.safe", SLUG, values={"m": str(params.score)})
    parts.equation(r"\frac{e^{s_j}}{\sum_i e^{s_i}} = \frac{e^{-m}\, e^{s_j}}{e^{-m} \sum_i e^{s_i}} = \frac{e^{s_j - m}}{\sum_i e^{s_i - m}}, \quad m = \max_i s_i = " + str(params.score))
    parts.equation(r"e^{s} \le 3.4 \cdot 10^{38} \iff s \le " + f"{lessons.OVERFLOW:.2f}")
    st.table(_exponentials(params), border="horizontal")


def _exponentials(params: Any) -> pd.DataFrame:
    rows = []
    for safe in (False, True):
        found = lessons.in_float32(steps.three(params.score), safe=safe)
        for s, e, w in zip(found.inputs, found.exponentials, found.weights, strict=True):
            rows.append({"": "largest subtracted" if safe else "plain", "into exp": number(float(s), 0), "eˢ": f"{float(e):.3g}", "weight": steps._weight(w)})
    return pd.DataFrame(rows).set_index("")


def looking_at(at: int) -> None:
    """Axes and colours of the step, and what to try."""
    with parts.fold(parts.LOOKING, SLUG + "looking") as opened:
        if opened.open:
            st.markdown(formulas(LOOKING[at], ours=True))
            st.markdown("Orange is the dot product as it is, blue the same divided by √d. **Try** d = 4: the division hardly matters. Then d = 1024.")


def table(at: int, params: Any) -> pd.DataFrame:
    """The measures at every width; of the last two steps what they drew."""
    if at == OVERFLOW:
        return _exponentials(params)
    if at == REAL:
        found = steps.readings(params.text)
        columns = {"with 1/√d": found["scaled"], "without": found["raw"]}
        return pd.DataFrame({f"{name}, {what}": values for name, r in columns.items() for what, values in
                             (("evenness", r.evenness.mean(1)), ("standard deviation of scores", r.spread))}).rename_axis("layer")  # fmt: skip
    found = steps.every_width(params.draw)
    return pd.DataFrame(
        {f"{leaf}, {said}": [getattr(m, leaf) for m in found[name]] for leaf in ("variance", "entropy", "slope")
         for name, said in (("raw", "q·k"), ("scaled", "q·k / √d"))}, index=list(lessons.WIDTHS)
    ).rename_axis("d")  # fmt: skip


def arrays(params: Any) -> dict[str, np.ndarray]:
    """The draw, and the measures at every width."""
    drawn, found = lessons.drawn(params.d_k, params.draw), steps.every_width(params.draw)
    return {"raw": drawn.raw, "scaled": drawn.scaled, "d": np.array(lessons.WIDTHS)} | {
        f"{leaf}: {name}": np.array([getattr(m, leaf) for m in rows]) for name, rows in found.items() for leaf in ("variance", "entropy", "slope")
    }


def code(at: int, params: Any) -> str:
    """The lines that make the same numbers in a notebook."""
    if at == OVERFLOW:
        return ("from viz.course.look_up.scaling.maths import in_float32\n\n"
                f"print(in_float32({steps.three(params.score)}, safe=False).weights, in_float32({steps.three(params.score)}, safe=True).weights)")  # fmt: skip
    if at == REAL:
        return ("import core\nfrom viz.course.shared.maths import unscaled\n\n"
                f"model = core.open_model({steps.MODEL!r})\n"
                "for edits in ((), unscaled.without_scale(model.config)):\n"
                f"    print(unscaled.reading(model.run({params.text!r}, keep=unscaled.KEEP, edits=edits)))")  # fmt: skip
    return ("from viz.course.look_up.scaling.maths import by_width, drawn, measured\n\n"
            f"scores = drawn({params.d_k}, seed={params.draw})  # (query, key)\n"
            f"print(measured(scores.raw), measured(scores.scaled))\nprint(by_width(seed={params.draw}))")  # fmt: skip
