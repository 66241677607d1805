"""ALBERT in three steps: a table in two factors, layers that share their weights, the order of two texts."""

from __future__ import annotations

from viz.charts import thumbs
from viz.course.bert.albert import maths, order, promises, steps
from viz.course.bert.albert.params import NAMES, Params
from viz.course.exhibit import Exhibit, Step


def compute(params: Params) -> None:
    """Return nothing: each step computes its own numbers."""


def thumbnail() -> str:
    """Draw the parameters of Base's layers by what is shared."""
    return thumbs.bars([maths.counted(choice)[0] for choice in NAMES], list(NAMES.values()), marked=3)


EXHIBIT = Exhibit(
    __file__,
    Params,
    compute,
    (
        Step(steps.factors, ("V", "E", "H"), promises=promises.FACTORS),
        Step(steps.sharing, ("shared",), change=("shape",), promises=promises.SHARING),
        Step(order.side_by_side, ("draw",), promises=promises.ORDER),
    ),
    presets=({"shape": "Large"},),
)
