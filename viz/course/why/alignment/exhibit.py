"""Alignment: for each word that it writes a recurrent translator weighs all source words anew."""

from __future__ import annotations

from viz.charts import thumbs
from viz.course.lesson import Lesson, Step
from viz.course.why.alignment import maths, steps
from viz.course.why.alignment.params import Params
from viz.instruments.kit import origin


def compute(params: Params) -> maths.Data:
    """The sentence through the translator that asks as chosen; where it is missing, through the other."""
    return maths.translated(params.model, params.text)


def thumbnail() -> str:
    """The alignment of the sentence that the page opens with."""
    return thumbs.cells(compute(Params()).weights)


SET = ("text", "asks")
LESSON = Lesson(
    __file__,
    Params,
    compute,
    (
        Step(steps.guess, SET),
        Step(steps.read, SET),
        Step(steps.look, SET),
        Step(steps.matrix, SET),
        Step(steps.without, SET),
        Step(steps.who_asks, SET),
    ),
    of=("model", "text"),
    cost=lambda params: 20 * len(params.text),
    tells=lambda params, data: origin.tell(
        model=data.model, text=params.text, beside=data.text, kind="alignment"
    ),
)
