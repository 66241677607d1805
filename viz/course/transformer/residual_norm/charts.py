"""Something measured at each depth of a stack: lines in panels, and the drawing of one block with its sum and its norm."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from viz import theme
from viz.charts.parts.figures import draw_once
from viz.charts.parts.plotted import HIDDEN, QUIET, add_arrow, add_note, apply_frame, legend_above, plain_text
from viz.number_text import decade, power_of_ten

Array = np.ndarray[Any, np.dtype[Any]]
BOX = (0.34, 0.085)
"""Half the width and half the height of a box."""


@dataclass(frozen=True)
class Panel:
    """A title and lines by name, each (depth,); on an axis of equal factors or, with `ends`, from the one to the other."""

    title: str
    lines: Mapping[str, Array]
    ends: tuple[float, float] | None = None


@draw_once
def by_depth(
    panels: Sequence[Panel],
    hues: Mapping[str, int],
    *,
    strong: Sequence[str] = (),
    covered: Sequence[str] = (),
    across: bool = False,
    height: int = 380,
) -> go.Figure:
    """Draw measured values over the number of layers passed, one panel below the other (`across`: side by side), a line for each setting.

    Lines that are not `strong` are pale, those that are `covered` are missing. `hues` are colours by number. A panel without fixed ends has a
    logarithmic axis with powers of ten written out.

    >>> figure = by_depth([Panel("signal", {"on": np.array([1.0, 2.0]), "off": np.array([1.0, 0.1])})], {"on": 0, "off": 1}, covered=["off"])
    >>> [trace.name for trace in figure.data], figure.layout.yaxis.type
    (['on'], 'log')
    """
    figure = (
        make_subplots(rows=1, cols=len(panels), horizontal_spacing=0.09)
        if across
        else make_subplots(
            rows=len(panels), cols=1, shared_xaxes=True, vertical_spacing=0.14 if len(panels) > 1 else 0
        )
    )
    depth = 1
    for place, panel in enumerate(panels, start=1):
        at: dict[str, Any] = {"row": 1, "col": place} if across else {"row": place, "col": 1}
        axis = "" if place == 1 else str(place)
        depth = max(depth, *(len(values) - 1 for values in panel.lines.values()))
        shown = {name: np.asarray(y, np.float64) for name, y in panel.lines.items() if name not in covered}
        for name, values in shown.items():
            lit = not strong or name in strong
            figure.add_scatter(
                x=np.arange(len(values)),
                y=np.maximum(values, 1e-300) if panel.ends is None else panel.lines[name],
                mode="lines+markers",
                name=plain_text(name),
                legendgroup=name,
                showlegend=place == 1,
                opacity=1 if lit else 0.75,
                line={"color": theme.CATEGORICAL[hues[name]], "width": 3 if lit else 1.6},
                marker={"size": 6 if lit else 4},
                hovertemplate=f"after %{{x}} layers: %{{y:.3~g}}<extra>{plain_text(name)}</extra>",
                **at,
            )
        edges: dict[str, Any] = {
            "xref": f"x{axis} domain",
            "yref": f"y{axis} domain",
            "xanchor": "left",
            "yanchor": "bottom",
        }
        add_note(figure, plain_text(panel.title), 0, 1, **edges)
        if panel.ends is None:
            low, high = _decades(np.concatenate([*shown.values()] or [np.ones(1)]))
            powers = _powers(low, high)
            figure.update_yaxes(
                type="log",
                range=[low, high],
                tickvals=[10.0**p for p in powers],
                ticktext=[decade(p) if -3 <= p <= 3 else power_of_ten(p) for p in powers],
                tickfont={"size": 16},
                **at,
            )
        else:
            figure.update_yaxes(range=list(panel.ends), nticks=4, **at)
    figure.update_xaxes(range=[-0.25, depth + 0.25], dtick=1 if depth <= 6 else 2, **QUIET)
    figure.update_xaxes(title_text="layers passed", row=1 if across else len(panels))
    figure.update_yaxes(zeroline=False, fixedrange=True)
    legend = legend_above(1, "top", xref="container", yref="container", font={"size": 12})
    return apply_frame(figure, height, (8, 12, 66, 8), legend=legend)


def _decades(values: Array) -> tuple[float, float]:
    """Return the range of a logarithmic axis in powers of ten, at least two wide."""
    low, high = (float(np.log10(max(v, 1e-300))) for v in (values.min(), values.max()))
    room = max(0.12 * (high - low), (2 - (high - low)) / 2)
    return low - room, high + room


def _powers(low: float, high: float) -> list[int]:
    whole = list(range(int(np.ceil(low)), int(np.floor(high)) + 1))
    return whole[:: max(1, round(len(whole) / 4))]


WAYS = {  # what stands on the way up, with its height; where the side way leaves and where it ends
    "post": (("f", 0.34), ("+", 0.56), ("LN", 0.78)),
    "pre": (("LN", 0.27), ("f", 0.50), ("+", 0.74)),
    "worded": (("f", 0.30), ("LN", 0.53), ("+", 0.77)),
}


@draw_once
def block(order: str, formula: str, *, height: int = 380) -> go.Figure:
    """Draw one sub-layer from bottom to top: x goes up through f and the norm, and around them to the plus, in an order of `WAYS`.

    >>> [note.text for note in block("post", "LN(x + f(x))").layout.annotations if note.text in ("f", "+", "LN")]
    ['f', '+', 'LN']
    """
    figure = go.Figure()
    way = WAYS[order]
    below = 0.08
    for name, y in [*way, ("out", 0.97)]:
        half = 0.045 if name == "+" else 0.0 if name == "out" else BOX[1]
        add_arrow(figure, (0, below), (0, y - half), arrowsize=1.1, arrowwidth=1.8)
        below = y + half
    plus, line = dict(way)["+"], {"color": theme.CATEGORICAL[0], "width": 3}
    for x0, x1, y1 in ((0.0, 0.62, 0.13), (0.62, 0.62, plus)):
        figure.add_shape(type="line", x0=x0, y0=0.13, x1=x1, y1=y1, line=line)
    add_arrow(figure, (0.62, plus), (0.09, plus), line["color"], arrowsize=1.1, arrowwidth=3)
    for name, y in way:
        round_ = name == "+"
        wide, tall = (0.085, 0.045) if round_ else BOX
        figure.add_shape(
            type="circle" if round_ else "rect",
            x0=-wide,
            x1=wide,
            y0=y - tall,
            y1=y + tall,
            fillcolor=theme.SURFACE,
            line={
                "color": {"LN": theme.CATEGORICAL[2], "+": theme.CATEGORICAL[0]}.get(name, theme.MUTED),
                "width": 2,
            },
        )
        add_note(figure, name, 0, y, 17)
    add_note(figure, "x", 0, 0.03, 17)
    add_note(figure, plain_text(formula), 0, 1.03, 16, yanchor="bottom")
    figure.update_xaxes(range=[-0.9, 0.9], **HIDDEN)
    figure.update_yaxes(range=[-0.02, 1.13], **HIDDEN)
    return apply_frame(figure, height, dragmode=False)
