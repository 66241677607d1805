"""Bars in lanes, one lane below the other: the numbers of one word, or one number for each word."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from viz import theme
from viz.labels import plain, shorten

Array = np.ndarray[Any, np.dtype[Any]]
TICKS = 24
LETTERS = 10


@dataclass(frozen=True)
class Lane:
    """A name above the lane and its values (place,), None while they are covered; a colour by number.

    `limits` are the ends of the lane's axis, None for those of all lanes without; `band` is shaded (from, to);
    `marked` bars are strong and the others pale, None: all strong. `places` are the decimals under the pointer.
    """

    name: str
    values: Array | None
    hue: int = 0
    limits: tuple[float, float] | None = None
    band: tuple[float, float] | None = None
    marked: frozenset[int] | None = None
    places: int = 3


def bar_lanes(lanes: Sequence[Lane], *, labels: Sequence[str] = (), x_title: str = "", across: bool = False, height: int = 340) -> go.Figure:
    """The lanes over the same places: `labels` name them, without labels they are counted from 1. `across`: side by side.

    >>> figure = bar_lanes([Lane("x", np.array([1.0, -2.0])), Lane("?", None)])
    >>> [trace.type for trace in figure.data], figure.layout.yaxis.range
    (['bar', 'scatter'], (-2.2, 2.2))
    """
    known = [lane.values for lane in lanes if lane.values is not None]
    n = max([len(values) for values in known] + [len(labels), 1])
    shared = max([float(np.abs(lane.values).max(initial=0)) for lane in lanes if lane.values is not None and lane.limits is None] + [1e-9])
    low = -shared if any((lane.values < 0).any() for lane in lanes if lane.values is not None and lane.limits is None) else 0.0
    below = {"rows": len(lanes), "cols": 1, "shared_xaxes": True, "vertical_spacing": min(0.36 / len(lanes), 0.15) if len(lanes) > 1 else 0}
    figure = make_subplots(**({"rows": 1, "cols": len(lanes), "horizontal_spacing": 0.07} if across else below))
    for place, lane in enumerate(lanes, start=1):
        _lane(figure, (1, place) if across else (place, 1), lane, lane.limits or (1.1 * low, 1.1 * shared), labels)
    figure.update_xaxes(range=[-0.6, n - 0.4], showgrid=False, zeroline=False, fixedrange=True)
    if labels:
        words = [plain(shorten(label, LETTERS)) for label in labels]
        figure.update_xaxes(tickvals=list(range(n)), ticktext=words, tickangle=0 if max(map(len, words)) < 3 or (n <= 8 and max(map(len, words)) < 8) else -50)
    else:
        step = max(1, round(n / (4 if across and len(lanes) > 2 else 8)))
        figure.update_xaxes(tickvals=list(range(step - 1, n, step)), ticktext=[str(place + 1) for place in range(step - 1, n, step)], tickangle=0)
    figure.update_xaxes(title_text=_said(x_title) if x_title else None, row=1 if across else len(lanes), col=1)
    figure.update_layout(template=theme.template(), height=height, margin={"l": 8, "r": 10, "t": 28, "b": 8}, bargap=0.25, showlegend=False)
    return figure


def _lane(figure: go.Figure, cell: tuple[int, int], lane: Lane, ends: tuple[float, float], labels: Sequence[str]) -> None:
    row, col = cell
    axis = str(max(cell)) if max(cell) > 1 else ""
    inside = {"xref": f"x{axis} domain", "yref": f"y{axis} domain", "showarrow": False}
    figure.add_annotation(
        text=_said(lane.name), x=0, xanchor="left", y=1, yanchor="bottom", font={"size": 14, "color": theme.CATEGORICAL[lane.hue]}, **inside
    )  # fmt: skip
    figure.update_yaxes(range=list(ends), nticks=4, zeroline=True, fixedrange=True, row=row, col=col)
    if lane.values is None:  # an axis without a trace is not drawn, and its words would fall on another's
        figure.add_scatter(x=[0], y=[0], opacity=0, hoverinfo="skip", row=row, col=col)
        figure.add_annotation(text="?", x=0.5, y=0.5, font={"size": 30, "color": theme.MUTED}, **inside)
        return
    if lane.band:
        figure.add_shape(type="rect", x0=0, x1=1, xref=f"x{axis} domain", y0=lane.band[0], y1=lane.band[1], yref=f"y{axis}", layer="below",
                         fillcolor=theme.SURFACE, line={"width": 0})  # fmt: skip
    n = len(lane.values)
    strong = [lane.marked is None or place in lane.marked for place in range(n)]
    names = [plain(label) for label in labels] or [f"number {place + 1}" for place in range(n)]
    figure.add_bar(
        x=np.arange(n), y=lane.values.astype(np.float64), customdata=names, name=_said(lane.name), row=row, col=col,
        marker={"color": theme.CATEGORICAL[lane.hue], "opacity": [1.0 if on else 0.5 for on in strong], "line": {"width": 0}},
        hovertemplate=f"%{{customdata}}: %{{y:.{lane.places}f}}<extra></extra>",
    )  # fmt: skip


def _said(text: str) -> str:
    """A phrase as Plotly text: never markup, its spaces left alone."""
    return plain(text).replace("·", " ")
