"""A recurrent network unrolled: each state is a tile of its numbers, lane below lane, arrows where they are handed on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from viz import theme
from viz.labels import plain

GAP = 0.14
"""Of a tile's width, between two tiles."""
ABOVE = 27
"""Pixels above a lane, for its name and the labels of its tiles."""


@dataclass(frozen=True)
class Lane:
    """States (step, d), each drawn as a tile of `rows` rows; `shown` counts those that are there (`back`: from the right).

    `labels` stand above the tiles, `start` is the place of the first tile, `marked` frames one.
    """

    name: str
    values: np.ndarray
    labels: Sequence[str] = ()
    rows: int = 4
    shown: int | None = None
    back: bool = False
    start: float = 0.0
    marked: int | None = None
    arrows: bool = True


def unrolled(lanes: Sequence[Lane], *, limit: float = 1.0, pixels: float = 9.0, hands: Sequence[tuple[int, float, int, float]] = (), large: float = 1.0) -> go.Figure:
    """The lanes from top to bottom, all numbers on one scale from -limit to limit.

    `pixels` is the height of one row of numbers; `large` how much larger than usual names and labels will be drawn; `hands` are arrows (lane, place, lane, place) from the foot of one tile
    to the head of another.

    >>> figure = unrolled([Lane("h", np.zeros((3, 8)), "abc"), Lane("c", np.ones((1, 8)), start=1)])
    >>> [trace.z.shape for trace in figure.data]
    [(4, 8), (4, 2)]
    """
    figure, top, tops, longest = go.Figure(), 0.0, [], 1.0
    for lane in lanes:
        top += large * (ABOVE + (20 if lane.name and len(lane.labels) else 0))
        tops.append(top)
        _lane(figure, lane, top, pixels, limit, large)
        top += lane.rows * pixels + 6
        longest = max(longest, lane.start + len(lane.values))
    words = figure.layout.annotations
    for first, here, second, there in hands:
        foot = tops[first] + lanes[first].rows * pixels
        head = tops[second] - (4 if not len(lanes[second].labels) else 20 * large)
        figure.add_annotation(x=there, y=head, ax=here, ay=foot + 2, xref="x", yref="y", axref="x", ayref="y", text="",
                              showarrow=True, arrowhead=2, arrowsize=1, arrowwidth=1.6, arrowcolor=theme.MUTED)  # fmt: skip
    figure.layout.annotations = (*figure.layout.annotations[len(words):], *words)  # arrows below the names they cross
    figure.update_xaxes(visible=False, range=[-0.52, longest - 0.48], fixedrange=True)
    figure.update_yaxes(visible=False, range=[top, 0], fixedrange=True)
    figure.update_layout(template=theme.template(), height=int(top) + 4, margin={"l": 0, "r": 0, "t": 2, "b": 2}, hovermode="closest")
    return figure


def _lane(figure: go.Figure, lane: Lane, top: float, pixels: float, limit: float, large: float) -> None:
    """One heatmap a lane; between two tiles stands an empty column."""
    n = len(lane.values)
    there = n if lane.shown is None else min(lane.shown, n)
    seen = np.zeros(n, bool)
    seen[n - there if lane.back else 0 : n if lane.back else there] = True
    x, z, told = tiled(np.where(seen[:, None], lane.values, np.nan), lane.rows, lane.start + np.arange(n))
    figure.add_trace(go.Heatmap(
        x=x, y=top + np.arange(lane.rows + 1) * pixels, z=z, customdata=told, zmin=-limit, zmax=limit, zmid=0,
        colorscale=[[i / (len(theme.DIVERGING) - 1), colour] for i, colour in enumerate(theme.DIVERGING)], showscale=False,
        hovertemplate="no. %{customdata}: %{z:.3f}<extra>" + _words(lane.name) + "</extra>", hoverongaps=False, name=_words(lane.name),
    ))  # fmt: skip
    size = 14 if n <= 16 else 12 if n <= 24 else 11
    for place in range(n):
        left = lane.start + place - 0.5 + GAP / 2
        framed = place == lane.marked
        figure.add_shape(
            type="rect", x0=left, x1=left + 1 - GAP, y0=top, y1=top + lane.rows * pixels,
            line={"color": theme.TEXT if framed else theme.LINE, "width": 2.5 if framed else 1},
        )  # fmt: skip
        if place < len(lane.labels):
            figure.add_annotation(
                text=plain(lane.labels[place]), x=lane.start + place, y=top - 2, yanchor="bottom", showarrow=False,
                font={"size": size, "color": theme.TEXT},
            )  # fmt: skip
        if lane.arrows and place + 1 < n and seen[place] and seen[place + 1]:
            ends = (place + 0.5 + GAP / 2, place + 0.5 - GAP / 2)[:: 1 if not lane.back else -1]
            figure.add_annotation(
                x=lane.start + ends[0], ax=lane.start + ends[1], y=top + lane.rows * pixels / 2, ay=top + lane.rows * pixels / 2,
                xref="x", yref="y", axref="x", ayref="y", text="", showarrow=True, arrowhead=2, arrowwidth=1.2, arrowcolor=theme.MUTED,
            )  # fmt: skip
    if lane.name:
        figure.add_annotation(
            text=_words(lane.name), x=0, xref="paper", xanchor="left", y=top - (22 * large if len(lane.labels) else 4),
            yanchor="bottom", showarrow=False, font={"size": 14, "color": theme.MUTED}, bgcolor=theme.BACKGROUND,
        )  # fmt: skip


def tiled(states: np.ndarray, rows: int, places: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """States (step, d) as tiles of `rows` rows around their places: edges along x, values, and the number of each cell.

    Values (rows, columns) with one empty column between two tiles; one edge more than columns.

    >>> x, z, told = tiled(np.arange(4.0).reshape(1, 4), 2, np.array([0.0]))
    >>> x.round(2).tolist(), z.tolist(), told.tolist()
    ([-0.43, 0.0, 0.43], [[0.0, 1.0], [2.0, 3.0]], [[0, 1], [2, 3]])
    """
    n, width = states.shape
    columns = -(-width // rows)
    cells = np.full((n, rows * columns), np.nan)
    cells[:, :width] = states
    z = np.full((rows, n, columns + 1), np.nan)
    z[:, :, :columns] = cells.reshape(n, rows, columns).transpose(1, 0, 2)
    told = np.zeros((rows, n, columns + 1), int)
    told[:, :, :columns] = np.arange(rows * columns).reshape(rows, 1, columns)
    edges = places[:, None] + np.linspace(-0.5 + GAP / 2, 0.5 - GAP / 2, columns + 1)
    return edges.ravel(), z.reshape(rows, -1)[:, :-1], told.reshape(rows, -1)[:, :-1]


def _words(name: str) -> str:
    return plain(name).replace("·", " ")
