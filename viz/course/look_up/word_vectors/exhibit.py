"""Word vectors: king - man + woman, one vector a word, and the mix that attention makes of them."""

from __future__ import annotations

import core.serving.engine
from core.model import Model
from viz.charts import thumbs
from viz.course.lesson import Lesson, Step
from viz.course.look_up.word_vectors import context, sums
from viz.course.look_up.word_vectors.params import MODEL, Params
from viz.instruments.kit import origin


def compute(params: Params) -> Model:
    """The table of vectors that ships; each step computes what it shows, for each has words of its own."""
    return core.serving.engine.default().open(MODEL)


def thumbnail() -> str:
    """The map of the sum that the page opens with."""
    found = sums.added(Params(), compute(Params()))
    return thumbs.points(found.map, marked=(len(found.map) - 1,))


LESSON = Lesson(
    __file__,
    Params,
    compute,
    (
        Step(sums.by_hand),
        Step(sums.trained, ("a",)),
        Step(sums.on_the_map, ("a",)),
        Step(context.one_vector, ("one",)),
        Step(context.remember, ("text",)),
    ),
    tells=lambda params, data: origin.tell(model=MODEL),
)
