"""A picture is 16 × 16 words: patches as tokens, the class token's look on the picture, and a picture of which most is hidden."""

from __future__ import annotations

from viz.charts import thumbs
from viz.course.lesson import Lesson, Step
from viz.course.vision.picture_as_words import maths, steps
from viz.course.vision.picture_as_words.params import Params
from viz.instruments.kit import origin


def compute(params: Params) -> maths.Seen:
    """The doodle through the Vision Transformer."""
    return maths.seen(params.own)


def thumbnail() -> str:
    """The class token's look on the doodle that the page opens with, the mean of the last layer's heads."""
    found = compute(Params())
    return thumbs.cells(found.looks(Params().layer, maths.MEAN)[0, 1:].reshape(7, 7))


LESSON = Lesson(
    __file__,
    Params,
    compute,
    (
        Step(steps.words, ("patch",), texts=("own",)),
        Step(steps.looks, ("layer", "head"), texts=("own",)),
        Step(steps.fills, ("share", "draw"), texts=("own",)),
    ),
    of=("own",),
    cost=1_000,
    tells=lambda params, data: origin.tell(model=maths.MODEL, text=params.own, kind="self"),
)
