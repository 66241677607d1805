"""Attention as a weighting: ten words share 100 percent, and so do the parts of a picture."""

from __future__ import annotations

import numpy as np

from viz.charts import thumbs
from viz.course.lesson import Lesson, Step
from viz.course.why.weighting import shares, steps
from viz.course.why.weighting.params import Params


def compute(params: Params) -> shares.Data:
    """Weights of words and of patches. Errors: InputError for a sentence that cannot be shown."""
    return shares.shared(params)


def thumbnail() -> str:
    """The five words that weigh most."""
    data = compute(Params())
    best = np.argsort(-data.weights, kind="stable")[:5]
    return thumbs.bars(data.weights[best], [data.words[i] for i in best], marked=0)


LESSON = Lesson(
    __file__,
    Params,
    compute,
    (
        Step(steps.guess, texts=("text",)),
        Step(steps.weigh, texts=("text",)),
        Step(steps.share, texts=("text",)),
        Step(steps.skim, ("threshold",), texts=("text",)),
        Step(steps.look, ("part", "width"), alone=True),
    ),
    cost=lambda params: 60 if params.chosen == "model" else 2,
)
