"""Panels below one another in one Altair chart: each with its own range, ticks and title, over one axis across.

One view draws faster than several, and all panels keep one left edge. Heights inside it are whole numbers from 0, the
upper edge, to `EXTENT`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

import altair as alt
import numpy as np

from viz import theme
from viz.charts.parts import vega

Axis = TypeVar("Axis", alt.X, alt.Y)
EXTENT = 10_000


@dataclass(frozen=True)
class Panel:
    """A strip of the picture from `top` to `bottom`, for values from `low` (below) to `high` (above)."""

    top: float
    bottom: float
    low: float
    high: float

    def position(self, value: float) -> float:
        """Return the position of a value in the panel, in the picture's units.

        >>> Panel(0, 100, -1, 1).position(0.5)
        25.0
        """
        return round(
            self.bottom + (self.top - self.bottom) * (float(value) - self.low) / (self.high - self.low), 1
        )


def stacked(ranges: Sequence[tuple[float, float]], *, title: float, gap: float = 0.0) -> list[Panel]:
    """Return panels of equal height for these ranges (low, high); `title` is the share of the picture kept free above each, `gap` below.

    >>> [(panel.top, panel.bottom) for panel in stacked([(0, 1), (0, 1)], title=0.1, gap=0.05)]
    [(1000.0, 4500.0), (6000.0, 9500.0)]
    """
    each = EXTENT / len(ranges)
    return [
        Panel(place * each + title * EXTENT, (place + 1) * each - gap * EXTENT, low, high)
        for place, (low, high) in enumerate(ranges)
    ]


def left_axis(
    ticks: Mapping[float, str],
    *,
    grid: bool = True,
    size: int = 13,
    colour: str = theme.MUTED,
    limit: int = 180,
) -> alt.Y:
    """Return the axis at the left, with a label at each height.

    >>> left_axis({10.2: "one"}).to_dict()["axis"]["labelExpr"]
    '({"10": "one"})[datum.value]'
    """
    told = {str(round(height)): name for height, name in ticks.items()}
    axis = alt.Axis(
        values=[int(height) for height in told],
        labelExpr=f"({json.dumps(told)})[datum.value]",
        grid=grid,
        domain=False,
        ticks=False,
        labelPadding=7,
        labelFontSize=size,
        labelColor=colour,
        labelLimit=limit,
        labelOverlap=False,
    )
    return alt.Y("y:Q", title=None, scale=alt.Scale(domain=[EXTENT, 0], nice=False), axis=axis)


def edge_labels(
    rows: Sequence[tuple[float, str]],
    *,
    right: bool = False,
    size: int = 13,
    weight: Literal["normal", "bold"] = "normal",
) -> alt.Chart:
    """Return labels at the left or right edge of the view, each at a height.

    >>> edge_labels([(5, "a")]).to_dict()["mark"]["align"]
    'left'
    """
    edge = "right" if right else "left"
    chart = vega.rows({"y": height, "text": text} for height, text in rows)
    return chart.mark_text(
        align=edge, baseline="bottom", fontSize=size, fontWeight=weight, color=theme.TEXT, dy=-3
    ).encode(x=alt.value("width" if right else 0), y="y:Q", text="text:N")


def with_field(axis: Axis, field: str) -> Axis:
    """Return the same axis for another field: layers with different axes cannot be laid over one another.

    >>> with_field(alt.X("x:Q", axis=None), "end:Q").to_dict()["axis"], with_field(alt.X("x:Q"), "end:Q").shorthand
    (None, 'end:Q')
    """
    other = axis.copy(deep=False)
    other.shorthand = field
    return other


def steps(low: float, high: float, most: int = 5) -> list[float]:
    """Return round numbers from `low` to `high`, at most `most` of them.

    >>> steps(0.0, 1.0), steps(-6.2, 0.0), steps(0, 19)
    ([0.0, 0.25, 0.5, 0.75, 1.0], [-6.0, -4.0, -2.0, 0.0], [0.0, 5.0, 10.0, 15.0])
    """
    span = (high - low) or 1.0
    power = 10.0 ** np.floor(np.log10(span / most))
    step = next(
        size * power
        for size in (1, 2, 2.5, 5, 10, 20)
        if np.floor(high / (size * power) + 1e-9) - np.ceil(low / (size * power) - 1e-9) + 1 <= most
    )
    first, last = int(np.ceil(low / step - 1e-9)), int(np.floor(high / step + 1e-9))
    return [round(float(i * step), 9) + 0.0 for i in range(first, last + 1)]
