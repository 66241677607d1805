"""Luong's global and local attention: the whole source for every word, or a window; on a trained model."""

from __future__ import annotations

import numpy as np

from viz.charts import thumbs
from viz.course.lesson import Lesson, Step
from viz.course.look_up.luong import maths, steps
from viz.course.look_up.luong.params import Params
from viz.course.shared.maths import luong
from viz.instruments.kit import origin


def compute(params: Params) -> maths.Data:
    """The model's run: words of both sides, scores and weights (query key) under the chosen score."""
    return maths.read(params.text, params.score)


def thumbnail() -> str:
    """The bell, the softmax inside the window and their product, over nine words that fit alike."""
    row = luong.local(np.zeros(9), 4.5, 2)
    return thumbs.curves([row.gaussian, row.align, row.product])


LESSON = Lesson(
    __file__,
    Params,
    compute,
    (
        Step(steps.everywhere, ("score", "text")),
        Step(steps.a_centre, ("centre", "window", "text")),
        Step(steps.window_and_bell, ("text",)),
        Step(steps.savings, ("centre", "text")),
    ),
    of=("text", "score"),
    cost=lambda params: 30 * max(1, len(params.text)),
    tells=lambda params, data: origin.tell(
        model=data.model, text=params.text, beside=data.target, kind="alignment"
    ),
)
