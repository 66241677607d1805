"""Scores with and without 1/sqrt(d_k): histograms, a row of weights, measures by width, and layers.

Numbers in, an Altair chart out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import numpy as np
import plotly.graph_objects as go

from viz import theme
from viz.charts.curves import BELOW, spread_labels
from viz.charts.parts import panels, vega
from viz.charts.parts.figures import draw_once
from viz.labels import phrase
from viz.number_text import number

Array = np.ndarray[Any, np.dtype[Any]]
HUES = {"raw": theme.CATEGORICAL[1], "scaled": theme.CATEGORICAL[0]}
NAMES = {"raw": "q · k", "scaled": "q · k / √d"}
BINS = 48
ROOM_HEIGHT = 370
LINE = 26
"""Pixels that the title of a lane takes."""


@draw_once
def histograms(
    values: Mapping[str, Array],
    bells: Mapping[str, tuple[Array, Array]],
    titles: Mapping[str, str],
    *,
    line: int = LINE,
    height: int = 330,
) -> alt.LayerChart:
    """One lane a table of scores, on one axis: how often each score came up, and the closed form's curve over it.

    Names are those of `NAMES`; a title takes `line` pixels. Shapes: values (any), a bell is x (point,) and its density (point,).

    >>> x = np.linspace(-1.0, 1.0, 5)
    >>> [row["text"] for row in histograms({"raw": x}, {"raw": (x, x)}, {"raw": "q · k"}).to_dict()["layer"][-1]["data"]["values"]]
    ['q · k']
    """
    limit = max(float(np.abs(v).max()) for v in values.values()) * 1.04
    counted = {
        name: np.histogram(found, bins=BINS, range=(-end, end), density=True)
        for name, found in values.items()
        for end in [float(np.abs(found).max())]
    }
    strips = panels.stacked(
        [(0, 1.05 * max(float(counted[name][0].max()), float(bells[name][1].max()))) for name in values],
        title=line / (height - BELOW),
        gap=0.02,
    )
    bars: list[dict[str, Any]] = []
    curves: list[dict[str, Any]] = []
    for strip, (name, (heights, edges)) in zip(strips, counted.items(), strict=True):
        bars += [
            {
                "left": float(a),
                "right": float(b),
                "top": strip.position(high),
                "bottom": strip.bottom,
                "colour": HUES[name],
                "score": number((a + b) / 2, 1),
                "density": f"{high:.4f}",
            }
            for a, b, high in zip(edges[:-1], edges[1:], heights, strict=True)
        ]
        curves += [
            {"x": float(x), "y": strip.position(y), "lane": name} for x, y in zip(*bells[name], strict=True)
        ]
    across = alt.X(
        "x:Q", title="score", scale=vega.exact_scale(-limit, limit), axis=vega.bare_axis(tickCount=8)
    )
    up = alt.Y("y:Q", axis=None, scale=vega.exact_scale(panels.EXTENT, 0))
    drawn = (
        vega.rows(bars)
        .mark_rect(opacity=0.55)
        .encode(
            x=panels.with_field(across, "left:Q"),
            x2="right:Q",
            y=panels.with_field(up, "top:Q"),
            y2="bottom:Q",
            color=alt.Color("colour:N", scale=None),
            tooltip=["score:N", "density:N"],
        )
    )
    bell = (
        vega.rows(curves).mark_line(strokeWidth=1.6, color=theme.TEXT).encode(x=across, y=up, detail="lane:N")
    )
    ground = vega.rows([{"y": strip.bottom} for strip in strips]).mark_rule(color=theme.LINE).encode(y=up)
    middle = (
        vega.rows([{"x": 0, "y": strip.top, "y2": strip.bottom} for strip in strips])
        .mark_rule(color=theme.LINE)
        .encode(x=across, y=up, y2="y2:Q")
    )
    return vega.frame(
        ground,
        middle,
        drawn,
        bell,
        _titles([(strip.top, titles[name], HUES[name]) for strip, name in zip(strips, values, strict=True)]),
        right=10,
        height=height,
    )


@draw_once
def weights(
    rows: Mapping[str, Array], titles: Mapping[str, str], *, line: int = LINE, height: int = 340
) -> alt.LayerChart:
    """One row of softmax weights a lane, the same keys in the same order, on one scale from 0 to 1.

    A title takes `line` pixels. Shapes: each row (key,).

    >>> [row["weight"] for row in weights({"raw": np.array([0.9, 0.1])}, {"raw": "q · k"}).to_dict()["layer"][0]["data"]["values"]]
    ['0.9000', '0.1000']
    """
    strips = panels.stacked([(0, 1.02)] * len(rows), title=line / (height - BELOW), gap=0.035)
    bars = [
        {
            "left": key + 0.65,
            "right": key + 1.35,
            "top": strip.position(value),
            "bottom": strip.bottom,
            "colour": HUES[name],
            "key": key + 1,
            "weight": f"{value:.4f}",
        }
        for strip, (name, values) in zip(strips, rows.items(), strict=True)
        for key, value in enumerate(values)
    ]
    most = max(len(v) for v in rows.values())
    across = alt.X(
        "left:Q",
        title="the keys, best score first",
        scale=vega.exact_scale(0.3, most + 0.7),
        axis=vega.bare_axis(values=[1, *range(5, most + 1, 5)], format="d"),
    )
    up = panels.with_field(
        panels.left_axis({strip.position(value): f"{value:g}" for strip in strips for value in (0, 0.5, 1)}),
        "top:Q",
    )
    drawn = (
        vega.rows(bars)
        .mark_rect()
        .encode(
            x=across,
            x2="right:Q",
            y=up,
            y2="bottom:Q",
            color=alt.Color("colour:N", scale=None),
            tooltip=["key:Q", "weight:N"],
        )
    )
    return vega.frame(
        drawn,
        _titles([(strip.top, titles[name], HUES[name]) for strip, name in zip(strips, rows, strict=True)]),
        right=10,
        height=height,
    )


@draw_once
def by_width(
    widths: Sequence[int],
    measures: Sequence[tuple[str, Mapping[str, Sequence[float]], tuple[float, str]]],
    *,
    marked: int,
    line: int = LINE,
    height: int = 400,
) -> alt.LayerChart:
    """One panel a measure over d_k, both tables as lines named at their ends; the dotted line is the limit of an even look.

    measures: title, values by name, (limit, its words). The axis grows by equal factors. A title takes `line` pixels.
    Errors: ValueError when a line has another number of points than there are widths.

    >>> chart = by_width([1, 2], [("t", {"raw": [1, 2]}, (3.0, "even"))], marked=2).to_dict()
    >>> [(row["x"], row["value"]) for row in chart["layer"][2]["data"]["values"]], [row["text"] for row in chart["layer"][4]["data"]["values"]]
    ([(1, 1.0), (2, 2.0)], ['q · k', 'even'])
    """
    strips = panels.stacked(
        [(0, 1.06 * limit) for _, _, (limit, _) in measures], title=line / (height - BELOW), gap=0.025
    )
    dots, ends = [], []
    for strip, (title, lines, (limit, words)) in zip(strips, measures, strict=True):
        for name, values in lines.items():
            if len(values) != len(widths):
                raise ValueError(f"{name} has {len(values)} points for {len(widths)} widths")
            dots += [
                {
                    "x": int(x),
                    "y": strip.position(value),
                    "line": NAMES[name],
                    "key": f"{title} {name}",
                    "colour": HUES[name],
                    "value": float(value),
                }
                for x, value in zip(widths, values, strict=True)
            ]
        *places, even = spread_labels([*(float(values[-1]) for values in lines.values()), limit], limit * 0.2)
        ends += [
            {"y": strip.position(place), "text": NAMES[name], "colour": HUES[name]}
            for name, place in zip(lines, places, strict=True)
        ]
        ends.append({"y": strip.position(even), "text": phrase(words), "colour": theme.MUTED})
    ticks = [w for w in widths if w in (1, 4, 16, 64, 256, 1024)]
    across = alt.X(
        "x:Q",
        title="dₖ, the numbers in a query and a key",
        scale=alt.Scale(type="log", base=2, domain=[min(widths) * 0.9, max(widths) * 1.1], nice=False),
        axis=vega.bare_axis(values=ticks, format="d"),
    )
    up = panels.left_axis(
        {
            strip.position(value): f"{value:g}"
            for strip, (_, _, (limit, _)) in zip(strips, measures, strict=True)
            for value in panels.steps(0, limit, 4)
        }
    )
    hue = alt.Color("colour:N", scale=None)
    base = vega.rows(dots).encode(x=across, y=up, color=hue, detail="key:N")
    return vega.frame(
        vega.rows([{"x": marked, "y": strip.top, "y2": strip.bottom} for strip in strips])
        .mark_rule(strokeDash=[2, 3], color=theme.MUTED)
        .encode(x=across, y=up, y2="y2:Q"),
        vega.rows(
            [{"y": strip.position(limit)} for strip, (_, _, (limit, _)) in zip(strips, measures, strict=True)]
        )
        .mark_rule(strokeDash=[2, 3], color=theme.MUTED)
        .encode(y=up),
        base.mark_line(strokeWidth=2.4),
        base.mark_circle(size=40, opacity=1).encode(
            tooltip=vega.tooltip("line:N", ("x:Q", "dₖ"), ("value:Q", "", ".3f"))
        ),
        vega.rows(ends)
        .mark_text(align="left", baseline="middle", dx=8, fontSize=13)
        .encode(x=alt.value("width"), y=up, text="text:N", color=hue),
        _titles(
            [(strip.top, title, theme.TEXT) for strip, (title, _, _) in zip(strips, measures, strict=True)]
        ),
        right=10,
        height=height,
    )


@draw_once
def layers(heads: Mapping[str, Array], *, height: int = 360) -> alt.LayerChart:
    """How even each head looks (0 to 1), a dot a head over the layers, a line through their means.

    Shapes: each table (layer head).

    >>> [len(layer["data"]["values"]) for layer in layers({"raw": np.zeros((2, 3))}).to_dict()["layer"][:2]]
    [6, 2]
    """
    kinds = {name: {"raw": "without", "scaled": "with 1/√d, as trained"}[name] for name in heads}
    dots = [
        {
            "x": layer + 0.09 * (2 * side - 1),
            "y": float(value),
            "line": kinds[name],
            "layer": layer,
            "head": head,
        }
        for side, (name, table) in enumerate(heads.items())
        for layer, row in enumerate(table)
        for head, value in enumerate(row)
    ]
    means = [
        {"x": layer, "y": float(value), "line": kinds[name]}
        for name, table in heads.items()
        for layer, value in enumerate(table.mean(1))
    ]
    n_layers = max(len(table) for table in heads.values())
    across = alt.X(
        "x:Q",
        title="layer",
        scale=vega.exact_scale(-0.4, n_layers - 0.6),
        axis=vega.bare_axis(values=list(range(n_layers)), format="d"),
    )
    up = alt.Y(
        "y:Q",
        title="normalised entropy",
        scale=vega.exact_scale(-0.02, 1.04),
        axis=vega.bare_axis(values=[0, 0.25, 0.5, 0.75, 1], format=".0%", grid=True),
    )
    hue = alt.Color(
        "line:N",
        scale=alt.Scale(domain=list(kinds.values()), range=[HUES[name] for name in kinds]),
        legend=alt.Legend(
            orient="top", title=None, symbolType="circle", symbolSize=100, symbolOpacity=1, labelLimit=320
        ),
    )
    head, mean = (vega.rows(rows).encode(x=across, y=up, color=hue) for rows in (dots, means))
    return vega.frame(
        head.mark_circle(size=50, opacity=0.45).encode(
            tooltip=vega.tooltip("line:N", "layer:Q", "head:Q", ("y:Q", "normalised entropy", ".1%"))
        ),
        mean.mark_line(strokeWidth=2.6),
        mean.mark_circle(size=80, opacity=1).encode(
            tooltip=vega.tooltip("line:N", ("x:Q", "layer"), ("y:Q", "mean of the heads", ".1%"))
        ),
        right=10,
        height=height,
    )


def fitted(figure: go.Figure, room: bool) -> go.Figure:
    """The figure as it is, or before a room so low that picture, sentence and control fit on one screen of 720 pixels; names at its right keep their place.

    >>> fitted(go.Figure(layout={"height": 400}), room=True).layout.height
    370
    """
    if not room:
        return figure
    layout: Any = figure.layout
    margin = layout.margin.r or 0
    return go.Figure(figure).update_layout(
        height=ROOM_HEIGHT, margin={"r": 1.6 * margin if margin > 40 else margin}
    )


def _titles(rows: Sequence[tuple[float, str, str]]) -> alt.Chart:
    """Titles at the left edge, each (height, text, colour)."""
    drawn = vega.rows([{"y": y, "text": phrase(text), "colour": colour} for y, text, colour in rows])
    return drawn.mark_text(align="left", baseline="bottom", dy=-5, fontSize=14).encode(
        x=alt.value(0), y="y:Q", text="text:N", color=alt.Color("colour:N", scale=None)
    )
