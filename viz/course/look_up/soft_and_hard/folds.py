"""The folds of the exhibit on soft and hard attention: equations with numbers, what is seen, documents, table, lines."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from viz.course.look_up.soft_and_hard.panels import LEARN, NAMES
from viz.widgets import lesson, parts


def equation(data: Any, params: Any, step: int) -> None:
    """Both reads, and at the last step both gradients, with the numbers of one patch."""
    with parts.fold(parts.EQUATION, "soft_and_hard.equation") as opened:
        if not opened.open:
            return
        top = int(data.weights.argmax())
        parts.equation(r"s_i = -\beta \lVert v_i - v_q \rVert^2, \qquad a = \mathrm{softmax}(s)")
        st.text(f"Patch {NAMES[top]}: s = {data.scores[top]:.3f}, a = {data.weights[top]:.4f}, with β = {params.beta:g} and patch {NAMES[params.asks]} asking.".replace("-", "−"))
        marks = {"a_i": "how clear a patch is", "v_i": "the mean colour of a patch", "z": "what is read"}
        lesson.equation("soft.mix", "soft_and_hard.", values={"n": "24"}, marks=marks)
        lesson.equation("hard.draw", "soft_and_hard.", marks=marks)
        soft, mean = data.weights @ data.values, data.values[data.drawn].mean(0)
        st.text(f"Red, green, blue of the soft read: {_three(soft)}; of the mean of {len(data.drawn):,} draws: {_three(mean)}.")
        if step != LEARN:
            return
        lesson.equation("softmax.gradient", "soft_and_hard.")
        lesson.equation("hard.gradient", "soft_and_hard.")
        parts.equation(r"\frac{\partial J}{\partial s_j} = a_j (f_j - J), \quad J = \sum_i a_i f_i, \quad f_i = w \cdot v_i, \qquad \hat g = (f_i - b)(e_i - a), \ i \sim a")
        told, place = data.learning, int(np.abs(data.learning.exact).argmax())
        st.text(
            f"Patch {NAMES[place]}: a = {data.weights[place]:.4f}, f = {data.values[place] @ data.w:.4f}, J = b = {told.baseline:.4f}: exactly {told.exact[place]:.5f}. "
            f"One draw scatters by {told.plain_deviation[place]:.4f} without a baseline and by {told.based_deviation[place]:.4f} with it; "
            f"the mean of {len(data.drawn):,} by {told.plain_deviation[place] / np.sqrt(len(data.drawn)):.5f} and {told.based_deviation[place] / np.sqrt(len(data.drawn)):.5f}.".replace("-", "−")
        )  # fmt: skip


def _three(colour: np.ndarray) -> str:
    return "(" + ", ".join(f"{value:.3f}" for value in colour) + ")"


def looking_at() -> None:
    """What is lit, framed and drawn."""
    with parts.fold(parts.LOOKING, "soft_and_hard.looking") as opened:
        if not opened.open:
            return
        st.markdown("The picture is cut into 24 patches, A1 to F4. The dotted patch asks; each patch is the clearer the more it weighs, and the clearest weighs most. "
                    "A value v is the mean colour of a patch: red, green, blue from 0 to 1. The weights here come from colours alone; in a trained model they come from "
                    "learned queries and keys.")  # fmt: skip
        st.markdown("At the last step each row is the score of one patch: the tick is the exact derivative, the dots are the means of the draws' estimates, the bars "
                    "two standard errors to each side, from the closed form of the variance.")  # fmt: skip
        st.markdown("**Soft** is smooth, so it can be trained by derivatives, and it reads every patch, which is expensive when there are many. **Hard** reads one, which is cheap "
                    "at inference, and needs draws, and variance reduction, when it is trained. **Try** β = 100: the two hardly differ.")  # fmt: skip


def documents() -> None:
    """What the slides say, and what is ours."""
    st.markdown("The slides of 2021 list pro and con: soft attention is smooth and differentiable but expensive for a large input; hard attention needs less calculation at "
                "inference but is not differentiable and needs variance reduction or reinforcement learning. They add that cropping an image is hard attention. "
                "The equations, the baseline (a variance reduction) and the picture are ours, after Xu et al. and Williams.")  # fmt: skip


def table(data: Any) -> pd.DataFrame:
    """Every patch: score, weight, how often it was drawn, its gradient three ways."""
    told = data.learning
    counts = np.bincount(data.drawn, minlength=len(NAMES)) / len(data.drawn)
    return pd.DataFrame(
        {"score": data.scores, "weight": data.weights, "share of the draws": counts, "gradient": told.exact, "REINFORCE": told.plain,
         "with a baseline": told.based}, index=list(NAMES),
    ).round(5).rename_axis("patch")  # fmt: skip


def arrays(data: Any) -> dict[str, np.ndarray]:
    """What one takes away."""
    told = data.learning
    return {"values": data.values, "scores": data.scores, "weights": data.weights, "drawn": data.drawn, "gradient": told.exact,
            "reinforce": told.plain, "with_baseline": told.based}  # fmt: skip


def code(params: Any) -> str:
    """The lines that make the same numbers in a notebook."""
    return (
        "import numpy as np\nfrom viz.course.look_up.soft_and_hard import maths as both\nfrom viz.course.shared.maths.scene import HARBOUR\n\n"
        f"values = HARBOUR.patches(4, 6, 30).mean((1, 2))  # (24, 3)\nweights = both.softmax(both.scores_by_colour(values, {params.asks}, {params.beta:g}))\n"
        f"drawn = both.draw(weights, {params.draws}, lot={params.lot})\n"
        "print(both.soft_read(weights, values), values[drawn].mean(0))"
    )  # fmt: skip
