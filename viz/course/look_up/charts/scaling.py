"""Scores with and without 1/sqrt(d_k): histograms, and layers.

Numbers in, an Altair chart out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import numpy as np
import pandas as pd
import plotly.graph_objects as go

from viz import theme
from viz.charts import marks
from viz.charts.curves import BELOW
from viz.charts.parts import panels, vega
from viz.charts.parts.figures import draw_once
from viz.labels import phrase
from viz.languages import _, mark
from viz.number_text import number

Array = np.ndarray[Any, np.dtype[Any]]
HUES = {"raw": theme.CATEGORICAL[1], "scaled": theme.CATEGORICAL[0]}
NAMES = {"raw": "q · k", "scaled": "q · k / √d"}
TRAINED = {"raw": mark("without"), "scaled": mark("with 1/√d, as trained")}
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
    """Draw a histogram for each table of scores, one below the other on one axis of scores, each with its closed-form density as a curve.

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
        "x:Q", title=_("score"), scale=vega.exact_scale(-limit, limit), axis=vega.bare_axis(tickCount=8)
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
            tooltip=vega.tooltip(("score:N", _("score")), ("density:N", _("density"))),
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
def layers(heads: Mapping[str, Array], *, height: int = 360) -> vega.Layers:
    """Draw the normalised entropy of each head's attention (0 to 1) as a dot over its layer, and a line through the means of the heads.

    Shapes: each table (layer head).

    >>> [(dot["x"], dot["y"]) for dot in layers({"raw": np.zeros((2, 3))}).to_dict()["data"]["values"]]
    [(0, 0.0), (1, 0.0)]
    """
    kinds = {name: _(TRAINED[name]) for name in heads}
    return marks.lines(
        pd.DataFrame({kinds[name]: table.mean(1) for name, table in heads.items()}).rename(str),
        x=_("layer"),
        title=_("normalised entropy")
        if len(heads) > 1
        else _("normalised entropy {kind}", kind=next(iter(kinds.values()))),
        form=".0%",
        ends=(-0.02, 1.04),
        hues=[{"raw": 1, "scaled": 0}[name] for name in heads],
        overlay=marks.dots(
            [
                (kinds[name], layer - 0.1 * (1 + side), value)
                for side, (name, table) in enumerate(heads.items())
                for layer, row in enumerate(table)
                for value in row
            ],
            opacity=0.45,
        ),
        height=height,
    )


def fitted(figure: go.Figure, room: bool) -> go.Figure:
    """Return the figure itself, or for Present a copy so low that chart, sentence and control fit on a screen of 720 pixels.

    In Present a wide right margin, which holds names, becomes wider still, so that larger names fit into it.

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
    """Draw titles at the left edge, each given as (height, text, colour)."""
    drawn = vega.rows([{"y": y, "text": phrase(text), "colour": colour} for y, text, colour in rows])
    return drawn.mark_text(align="left", baseline="bottom", dy=-5, fontSize=14).encode(
        x=alt.value(0), y="y:Q", text="text:N", color=alt.Color("colour:N", scale=None)
    )
