"""Why scores are divided by sqrt(d_k), on drawn vectors and on a trained model; and why softmax subtracts the maximum."""

from __future__ import annotations

import numpy as np

from viz.charts import thumbs
from viz.course.lesson import Lesson, Step
from viz.course.look_up.scaling import maths, steps
from viz.course.look_up.scaling.overflow import overflow
from viz.course.look_up.scaling.params import Params


def compute(params: Params) -> maths.Drawn:
    """Draw queries and keys of the chosen width, and measure their dot products."""
    return maths.measured_draw(params.d_k, params.draw)


def thumbnail() -> str:
    """Entropy over the width, undivided and divided."""
    found = maths.by_width(maths.WIDTHS[::2])
    return thumbs.curves([np.array([m.entropy for m in found[name]]) for name in ("scaled", "raw")])


LESSON = Lesson(
    __file__,
    Params,
    compute,
    (
        Step(steps.spread, ("d_k", "draw")),
        Step(steps.one_row, ("d_k", "draw")),
        Step(steps.widths, ("d_k", "draw")),
        Step(steps.real, ("text",)),
        Step(overflow, ("safe", "score")),
    ),
    of=("d_k", "draw"),
    cost=40,
)
