"""One word inside a feed-forward network: tiles of its numbers on the way, and activations as curves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from viz import theme
from viz.charts.parts import vega
from viz.charts.parts.figures import draw_once
from viz.charts.parts.plotted import apply_frame as framed_figure
from viz.charts.parts.plotted import legend_above, plain_text
from viz.labels import phrase

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True)
class Tile:
    """A name, values (number,) or None while they are covered, how many numbers stand in a row; `marked` is ringed."""

    name: str
    values: Array | None
    across: int
    marked: int | None = None
    called: str = "number"


@draw_once
def vectors(tiles: Sequence[Tile], *, height: int = 330) -> vega.Layers:
    """Draw vectors as tiles of coloured cells from left to right, each folded into rows; each tile has its own colour scale, where pale is 0.

    A tile without values is a question mark; a marked number has a frame.

    >>> chart = vectors([Tile("x", np.ones(8), 4), Tile("act", None, 4)]).to_dict()
    >>> len(chart["layer"][1]["data"]["values"]), [cover["text"] for cover in chart["layer"][2]["data"]["values"]]
    (8, ['?'])
    """
    gap = 0.11 * sum(tile.across for tile in tiles)
    begins = [sum(tile.across for tile in tiles[:place]) + place * gap for place in range(len(tiles))]
    frames, cells, covers, names, arrows, rings = [], [], [], [], [], []
    for place, (tile, begin) in enumerate(zip(tiles, begins, strict=True)):
        fill = theme.SURFACE if tile.values is None else theme.BACKGROUND
        frames.append({"x": begin, "x2": begin + tile.across, "y": 0, "y2": 1, "fill": fill})
        names += [
            ({"x": begin, "y": 0, "text": phrase(line)}, -4 - 18 * above)
            for above, line in enumerate(reversed(tile.name.split("\n")))
        ]
        if place:
            arrows.append({"x": begin - gap / 2, "y": 0.5, "text": "→"})
        if tile.values is None:
            covers.append({"x": begin + tile.across / 2, "y": 0.5, "text": "?"})
            continue
        rows = -(-len(tile.values) // tile.across)
        limit = float(np.abs(tile.values).max(initial=0)) or 1.0
        for number, value in enumerate(tile.values):
            cells.append(
                _cell(begin, number, tile.across, rows, (0.03, 0.97))
                | {
                    "share": round(float(value) / limit, 3),
                    "value": f"{value:.3f}",
                    "name": f"{tile.called} {number}",
                }
            )
        if tile.marked is not None:
            rings.append(_cell(begin, tile.marked, tile.across, rows, (-0.4, 1.4)))
    across, down = vega.hidden_axes((-0.1, begins[-1] + tiles[-1].across + 0.1), (1, 0))

    def chart(rows: list[dict[str, Any]], **more: Any) -> alt.Chart:
        return vega.rows(rows, x=across, y=down, **more)

    box, word = {"x2": "x2:Q", "y2": "y2:Q"}, {"text": "text:N"}
    shades = alt.Scale(domain=[-1, 1], range=theme.DIVERGING, interpolate="rgb")
    hue, told = alt.Fill("share:Q", scale=shades, legend=None), vega.tooltip(("name:N", " "), "value:N")
    named = [
        chart([name], **word).mark_text(align="left", baseline="bottom", fontSize=14, dy=dy, color=theme.TEXT)
        for name, dy in names
    ]
    return vega.frame(
        chart(frames, **box, color=vega.raw_channel("fill:N")).mark_rect(stroke=theme.LINE, strokeWidth=1),
        chart(cells, **box, fill=hue, tooltip=told).mark_rect(),
        chart(covers, **word).mark_text(fontSize=44, color=theme.MUTED),
        chart(arrows, **word).mark_text(fontSize=22, color=theme.MUTED),
        chart(rings, **box).mark_rect(fillOpacity=0, stroke=theme.TEXT, strokeWidth=2.5),
        *named,
        height=height - 60,
        top=10 + 18 * max(tile.name.count("\n") + 1 for tile in tiles),
    )


def _cell(begin: float, number: int, across: int, rows: int, ends: tuple[float, float]) -> dict[str, Any]:
    """Return the edges of the cell of a number in a tile of `across` columns; `ends`: where the cell begins and ends within its square, from 0 to 1."""
    y, x = divmod(number, across)
    (x1, y1), (x2, y2) = ((begin + x + end, round((y + end) / rows, 4)) for end in ends)
    return {"x": x1, "x2": x2, "y": y1, "y2": y2}


@dataclass(frozen=True)
class Curve:
    """An activation by name: y over x (point,), a colour by number, whether it is the model's own."""

    name: str
    x: Array
    y: Array
    hue: int
    mine: bool = False


