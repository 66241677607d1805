"""Letters over frames: a sound on one axis, what is spelled on the other, and the attention weights between them."""

from __future__ import annotations

from viz.charts import thumbs
from viz.course.exhibit import Exhibit, Step
from viz.course.vision.letters_over_frames import limits, maths, promises, steps
from viz.course.vision.letters_over_frames.params import TEXTS, Params
from viz.instruments.kit import origin


def compute(params: Params) -> maths.Heard:
    """Run the sound through the speller."""
    return maths.listened(params.text)


def thumbnail() -> str:
    """Draw the weights of the sound that the page opens with."""
    return thumbs.cells(compute(Params()).weights)


LOUD = ("speed", "noise", "seed")
EXHIBIT = Exhibit(
    __file__,
    Params,
    compute,
    (
        Step(steps.guess, ("voice",), change=LOUD, texts=("own",), promises=promises.GUESS),
        Step(steps.diagonal, ("voice",), change=LOUD, texts=("own",), promises=promises.DIAGONAL),
        Step(steps.stretch, ("rate",), change=("voice", "noise"), texts=("own",), promises=promises.STRETCH),
        Step(steps.pyramid, ("voice",), texts=("own",), promises=promises.PYRAMID),
        Step(limits.noise, ("seed",), promises=promises.NOISE),
        Step(limits.length, ("seed",), promises=promises.LENGTH),
    ),
    compute_fields=("own", "voice", "speed", "noise", "seed"),
    cost=lambda params: 60 * len(params.own),
    tells=lambda params, data: origin.tell(
        model=maths.MODEL, text=params.text, second_text=data.output, kind="alignment"
    ),
    presets=tuple({"own": text} for text in TEXTS[1:]),
)
