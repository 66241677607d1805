"""Many heads: one projection, split into heads that attend separately and are concatenated again."""

from __future__ import annotations

from viz.charts import thumbs
from viz.course.exhibit import Exhibit, Step
from viz.course.self_attention.many_heads import independence, maths, promises, steps
from viz.course.self_attention.many_heads.params import PART_COUNTS, Params


def compute(params: Params) -> maths.Ways:
    """Return the runs of the layer, before and after head 1 is re-initialised. Errors: InputError where the heads do not divide
    d."""
    return maths.ways(params.sizes, params.draw, params.redrawn)


def thumbnail() -> str:
    """Draw the weights of both heads, one below the other."""
    params = Params()
    return thumbs.cells(compute(params).way.pattern[0].reshape(-1, params.n).T)


EXHIBIT = Exhibit(
    __file__,
    Params,
    compute,
    (
        Step(steps.read, ("b",), promises=promises.READ),
        Step(steps.split, ("b",), promises=promises.SPLIT),
        Step(steps.attend, ("b",), promises=promises.ATTEND),
        Step(steps.merge, ("b",), promises=promises.MERGE),
        Step(independence.redraw, ("redrawn", "b"), promises=promises.REDRAW),
        Step(independence.several, ("wanted", "b"), promises=promises.SEVERAL),
    ),
    compute_fields=("b", "n", "d", "h", "draw", "redrawn"),
    cost=10,
    presets=tuple({"wanted": wanted} for wanted in PART_COUNTS),
)
