"""Eight ways to say how well a key fits a query, on the same vectors; and which do not see query or keys."""

from __future__ import annotations

import numpy as np

from viz.charts import thumbs
from viz.course.lesson import Lesson, Step
from viz.course.look_up.score_functions import maths, steps
from viz.course.look_up.score_functions.params import Params


def compute(params: Params) -> maths.Scored:
    """All eight on the visitor's vectors."""
    return maths.scored(params.place, params.beta)


def thumbnail() -> str:
    """The weights of four keys (rows) under the eight rules, on the opening vectors."""
    return thumbs.cells(np.array(list(compute(Params()).weights.values())).T)


LESSON = Lesson(
    __file__,
    Params,
    compute,
    (
        Step(steps.two_rules),
        Step(steps.all_eight, ("beta",)),
        Step(steps.ignores, ("experiment",)),
        Step(steps.one),
    ),
)