@draw_once
def activations(
    curves: Sequence[Curve],
    pre: Array,
    act: Array,
    place: float,
    values: Sequence[float],
    *,
    highest: float = 2.2,
    height: int = 380,
) -> go.Figure:
    """Draw activation functions as curves, the hidden units of a word as dots on the model's own, and below a histogram of their pre-activations.

    Shapes: pre, act (unit,), before and after the activation. `place` is the visitor's number on the horizontal axis, `values` each curve's value
    there, `highest` the end of the upper axis.

    >>> x = np.linspace(-4, 4, 9)
    >>> len(activations([Curve("relu", x, np.maximum(x, 0), 0, True)], x, np.maximum(x, 0), -1.0, [0.0]).data)
    4
    """
    figure = make_subplots(rows=2, cols=1, shared_xaxes=True, row_heights=[0.72, 0.28], vertical_spacing=0.07)
    end = float(max(abs(curves[0].x[0]), abs(curves[0].x[-1])))
    seen = np.abs(pre) <= end
    above: dict[str, Any] = {"row": 1, "col": 1}
    unnamed = {"mode": "markers", "showlegend": False}
    for curve, value in zip(curves, values, strict=True):
        colour, name = theme.CATEGORICAL[curve.hue], plain_text(curve.name)
        figure.add_scatter(
            x=curve.x,
            y=curve.y,
            mode="lines",
            name=name,
            line={"color": colour, "width": 3 if curve.mine else 2, "dash": "solid" if curve.mine else "dot"},
            hovertemplate=f"%{{x:.2f}} → %{{y:.4f}}<extra>{name}</extra>",
            **above,
        )
        dot = {"size": 12, "color": colour, "line": {"color": theme.BACKGROUND, "width": 2}}
        figure.add_scatter(x=[place], y=[value], hoverinfo="skip", marker=dot, **unnamed, **above)
    figure.add_scatter(
        x=pre[seen],
        y=act[seen],
        customdata=np.flatnonzero(seen),
        marker={"size": 6, "color": theme.TEXT, "opacity": 0.35},
        hovertemplate="unit %{customdata}: %{x:.3f} → %{y:.3f}<extra></extra>",
        name=plain_text(next((curve for curve in curves if curve.mine), curves[0]).name),
        **unnamed,
        **above,
    )
    heights, edges = np.histogram(pre[seen], bins=64, range=(-end, end))
    middle = (edges[:-1] + edges[1:]) / 2
    hues = [theme.PRIMARY if m > 0 else theme.SEQUENTIAL[3] for m in middle]
    figure.add_bar(
        x=middle,
        y=heights,
        width=edges[1] - edges[0],
        showlegend=False,
        marker={"color": hues, "line": {"width": 0}},
        hovertemplate="%{y} units near %{x:.2f}<extra></extra>",
        row=2,
        col=1,
    )
    figure.add_vline(x=place, line={"color": theme.MUTED, "width": 1, "dash": "dot"})
    figure.update_xaxes(range=[-end, end], fixedrange=True, zeroline=True)
    figure.update_xaxes(title_text="what goes in (below: for how many units)", row=2, col=1)
    figure.update_yaxes(fixedrange=True, zeroline=True, nticks=5)
    figure.update_yaxes(range=[-0.4, highest], **above)
    figure.update_yaxes(nticks=3, row=2, col=1)
    return framed_figure(
        figure, height, (8, 10, 34, 8), bargap=0.05, hovermode="closest", legend=legend_above(1.01)
    )
