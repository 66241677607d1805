"""Soft and hard attention: mix all patches of a picture by their weights, or draw one; how each can learn."""

from __future__ import annotations

import numpy as np

from viz.charts import thumbs
from viz.course.lesson import Lesson, Step
from viz.course.look_up.soft_and_hard import maths, steps
from viz.course.look_up.soft_and_hard.params import WANTED, Params
from viz.course.shared.maths.scene import HARBOUR

SIDE = 30


def compute(params: Params) -> maths.Data:
    """Scores by colour, weights, draws, how far their mean is, and the gradient exactly and by REINFORCE."""
    patches, wanted = HARBOUR.patches(*steps.GRID, SIDE), np.array(WANTED[params.wanted]) / 3
    return maths.both(patches, params.asks, params.beta, params.draws, params.draw, wanted)


def thumbnail() -> str:
    """The patches that weigh most, the one that the first draw takes in ink."""
    data = compute(Params())
    best, first = np.argsort(-data.weights, kind="stable")[:6].tolist(), int(data.drawn[0])
    marked = best.index(first) if first in best else -1
    return thumbs.bars(data.weights[best], [steps.NAMES[i] for i in best], marked=marked)


LESSON = Lesson(
    __file__,
    Params,
    compute,
    (
        Step(steps.guess, ("beta",)),
        Step(steps.soft, ("beta",)),
        Step(steps.hard, ("beta",)),
        Step(steps.many, ("draws", "draw", "beta")),
        Step(steps.learning, ("draws", "wanted", "draw", "beta")),
    ),
    cost=lambda params: 20 + params.draws // 100,
)
