"""Something measured at each depth of a stack: lines in panels, and the drawing of one block with its sum and its norm."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from viz import theme
from viz.charts.parts.kept import kept
from viz.labels import plain

Array = np.ndarray[Any, np.dtype[Any]]
BOX = (0.34, 0.085)
"""Half the width and half the height of a box."""


@dataclass(frozen=True)
class Panel:
    """A title and lines by name, each (depth,); on an axis of equal factors or, with `ends`, from the one to the other."""

    title: str
    lines: Mapping[str, Array]
    ends: tuple[float, float] | None = None


@kept
def by_depth(
    panels: Sequence[Panel],
    hues: Mapping[str, int],
    *,
    strong: Sequence[str] = (),
    covered: Sequence[str] = (),
    across: bool = False,
    height: int = 380,
) -> go.Figure:
    """One panel below the other (`across`: side by side) over the layers 0, 1, ..; lines that are not `strong` are pale, `covered` ones missing.

    `hues` are colours by number. Powers of ten are written out.

    >>> figure = by_depth([Panel("signal", {"on": np.array([1.0, 2.0]), "off": np.array([1.0, 0.1])})], {"on": 0, "off": 1}, covered=["off"])
    >>> [trace.name for trace in figure.data], figure.layout.yaxis.type
    (['on'], 'log')
    """
    below = {
        "rows": len(panels),
        "cols": 1,
        "shared_xaxes": True,
        "vertical_spacing": 0.14 if len(panels) > 1 else 0,
    }
    figure = make_subplots(
        **({"rows": 1, "cols": len(panels), "horizontal_spacing": 0.09} if across else below)
    )
    depth = 1
    for place, panel in enumerate(panels, start=1):
        row, col, axis = 1 if across else place, place if across else 1, "" if place == 1 else str(place)
        for name, values in panel.lines.items():
            depth = max(depth, len(values) - 1)
            if name in covered:
                continue
            lit = not strong or name in strong
            figure.add_scatter(
                x=np.arange(len(values)),
                y=np.maximum(values.astype(np.float64), 1e-300) if panel.ends is None else values,
                mode="lines+markers",
                name=_said(name),
                legendgroup=name,
                showlegend=place == 1,
                opacity=1 if lit else 0.75,
                line={"color": theme.CATEGORICAL[hues[name]], "width": 3 if lit else 1.6},
                marker={"size": 6 if lit else 4},
                hovertemplate="after layer %{x}: %{y:.3~g}<extra>" + _said(name) + "</extra>",
                row=row,
                col=col,
            )
        figure.add_annotation(
            text=_said(panel.title),
            x=0,
            xref=f"x{axis} domain",
            xanchor="left",
            y=1,
            yref=f"y{axis} domain",
            yanchor="bottom",
            showarrow=False,
            font={"size": 14, "color": theme.TEXT},
        )
        if panel.ends is None:
            everything = np.concatenate(
                [
                    np.asarray(values, np.float64)
                    for name, values in panel.lines.items()
                    if name not in covered
                ]
                or [np.ones(1)]
            )
            low, high = _decades(everything)
            figure.update_yaxes(
                type="log",
                range=[low, high],
                tickvals=[10.0**p for p in _powers(low, high)],
                row=row,
                col=col,
                ticktext=[_power(p) for p in _powers(low, high)],
                tickfont={"size": 16},
            )
        else:
            figure.update_yaxes(range=list(panel.ends), nticks=4, row=row, col=col)
    figure.update_xaxes(
        range=[-0.25, depth + 0.25],
        showgrid=False,
        zeroline=False,
        fixedrange=True,
        dtick=1 if depth <= 6 else 2,
    )
    figure.update_xaxes(title_text="layers after it", row=1 if across else len(panels))
    figure.update_yaxes(zeroline=False, fixedrange=True)
    figure.update_layout(
        template=theme.template(),
        height=height,
        margin={"l": 8, "r": 12, "t": 66, "b": 8},
        legend={
            "orientation": "h",
            "x": 0,
            "xref": "container",
            "y": 1,
            "yref": "container",
            "yanchor": "top",
            "font": {"size": 12},
        },
    )
    return figure


def _decades(values: Array) -> tuple[float, float]:
    """The range of an axis in powers of ten, at least two wide."""
    low, high = (float(np.log10(max(v, 1e-300))) for v in (values.min(), values.max()))
    room = max(0.12 * (high - low), (2 - (high - low)) / 2)
    return low - room, high + room


def _powers(low: float, high: float) -> list[int]:
    whole = list(range(int(np.ceil(low)), int(np.floor(high)) + 1))
    return whole[:: max(1, round(len(whole) / 4))]


def _power(power: int) -> str:
    return f"{10.0**power:g}" if -3 <= power <= 3 else f"10<sup>{'−' if power < 0 else ''}{abs(power)}</sup>"


ARROW = {
    "showarrow": True,
    "text": "",
    "arrowhead": 2,
    "arrowsize": 1.1,
    "arrowwidth": 1.8,
    "arrowcolor": theme.MUTED,
    "axref": "x",
    "ayref": "y",
}
WAYS = {  # what stands on the way up, with its height; where the side way leaves and where it ends
    "none": (("f", 0.40), ("+", 0.66)),
    "post": (("f", 0.34), ("+", 0.56), ("LN", 0.78)),
    "pre": (("LN", 0.27), ("f", 0.50), ("+", 0.74)),
    "worded": (("f", 0.30), ("LN", 0.53), ("+", 0.77)),
}


@kept
def block(order: str, formula: str, *, residual: bool = True, height: int = 380) -> go.Figure:
    """One sub-layer from below: x goes up through f and the norm, and around them to the plus.

    >>> [note.text for note in block("post", "LN(x + f(x))").layout.annotations if note.text in ("f", "+", "LN")]
    ['f', '+', 'LN']
    """
    figure = go.Figure()
    way = [(name, y) for name, y in WAYS[order] if residual or name != "+"]
    below = 0.08
    for name, y in [*way, ("out", 0.97)]:
        half = 0.045 if name == "+" else 0.0 if name == "out" else BOX[1]
        figure.add_annotation(x=0, y=y - half, ax=0, ay=below, **ARROW)
        below = y + half
    if residual:
        plus = dict(way)["+"]
        for a, b in (((0.0, 0.13), (0.62, 0.13)), ((0.62, 0.13), (0.62, plus))):
            figure.add_shape(
                type="line",
                x0=a[0],
                y0=a[1],
                x1=b[0],
                y1=b[1],
                line={"color": theme.CATEGORICAL[0], "width": 3},
            )
        figure.add_annotation(
            x=0.09,
            y=plus,
            ax=0.62,
            ay=plus,
            **(ARROW | {"arrowcolor": theme.CATEGORICAL[0], "arrowwidth": 3}),
        )
    for name, y in way:
        round_ = name == "+"
        wide, tall = (0.085, 0.045) if round_ else BOX
        colour = theme.CATEGORICAL[2] if name == "LN" else theme.CATEGORICAL[0] if round_ else theme.MUTED
        figure.add_shape(
            type="circle" if round_ else "rect",
            x0=-wide,
            x1=wide,
            y0=y - tall,
            y1=y + tall,
            fillcolor=theme.SURFACE,
            line={"color": colour, "width": 2},
        )
        figure.add_annotation(text=name, x=0, y=y, showarrow=False, font={"size": 17, "color": theme.TEXT})
    figure.add_annotation(text="x", x=0, y=0.03, showarrow=False, font={"size": 17, "color": theme.TEXT})
    figure.add_annotation(
        text=_said(formula),
        x=0,
        y=1.03,
        showarrow=False,
        yanchor="bottom",
        font={"size": 16, "color": theme.TEXT},
    )
    figure.update_xaxes(visible=False, range=[-0.9, 0.9], fixedrange=True)
    figure.update_yaxes(visible=False, range=[-0.02, 1.13], fixedrange=True)
    return figure.update_layout(
        template=theme.template(), height=height, margin={"l": 4, "r": 4, "t": 4, "b": 4}, dragmode=False
    )


def _said(text: str) -> str:
    return plain(text).replace("·", " ")
