"""What many draws come to: the distance of their mean from what it estimates, and estimates with their error bars."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from viz import theme
from viz.labels import plain

Array = np.ndarray[Any, np.dtype[Any]]


def nearing(n: Array, distance: Array, expect: Array, *, at: int, unit: str, height: int = 300) -> go.Figure:
    """How far the mean of n draws is from the soft read, on two logarithmic axes, beside what chance alone lets expect.

    Shapes: n, distance, expect (point,).

    >>> nearing(np.array([1, 100]), np.array([0.5, 0.05]), np.array([0.4, 0.04]), at=100, unit="colour").data[1].name
    'these draws'
    """
    figure = go.Figure()
    figure.add_scatter(x=n.tolist(), y=expect.tolist(), mode="lines", name="expected: 1/√n", line={"color": theme.MUTED, "width": 2, "dash": "dash"},
                       hovertemplate="n = %{x}: %{y:.4f} expected<extra></extra>")  # fmt: skip
    figure.add_scatter(x=n.tolist(), y=np.maximum(distance, 1e-6).tolist(), mode="lines+markers", name="these draws", line={"color": theme.CATEGORICAL[1], "width": 2},
                       marker={"size": 5}, hovertemplate="n = %{x}: %{y:.4f} away<extra></extra>")  # fmt: skip
    figure.update_xaxes(type="log", title_text="n, draws", showgrid=False, fixedrange=True, dtick=1)
    figure.update_yaxes(type="log", title_text=f"distance, {plain(unit).replace('·', ' ')}", fixedrange=True, dtick=1)
    figure.add_vline(x=at, line={"color": theme.MUTED, "width": 1, "dash": "dot"})
    figure.update_layout(template=theme.template(), height=height, margin={"l": 8, "r": 12, "t": 30, "b": 8},
                         legend={"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"})  # fmt: skip
    return figure


def guesses(names: Sequence[str], exact: Array, rows: Sequence[tuple[str, Array, Array]], *, height: int = 380) -> go.Figure:
    """Exact numbers as ticks, and estimates of them as dots with bars of two standard errors.

    rows: (name, estimate, standard error), each (name,). Shapes: exact (name,).

    >>> figure = guesses(["A1"], np.array([0.2]), [("plain", np.array([0.1]), np.array([0.05]))])
    >>> figure.data[0].error_x.array.tolist(), figure.data[-1].name
    ([0.1], 'exact')
    """
    figure, places = go.Figure(), np.arange(len(names), dtype=float)
    for row, (name, value, error) in enumerate(rows):
        colour = theme.CATEGORICAL[(1, 2, 3)[row]]
        figure.add_scatter(
            x=value, y=places + 0.2 * (row - (len(rows) - 1) / 2), mode="markers", name=plain(name).replace("·", " "),
            marker={"color": colour, "size": 8}, error_x={"type": "data", "array": 2 * error, "color": colour, "thickness": 2, "width": 0},
            hovertemplate="%{x:.4f}<extra></extra>",
        )  # fmt: skip
    figure.add_scatter(
        x=exact, y=places, mode="markers", name="exact", hovertemplate="exactly %{x:.4f}<extra></extra>",
        marker={"symbol": "line-ns", "size": 20, "line": {"color": theme.TEXT, "width": 3}, "color": theme.TEXT},
    )  # fmt: skip
    figure.update_yaxes(tickvals=places.tolist(), ticktext=[plain(name).replace("·", " ") for name in names], range=[len(names) - 0.5, -0.5],
                        fixedrange=True, zeroline=False)  # fmt: skip
    figure.update_xaxes(title_text="change of the reward by the patch's score", zeroline=True, zerolinecolor=theme.MUTED, fixedrange=True)
    figure.update_layout(template=theme.template(), height=height, margin={"l": 8, "r": 12, "t": 34, "b": 8},
                         legend={"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"})  # fmt: skip
    return figure
