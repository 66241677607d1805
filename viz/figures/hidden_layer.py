"""One word inside a feed-forward network: tiles of its numbers on the way, activations as curves, parameters as bars."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from viz import theme
from viz.labels import plain

Array = np.ndarray[Any, np.dtype[Any]]
DIVERGING = [[i / (len(theme.DIVERGING) - 1), colour] for i, colour in enumerate(theme.DIVERGING)]


@dataclass(frozen=True)
class Tile:
    """A name, values (number,) or None while they are covered, how many numbers stand in a row; `marked` is ringed."""

    name: str
    values: Array | None
    across: int
    marked: int | None = None
    called: str = "number"


def through(tiles: Sequence[Tile], *, height: int = 330) -> go.Figure:
    """Vectors as tiles from left to right, each folded into rows, pale is 0; each tile has its own scale, centred on 0.

    >>> [trace.type for trace in through([Tile("x", np.ones(8), 4), Tile("act", None, 4)]).data]
    ['heatmap', 'scatter']
    """
    figure = make_subplots(rows=1, cols=len(tiles), horizontal_spacing=0.09, column_widths=[tile.across for tile in tiles])
    for place, tile in enumerate(tiles, start=1):
        axis = "" if place == 1 else str(place)
        words = {"xref": f"x{axis} domain", "yref": f"y{axis} domain", "showarrow": False}
        figure.add_annotation(text=_said(tile.name), x=0, xanchor="left", y=1, yanchor="bottom", align="left", font={"size": 14, "color": theme.TEXT}, **words)
        if place > 1:
            figure.add_annotation(text="→", x=0, xanchor="right", xshift=-6, y=0.5, font={"size": 22, "color": theme.MUTED}, **words)
        if tile.values is None:  # an axis without a trace is not drawn, and its words would fall on another's
            figure.add_scatter(x=[0], y=[0], opacity=0, hoverinfo="skip", showlegend=False, row=1, col=place)
            figure.add_annotation(text="?", x=0.5, y=0.5, font={"size": 44, "color": theme.MUTED}, **words)
            figure.add_shape(type="rect", x0=0, x1=1, y0=0, y1=1, xref=f"x{axis} domain", yref=f"y{axis} domain", line={"color": theme.LINE, "width": 1}, fillcolor=theme.SURFACE, layer="below")
            continue
        n, rows = len(tile.values), -(-len(tile.values) // tile.across)
        folded = np.full(rows * tile.across, np.nan)
        folded[:n] = tile.values
        limit = float(np.abs(tile.values).max(initial=0)) or 1.0
        figure.add_trace(go.Heatmap(
            z=folded.reshape(rows, tile.across), customdata=np.arange(rows * tile.across).reshape(rows, tile.across), zmin=-limit, zmax=limit, colorscale=DIVERGING, showscale=False,
            xgap=0.5, ygap=0.5, hovertemplate=tile.called + " %{customdata}: %{z:.3f}<extra></extra>", hoverongaps=False, name=_said(tile.name),
        ), row=1, col=place)  # fmt: skip
        figure.add_shape(type="rect", x0=-0.5, x1=tile.across - 0.5, y0=-0.5, y1=rows - 0.5, line={"color": theme.LINE, "width": 1}, row=1, col=place)  # type: ignore[arg-type]
        if tile.marked is not None:
            y, x = divmod(tile.marked, tile.across)
            figure.add_shape(type="rect", x0=x - 0.9, x1=x + 0.9, y0=y - 0.9, y1=y + 0.9, line={"color": theme.TEXT, "width": 2.5}, row=1, col=place)  # type: ignore[arg-type]
    figure.update_xaxes(visible=False, fixedrange=True)
    figure.update_yaxes(visible=False, fixedrange=True, autorange="reversed")
    return figure.update_layout(template=theme.template(), height=height, margin={"l": 4, "r": 4, "t": 50, "b": 6}, dragmode=False)


@dataclass(frozen=True)
class Curve:
    """An activation by name: y over x (point,), a colour by number, whether it is the model's own."""

    name: str
    x: Array
    y: Array
    hue: int
    own: bool = False


