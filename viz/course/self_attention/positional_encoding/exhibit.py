"""Positional encoding: waves of different length encode the position of each word."""

from __future__ import annotations

import numpy as np

from viz.charts import thumbs
from viz.course.exhibit import Exhibit, Step
from viz.course.self_attention.positional_encoding import encoding, promises, steps
from viz.course.self_attention.positional_encoding.params import OF_A_PRESET, PRESETS, Params
from viz.course.shared.positions import Formula


def compute(params: Params) -> encoding.Data:
    """Return the table of the chosen formula and the quantities of the chosen view."""
    return encoding.encoded(params)


def thumbnail() -> str:
    """Draw the four waves of d = 8 that are slow enough to be seen over 40 positions."""
    return thumbs.curves(Formula(8, base=400.0).vectors_at(np.linspace(0, 40, 161))[:, :4].T)


EXHIBIT = Exhibit(
    __file__,
    Params,
    compute,
    (Step(steps.vectors, without_data=True, promises=promises.VECTORS),),
    presets=tuple({field: getattr(preset, field) for field in OF_A_PRESET} for preset in PRESETS.values()),
)
