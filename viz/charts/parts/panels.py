"""Panels below one another in one Altair chart: each with its own range, ticks and title, over one axis across.

One view draws faster than several, and all panels keep one left edge. Heights inside it are whole numbers from 0, the
upper edge, to `WHOLE`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

import altair as alt
import numpy as np

from viz import theme

Axis = TypeVar("Axis", alt.X, alt.Y)
Layers = alt.LayerChart | alt.FacetChart
"""What `alt.layer` gives: altair's own types leave open whether it has facets."""
WHOLE = 10_000
AROUND = {"top": 4, "left": 4, "right": 6, "bottom": 4}
BARE = alt.ViewBackground(strokeWidth=0)


@dataclass(frozen=True)
class Panel:
    """A strip of the picture from `top` to `bottom`, for values from `low` (below) to `high` (above)."""

    top: float
    bottom: float
    low: float
    high: float

    def at(self, value: float) -> float:
        """Where a value stands.

        >>> Panel(0, 100, -1, 1).at(0.5)
        25.0
        """
        return round(
            self.bottom + (self.top - self.bottom) * (float(value) - self.low) / (self.high - self.low), 1
        )


def stacked(ranges: Sequence[tuple[float, float]], *, title: float, gap: float = 0.0) -> list[Panel]:
    """Panels of equal height for these ranges (low, high); `title` is the share of the picture kept free above each, `gap` below.

    >>> [(panel.top, panel.bottom) for panel in stacked([(0, 1), (0, 1)], title=0.1, gap=0.05)]
    [(1000.0, 4500.0), (6000.0, 9500.0)]
    """
    each = WHOLE / len(ranges)
    return [
        Panel(place * each + title * WHOLE, (place + 1) * each - gap * WHOLE, low, high)
        for place, (low, high) in enumerate(ranges)
    ]


def up(
    ticks: Mapping[float, str],
    *,
    grid: bool = True,
    size: int = 13,
    colour: str = theme.MUTED,
    limit: int = 180,
) -> alt.Y:
    """The axis at the left: what is written at which height.

    >>> up({10.2: "one"}).to_dict()["axis"]["labelExpr"]
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
    return alt.Y("y:Q", title=None, scale=alt.Scale(domain=[WHOLE, 0], nice=False), axis=axis)


def rows(found: Sequence[Mapping[str, Any]]) -> alt.Chart:
    """A chart of these rows, still without marks."""
    return alt.Chart(alt.Data(values=found))


def quiet(**more: Any) -> alt.Axis:
    """An axis of labels alone."""
    return alt.Axis(**{"grid": False, "domain": False, "ticks": False, "labelPadding": 7} | more)


def span(low: float, high: float, **more: Any) -> alt.Scale:
    """A scale from here to there, not rounded."""
    return alt.Scale(domain=[low, high], nice=False, **more)


def told(*fields: str | tuple[str, ...]) -> list[alt.Tooltip]:
    """What is told of a mark that is touched: a field, or (field, its name or "", its format).

    >>> [tip.to_dict()["title"] for tip in told("a:N", ("x:Q", "layer")) if "title" in tip.to_dict()]
    ['layer']
    """
    rows = [(*((field,) if isinstance(field, str) else field), "", "") for field in fields]
    return [
        alt.Tooltip(field, title=name or alt.Undefined, format=form or alt.Undefined)
        for field, name, form, *_ in rows
    ]


def named(names: Sequence[Any] | Mapping[float, str]) -> str:
    """An expression for the name, or its lines, of a place: counted from 0, or one of these. JSON, so that no name can leave its quotes.

    >>> named(["a", "b"]), named({0.5: "a"})
    ('["a", "b"][datum.value]', '["a"][indexof([0.5], datum.value)]')
    """
    if isinstance(names, Mapping):
        return f"{json.dumps(list(names.values()))}[indexof({json.dumps(list(names))}, datum.value)]"
    return f"{json.dumps(list(names))}[datum.value]"


def places(names: Sequence[Any], *, apart: tuple[float, float] | None = None, **more: Any) -> alt.Y:
    """Rows by their `place`, each named at the left; `apart` is the room between them and around, `more` the axis's."""
    plain = {
        "labelColor": theme.TEXT,
        "labelPadding": 8,
        "labelFontSize": 14,
        "domain": False,
        "ticks": False,
    }
    axis = alt.Axis(labelExpr=named(names), **{**plain, **more})
    if not apart:
        return alt.Y("place:O", title=None, axis=axis)
    scale = alt.Scale(paddingInner=apart[0], paddingOuter=apart[1])
    return alt.Y("place:O", title=None, axis=axis, scale=scale)


def own(field: str = "colour") -> alt.Color:
    """The colour that each row names."""
    return alt.Color(f"{field}:N", scale=None)


def hue(field: str, colours: Mapping[str, str], legend: alt.Legend | None = None, **more: Any) -> alt.Color:
    """Each name in its colour."""
    scale = alt.Scale(domain=list(colours), range=list(colours.values()))
    return alt.Color(field, scale=scale, legend=legend, **more)


def hues(names: Sequence[str]) -> dict[str, str]:
    """Names in the categorical colours, one after the other."""
    return {name: theme.CATEGORICAL[i % len(theme.CATEGORICAL)] for i, name in enumerate(names)}


def legend(**more: Any) -> alt.Legend:
    """A legend without a title, above the view unless said."""
    return alt.Legend(**{"title": None, "orient": "top", "direction": "horizontal"} | more)


def here(axis: alt.X, place: float) -> alt.Chart:
    """A dotted upright line at a place of the axis."""
    field = str(axis.shorthand).split(":")[0]
    return rows([{field: place}]).mark_rule(strokeDash=[2, 3], color=theme.MUTED).encode(x=axis)


def laid(height: int, *layers: alt.Chart, right: int = 6) -> alt.LayerChart:
    """The layers over one another as one view, as wide as its place."""
    return alt.LayerChart(layer=layers).properties(
        width="container", height=height, padding=AROUND | {"right": right}, view=BARE
    )


def notes(
    rows: Sequence[tuple[float, str]],
    *,
    right: bool = False,
    size: int = 13,
    weight: Literal["normal", "bold"] = "normal",
) -> alt.Chart:
    """Words at the left or right edge of the view, standing on a height.

    >>> notes([(5, "a")]).to_dict()["mark"]["align"]
    'left'
    """
    edge = "right" if right else "left"
    chart = alt.Chart(alt.Data(values=[{"y": height, "text": text} for height, text in rows]))
    return chart.mark_text(
        align=edge, baseline="bottom", fontSize=size, fontWeight=weight, color=theme.TEXT, dy=-3
    ).encode(x=alt.value("width" if right else 0), y="y:Q", text="text:N")


def on(axis: Axis, field: str) -> Axis:
    """The same axis for another field: layers whose axes differ cannot be laid over one another.

    >>> on(alt.X("x:Q", axis=None), "end:Q").to_dict()["axis"], on(alt.X("x:Q"), "end:Q").shorthand
    (None, 'end:Q')
    """
    other = axis.copy(deep=False)
    other.shorthand = field
    return other


def steps(low: float, high: float, most: int = 5) -> list[float]:
    """Round numbers in a range, at most so many.

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
