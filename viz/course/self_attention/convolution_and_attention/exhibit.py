"""Convolution and attention: what is near, gathered by dilated convolutions; what is far, fetched by attention."""

from __future__ import annotations

import numpy as np

from viz.charts import thumbs
from viz.course.exhibit import Exhibit, Step
from viz.course.self_attention.convolution_and_attention import maths, promises, steps
from viz.course.self_attention.convolution_and_attention.params import TEXTS, Params
from viz.instruments.kit import origin


def compute(params: Params) -> steps.Data:
    """Return the runs of the text with everything on, with each half off, and with the chosen switches."""
    return steps.Data(
        params.signs,
        maths.truth(params.signs),
        {
            "both": maths.read(params.signs),
            "convolutions": maths.read(params.signs, attends=False),
            "attention": maths.read(params.signs, convolves=False),
        },
        maths.read(params.signs, convolves=params.convolves, attends=params.attends),
    )


def thumbnail() -> str:
    """Draw the positions that reach each of three levels of dilated convolutions."""
    levels = maths.tree((1, 2, 4), 15)
    return thumbs.cells(
        np.array([[float(place in level) for place in range(8, 16)] for level in levels[::-1]])
    )


EXHIBIT = Exhibit(
    __file__,
    Params,
    compute,
    (
        Step(steps.guess, ("draw",), texts=("own",), promises=promises.GUESS),
        Step(steps.field, ("draw",), texts=("own",), promises=promises.FIELD),
        Step(
            steps.together,
            ("convolves", "attends", "layer", "draw"),
            texts=("own",),
            promises=promises.TOGETHER,
        ),
        Step(steps.trained, ("draw",), promises=promises.TRAINED),
    ),
    presets=tuple({"own": text} for text in TEXTS),
    compute_fields=("signs", "convolves", "attends"),
    cost=lambda params: 20 * len(params.signs),
    tells=lambda params, data: origin.tell(model=maths.MODEL, text=params.signs),
)
