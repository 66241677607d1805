"""Tensors as small heat pictures, one below the other: what goes into a box and what comes out of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from viz import theme
from viz.charts.parts.figures import draw_once
from viz.labels import plotly_label
from viz.languages import _

Array = np.ndarray[Any, np.dtype[Any]]
NAME = 24
"""Pixels above a picture, for its name."""


@dataclass(frozen=True, eq=False)
class Panel:
    """A matrix (row, column) with its name and the names of its rows; `weights` go from 0 to 1, others around 0 to `limit`.

    marked: a row that is framed. keep_spaces: the names of the rows are words of ours, whose spaces stay.
    """

    name: str
    values: Array
    rows: Sequence[str] = ()
    weights: bool = False
    limit: float | None = None
    marked: int | None = None
    keep_spaces: bool = False
    columns: Array | None = None
    """The number of each column in its vector, where not every one is drawn."""


def side_by_side(maps: Array, gap: int = 1) -> Array:
    """Return matrices (map, row, column) as one, with empty columns between them.

    >>> side_by_side(np.ones((2, 1, 2))).tolist()
    [[1.0, 1.0, nan, 1.0, 1.0]]
    """
    empty = np.full((maps.shape[1], gap), np.nan)
    pieces = [piece for each in maps for piece in (each, empty)]
    return np.concatenate(pieces[:-1], axis=1)


@draw_once
def tensors(
    panels: Sequence[Panel], *, height: int = 330, room: bool = False, most: int | None = None
) -> go.Figure:
    """Return the panels as one figure of `height` pixels, shared by their rows; where a row is lower than its letters (larger in a `room`), not every row is named.

    Of vectors, not of weights, at most `most` numbers are drawn, at equal distances, and the name of the panel counts them.

    >>> [trace.zmax for trace in tensors([Panel("X", np.array([[1.0, -2.0]])), Panel("a", np.eye(2), weights=True)]).data]
    [2.0, 1.0]
    >>> tensors([Panel("X", np.eye(3, 512))], most=32).layout.annotations[0].text
    'X, 32 of its 512 numbers'
    """
    letters = 18 if room else 12
    name = NAME + letters - 12
    left = height - name * len(panels) - 6
    counts = np.array([max(len(panel.values), 2) for panel in panels], float)
    shares = counts / counts.sum()
    figure = make_subplots(
        rows=len(panels),
        cols=1,
        row_heights=shares.tolist(),
        vertical_spacing=min(name / height, 0.9 / max(1, len(panels) - 1)),
    )
    for number, panel in enumerate(panels, 1):
        _panel(figure, number, _thinned(panel, most), left * float(shares[number - 1]), letters)
    figure.update_xaxes(visible=False, fixedrange=True)
    figure.update_layout(
        template=theme.template(),
        height=height,
        margin={"l": 4, "r": 4, "t": name, "b": 4},
        hovermode="closest",
    )
    return figure


def _thinned(panel: Panel, most: int | None) -> Panel:
    width = panel.values.shape[1]
    if panel.weights or most is None or width <= most:
        return panel
    columns = np.linspace(0, width - 1, most).round().astype(int)
    name = _("{name}, {most} of its {width} numbers", name=panel.name, most=most, width=width)
    return replace(panel, name=name, values=panel.values[:, columns], columns=columns)


def _panel(figure: go.Figure, number: int, panel: Panel, pixels: float, letters: int) -> None:
    values = np.asarray(panel.values, dtype=np.float32)
    limit = 1.0 if panel.weights else panel.limit or float(np.nanmax(np.abs(values), initial=0.0)) or 1.0
    colours = theme.SEQUENTIAL if panel.weights else theme.DIVERGING
    figure.add_trace(
        go.Heatmap(
            z=values,
            zmin=0.0 if panel.weights else -limit,
            zmax=limit,
            showscale=False,
            hoverongaps=False,
            colorscale=[[i / (len(colours) - 1), colour] for i, colour in enumerate(colours)],
            customdata=None if panel.columns is None else np.broadcast_to(panel.columns, values.shape),
            hovertemplate=f"row %{{y}}, number %{{{'x' if panel.columns is None else 'customdata'}}}: %{{z:.4f}}<extra></extra>",
        ),
        row=number,
        col=1,
    )
    n = len(values)
    every = max(1, int(np.ceil(n * (letters + 1) / max(pixels, 1))))
    shown = list(range(0, n, every))
    names = [
        plotly_label(name).replace("·", " ") if panel.keep_spaces else plotly_label(name)
        for name in panel.rows
    ]
    figure.update_yaxes(
        tickvals=shown,
        ticktext=[names[i] for i in shown] if len(names) == n else [""] * len(shown),
        range=[n - 0.5, -0.5],
        showgrid=False,
        zeroline=False,
        fixedrange=True,
        ticks="",
        tickfont={"size": 12, "color": theme.TEXT},
        row=number,
        col=1,
    )
    if panel.marked is not None:
        figure.add_shape(
            type="rect",
            x0=-0.5,
            x1=values.shape[1] - 0.5,
            y0=panel.marked - 0.5,
            y1=panel.marked + 0.5,
            line={"color": theme.TEXT, "width": 2},
            row=number,
            col=1,
        )
    axis = "" if number == 1 else str(number)
    figure.add_annotation(
        text=plotly_label(panel.name).replace("·", " "),
        xref="paper",
        x=0,
        xanchor="left",
        yref=f"y{axis} domain",
        y=1,
        yanchor="bottom",
        showarrow=False,
        font={"size": 13, "color": theme.TEXT},
    )
