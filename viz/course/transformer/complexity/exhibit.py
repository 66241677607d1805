"""Costs of a layer: self-attention against recurrence over length and width, by the table, counted, and measured."""

from __future__ import annotations

import numpy as np

from viz.charts import thumbs
from viz.course.exhibit import Exhibit, Step
from viz.course.transformer.complexity import clock, maths, promises, steps
from viz.course.transformer.complexity.params import N, Params


def compute(params: Params) -> maths.Data:
    """Compute both layers at the visitor's n and p, and over all lengths."""
    lengths = tuple(dict.fromkeys(int(n) for n in np.geomspace(N[0], N[-1], 60).round()))
    return maths.compare(params.n, params.p, lengths, count_all=params.whole)


def thumbnail() -> str:
    """Draw both cost curves over the length, logarithmic: they cross at n = p."""
    return thumbs.curves([np.log(np.array(values, float)) for values in compute(Params()).curves.values()])


EXHIBIT = Exhibit(
    __file__,
    Params,
    compute,
    (
        Step(steps.count, ("n", "p", "whole"), promises=promises.COUNT),
        Step(steps.table, ("n", "p"), promises=promises.TABLE),
        Step(steps.path, ("n",), promises=promises.PATH),
        Step(steps.memory, ("n", "p"), promises=promises.MEMORY),
        Step(clock.measured, promises=promises.CLOCK),
    ),
    presets=({"whole": True}, *({"width": width} for width in maths.WIDTHS)),
)
