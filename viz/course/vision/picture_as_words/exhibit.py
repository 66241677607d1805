"""A picture as a sentence of patches: patches as tokens, the class token's attention, and a picture of which most is hidden."""

from __future__ import annotations

from core.data import doodles
from viz.charts import thumbs
from viz.course.exhibit import Exhibit, Step
from viz.course.vision.picture_as_words import maths, promises, steps
from viz.course.vision.picture_as_words.params import Params
from viz.instruments.kit import origin


def compute(params: Params) -> maths.Reading:
    """Run the doodle through the Vision Transformer."""
    return maths.read(params.own)


def thumbnail() -> str:
    """Draw the class token's attention on the opening doodle, the mean of the last layer's heads."""
    found = compute(Params())
    return thumbs.cells(found.looks(Params().layer, maths.MEAN)[0, 1:].reshape(7, 7))


EXHIBIT = Exhibit(
    __file__,
    Params,
    compute,
    (
        Step(steps.words, ("patch",), texts=("own",), promises=promises.PATCHES),
        Step(steps.looks, ("layer", "head"), texts=("own",), promises=promises.CLASS_TOKEN),
        Step(steps.fills, ("share", "draw"), texts=("own",), promises=promises.HIDDEN),
    ),
    compute_fields=("own",),
    cost=1_000,
    tells=lambda params, data: origin.tell(model=maths.MODEL, text=params.own, kind="self"),
    presets=tuple({"own": doodles.as_text(doodles.example(name))} for name in doodles.NAMES if name != "cat"),
)