def activations(curves: Sequence[Curve], pre: Array, act: Array, at: float, values: Sequence[float], *, highest: float = 2.2, height: int = 380) -> go.Figure:
    """Curves of activations; dots are the word's units on the model's own, below how many have which pre-activation.

    Shapes: pre, act (unit,). `at` is the place of the visitor's number, `values` what each curve says there,
    `highest` the end of the upper axis.

    >>> x = np.linspace(-4, 4, 9)
    >>> len(activations([Curve("relu", x, np.maximum(x, 0), 0, True)], x, np.maximum(x, 0), -1.0, [0.0]).data)
    4
    """
    figure = make_subplots(rows=2, cols=1, shared_xaxes=True, row_heights=[0.72, 0.28], vertical_spacing=0.07)
    end = float(max(abs(curves[0].x[0]), abs(curves[0].x[-1])))
    seen = np.abs(pre) <= end
    for curve, value in zip(curves, values, strict=True):
        colour = theme.CATEGORICAL[curve.hue]
        figure.add_scatter(x=curve.x, y=curve.y, mode="lines", name=_said(curve.name), line={"color": colour, "width": 3 if curve.own else 2, "dash": "solid" if curve.own else "dot"},
                           hovertemplate="%{x:.2f} → %{y:.4f}<extra>" + _said(curve.name) + "</extra>", row=1, col=1)  # fmt: skip
        figure.add_scatter(x=[at], y=[value], mode="markers", showlegend=False, hoverinfo="skip", marker={"size": 12, "color": colour, "line": {"color": theme.BACKGROUND, "width": 2}}, row=1, col=1)
    own = next((curve for curve in curves if curve.own), curves[0])
    figure.add_scatter(x=pre[seen], y=act[seen], mode="markers", showlegend=False, customdata=np.flatnonzero(seen), marker={"size": 6, "color": theme.TEXT, "opacity": 0.35},
                       hovertemplate="unit %{customdata}: %{x:.3f} → %{y:.3f}<extra></extra>", name=_said(own.name), row=1, col=1)  # fmt: skip
    heights, edges = np.histogram(pre[seen], bins=64, range=(-end, end))
    middle = (edges[:-1] + edges[1:]) / 2
    figure.add_bar(x=middle, y=heights, width=edges[1] - edges[0], showlegend=False, marker={"color": [theme.PRIMARY if m > 0 else theme.SEQUENTIAL[3] for m in middle], "line": {"width": 0}},
                   hovertemplate="%{y} units near %{x:.2f}<extra></extra>", row=2, col=1)  # fmt: skip
    figure.add_vline(x=at, line={"color": theme.MUTED, "width": 1, "dash": "dot"})
    figure.update_xaxes(range=[-end, end], fixedrange=True, zeroline=True)
    figure.update_xaxes(title_text="what goes in (below: for how many units)", row=2, col=1)
    figure.update_yaxes(fixedrange=True, zeroline=True, nticks=5)
    figure.update_yaxes(range=[-0.4, highest], row=1, col=1)
    figure.update_yaxes(nticks=3, row=2, col=1)
    return figure.update_layout(template=theme.template(), height=height, margin={"l": 8, "r": 10, "t": 34, "b": 8}, bargap=0.05, hovermode="closest",
                                legend={"orientation": "h", "x": 0, "y": 1.01, "yanchor": "bottom"})  # fmt: skip


def shares(rows: Sequence[str], parts: Sequence[tuple[str, Sequence[int], int]], *, height: int = 300) -> go.Figure:
    """Stacked bars of counts: each part has a name, a count a row, and a colour by number; the count stands inside.

    >>> shares(["one layer"], [("attention", [10], 0), ("network", [20], 1)]).data[1].x
    (20,)
    """
    figure = go.Figure()
    places = list(range(len(rows)))
    total = [sum(values[row] for _, values, _ in parts) for row in places]
    for name, values, hue in parts:
        wide = [values[row] > 0.12 * max(total) for row in places]
        figure.add_bar(
            x=list(values), y=places, orientation="h", name=_said(name), marker={"color": theme.CATEGORICAL[hue], "line": {"width": 0}}, width=0.6, insidetextanchor="middle",
            text=[f"{value:,}" if fits else "" for value, fits in zip(values, wide, strict=True)], textposition="inside", textangle=0, textfont={"size": 14, "color": theme.BACKGROUND},
            hovertemplate="%{x:,}<extra>" + _said(name) + "</extra>",
        )  # fmt: skip
    figure.update_xaxes(visible=False, fixedrange=True, range=[0, max(total)])
    figure.update_yaxes(tickvals=places, ticktext=["<br>".join(_said(line) for line in row.split("\n")) for row in rows], autorange="reversed", showgrid=False, zeroline=False, fixedrange=True,
                        tickfont={"size": 14, "color": theme.TEXT})  # fmt: skip
    return figure.update_layout(template=theme.template(), barmode="stack", height=height, uniformtext={"minsize": 11, "mode": "hide"}, margin={"l": 8, "r": 10, "t": 40, "b": 8},
                                legend={"orientation": "h", "x": 0, "y": 1.0, "yanchor": "bottom", "traceorder": "normal"})  # fmt: skip


def _said(text: str) -> str:
    """A phrase as Plotly text: never markup but for a new line, its spaces left alone."""
    return "<br>".join(plain(line).replace("·", " ") for line in text.split("\n"))
