"""Letters over frames: a sound on one axis, what is spelled on the other, and the attention weights between them."""

from __future__ import annotations

from viz.charts import thumbs
from viz.course.lesson import Lesson, Step
from viz.course.vision.letters_over_frames import limits, maths, steps
from viz.course.vision.letters_over_frames.params import Params
from viz.instruments.kit import origin


def compute(params: Params) -> maths.Heard:
    """The sound through the speller."""
    return maths.listened(params.text)


def thumbnail() -> str:
    """The weights of the sound that the page opens with."""
    return thumbs.cells(compute(Params()).weights)


LOUD = ("speed", "noise", "seed")
LESSON = Lesson(
    __file__,
    Params,
    compute,
    (
        Step(steps.guess, ("voice",), change=LOUD, texts=("own",)),
        Step(steps.diagonal, ("voice",), change=LOUD, texts=("own",)),
        Step(steps.stretch, ("rate",), change=("voice", "noise"), texts=("own",)),
        Step(steps.pyramid, ("voice",), texts=("own",)),
        Step(limits.noise, ("seed",)),
        Step(limits.length, ("seed",)),
    ),
    of=("own", "voice", "speed", "noise", "seed"),
    cost=lambda params: 60 * len(params.own),
    tells=lambda params, data: origin.tell(
        model=maths.MODEL, text=params.text, beside=data.written, kind="alignment"
    ),
)
