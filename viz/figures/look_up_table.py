"""A small table with shaded numbers beside its rows, and how those numbers sharpen; a memory, its weights and what is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from viz import theme
from viz.labels import plain, shorten

Array = np.ndarray[Any, np.dtype[Any]]
SHADE, LETTER, ROW = 62.0, 7.3, 40
"""Widths of a shaded column and of a letter, height of a row."""
MOST = 14
"""Letters of a cell: a phone has no room for more."""


def look_up_table(
    columns: Sequence[str], rows: Sequence[Sequence[str]], shades: Mapping[str, Sequence[float] | Array | None], number: str = "{:.2f}"
) -> go.Figure:
    """Each row as text; before it its number in each of `shades`, from 0 to 1 (whole ones as they are), or a question mark for None.

    Rows are strong by their number in the last of the shades.

    >>> figure = look_up_table(["ID"], [["007"], ["<b>"]], {"similarity": [1, 0]})
    >>> [a.text for a in figure.layout.annotations]
    ['similarity', '1', '0', 'ID', '<b>007</b>', '&lt;b&gt;']
    """
    figure, x = go.Figure(), 0.0
    last = list(shades.values())[-1]
    for name, values in shades.items():
        _write(figure, x + SHADE / 2, -0.95, name, theme.MUTED, "center", 13)
        for r in range(len(rows)):
            value = 0.0 if values is None else float(values[r])
            colour = theme.SEQUENTIAL[round(min(1.0, max(0.0, value)) * (len(theme.SEQUENTIAL) - 1))]
            figure.add_shape(type="rect", x0=x + 4, x1=x + SHADE - 4, y0=r - 0.42, y1=r + 0.42, fillcolor=colour, line={"color": theme.LINE, "width": 1})
            _write(figure, x + SHADE / 2, r, "?" if values is None else str(values[r]) if isinstance(values[r], int) else number.format(value), theme.BACKGROUND if value > 0.5 else theme.TEXT, "center", 15)
        x += SHADE + 4
    for c, name in enumerate(columns):
        cells = [shorten(str(row[c]), MOST) for row in rows]
        _write(figure, x, -0.95, name, theme.MUTED, "left", 13)
        for r, cell in enumerate(cells):
            strong = last is not None and last[r] == max(last) and last[r] > 0
            _write(figure, x, r, cell, theme.TEXT if last is None or strong else theme.MUTED, "left", 14, strong)
        x += LETTER * max(map(len, [*cells, name]), default=1) + 14
    figure.update_xaxes(visible=False, range=[0, max(x, 330)], fixedrange=True)
    figure.update_yaxes(visible=False, range=[len(rows) - 0.4, -1.3], fixedrange=True)
    figure.add_scatter(x=[0], y=[0], mode="markers", marker={"opacity": 0}, hoverinfo="skip")
    figure.update_layout(template=theme.template(), height=ROW * (len(rows) + 1) + 12, margin={"l": 0, "r": 0, "t": 2, "b": 2}, showlegend=False)
    return figure


def _write(figure: go.Figure, x: float, y: float, text: str, colour: str, align: str, size: int, strong: bool = False) -> None:
    words = plain(text).replace("·", " ")
    figure.add_annotation(x=x, y=y, text=f"<b>{words}</b>" if strong else words, showarrow=False, xanchor=align, yanchor="middle", font={"size": size, "color": colour})


def sharpening(names: Sequence[str], x: Array, weights: Array, marked: float) -> go.Figure:
    """Weights (name, point) over the sharpness x (point,), equal steps for 1 + x; `marked` is where we are.

    >>> sharpening(["a", "b"], np.array([0.0, 1.0]), np.array([[0.5, 0.7], [0.5, 0.3]]), 1).data[1].y
    (0.5, 0.3)
    """
    figure, place = go.Figure(), np.log10(1 + x)
    for n, name in enumerate(names):
        colour = theme.CATEGORICAL[n % len(theme.CATEGORICAL)]
        figure.add_scatter(x=place, y=[float(w) for w in weights[n]], mode="lines", name=plain(shorten(name, 16)).replace("·", " "),
                           line={"color": colour, "width": 2.5, "dash": ("solid", "dash", "dot")[n % 3]},
                           customdata=x, hovertemplate=f"{plain(name)}, sharpness %{{customdata:.1f}}: %{{y:.3f}}<extra></extra>")  # fmt: skip
    ticks = [tick for tick in (0, 1, 2, 5, 10, 20, 50) if tick <= x.max()]
    figure.add_vline(x=float(np.log10(1 + marked)), line={"color": theme.TEXT, "width": 1.5})
    figure.update_xaxes(title_text="sharpness", tickvals=[float(np.log10(1 + tick)) for tick in ticks], ticktext=[str(tick) for tick in ticks], zeroline=False, showgrid=False, fixedrange=True)
    figure.update_yaxes(title_text="weight", range=[-0.03, 1.05], zeroline=False, fixedrange=True, nticks=5)
    figure.update_layout(template=theme.template(), height=260, margin={"l": 8, "r": 12, "t": 30, "b": 8}, legend={"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"})
    return figure


def memory(table: Array, weights: Array, vector: Array, key: Array | None = None, blind: bool = False) -> go.Figure:
    """The rows of a memory with their weights before them and what is read below; the key that asked above. All signed.

    `blind`: weights and what is read are question marks.

    >>> memory(np.eye(2), np.array([0.75, 0.25]), np.array([0.75, 0.25])).data[0].z.shape
    (2, 2)
    """
    rows, width = table.shape
    limit = float(max(1.0, np.abs(table).max(), 0.0 if key is None else np.abs(key).max()))
    scale = [[i / (len(theme.DIVERGING) - 1), colour] for i, colour in enumerate(theme.DIVERGING)]
    grid, lines = [table.astype(float)], [(float(r), table[r]) for r in range(rows)]
    figure = go.Figure(go.Heatmap(z=grid[0], x=list(range(width)), y=list(range(rows)), zmin=-limit, zmax=limit, colorscale=scale, showscale=False, hoverinfo="skip", xgap=2, ygap=2))
    extra = [(rows + 0.6, vector, "r, what is read"), *([] if key is None else [(-1.6, key, "k, the key that asks")])]
    for y, values, name in extra:
        figure.add_trace(go.Heatmap(z=[values.astype(float)], x=list(range(width)), y=[y], zmin=-limit, zmax=limit, colorscale=scale, showscale=False, hoverinfo="skip", xgap=2))
        lines.append((y, values))
        _write(figure, -0.75, y, name, theme.TEXT, "right", 14, True)
    for y, values in lines:
        for c, value in enumerate(values):
            dark = abs(float(value)) > 0.55 * limit
            told = "?" if blind and y == rows + 0.6 else f"{value:.2f}".replace("-", "−")
            _write(figure, c, y, told, theme.BACKGROUND if dark else theme.TEXT, "center", 14 if rows <= 6 else 12)
    for r, weight in enumerate(weights):
        figure.add_shape(type="rect", x0=-0.75 - float(weight), x1=-0.75, y0=r - 0.32, y1=r + 0.32, fillcolor=theme.PRIMARY, line={"width": 0})
        _write(figure, -0.8 - float(weight), r, "w = ?" if blind else f"w = {weight:.4f}", theme.TEXT, "right", 14 if rows <= 6 else 12)
    figure.update_xaxes(visible=False, range=[-3.1, width - 0.4], fixedrange=True)
    figure.update_yaxes(visible=False, range=[rows + 1.2, -2.2 if key is not None else -0.6], fixedrange=True)
    figure.update_layout(template=theme.template(), height=(34 if rows <= 6 else 26) * (rows + 4), margin={"l": 0, "r": 0, "t": 2, "b": 2}, showlegend=False)
    return figure
