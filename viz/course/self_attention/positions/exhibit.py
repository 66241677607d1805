"""Who stands where: two first ideas, four criteria, the wave, a learned table, a model that loses its own."""

from __future__ import annotations

import numpy as np

from viz.charts import thumbs
from viz.course.lesson import Lesson, Step
from viz.course.self_attention.maths.position_criteria import judge
from viz.course.self_attention.positions import lost, read, steps
from viz.course.self_attention.positions.maths import ideas
from viz.course.self_attention.positions.params import Params
from viz.course.shared.maths.positions import Formula


def compute(params: Params) -> read.Judged:
    """Each code judged by the criteria, on sentences of the two lengths."""
    found = ideas.candidates(read.learned(read.WRITER))
    return read.Judged(tuple(judge(name, code, params.short, params.long) for name, code in found.items()))


def thumbnail() -> str:
    """The rim of the second clock of four: the first 40 positions on their way round."""
    angles = np.array([ideas.hands(Formula(8), t)[1] for t in range(40)])
    return thumbs.points(np.stack([np.sin(angles), -np.cos(angles)], axis=1), marked=(3,))


LENGTHS = ("short", "long")
LESSON = Lesson(
    __file__,
    Params,
    compute,
    (
        Step(steps.guess, ("text",), alone=True),
        Step(steps.two_ideas, LENGTHS, alone=True),
        Step(steps.criteria, ("code",), change=LENGTHS),
        Step(steps.wave, ("position",), alone=True),
        Step(steps.table, ("table",), alone=True),
        Step(lost.lost, ("model",), texts=("trained",), alone=True),
    ),
    of=LENGTHS,
    cost=300,
)
