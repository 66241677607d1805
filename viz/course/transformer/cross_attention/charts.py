"""Cross-attention in pictures: who brings queries, keys and values, with shapes; and what each step of writing computes."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt
import plotly.graph_objects as go

from viz import theme
from viz.charts.parts import panels, vega
from viz.charts.parts.figures import draw_once
from viz.charts.parts.plotted import QUIET, apply_frame, legend_above
from viz.labels import plotly_label

TARGET, SOURCE = theme.CATEGORICAL[1], theme.CATEGORICAL[0]
HALF = (0.46, 0.27)
"""Half the width and half the height of a box."""
TALLER = 0.36
"""How much higher a box of two lines is."""


@draw_once
def flow(n: int, m: int, d: int, heads: int, d_head: int, *, height: int = 400) -> vega.Layers:
    """Draw cross-attention as boxes from top to bottom, each with its shape: queries come from the decoder, keys and values from the encoder.

    `n` source and `m` target tokens, `d` numbers for each token, `d_head` for each token and head.

    >>> words = flow(6, 7, 256, 8, 32).to_dict()["layer"][3]["data"]["values"]
    >>> [line["words"] for line in words if line["words"].startswith("K:")]
    ['K: 8 × 6 × 32']
    """
    boxes = (
        (0.0, 4, HALF[0], TARGET, "decoder", f"{m} × {d}"),
        (1.5, 4, 0.96, SOURCE, "encoder’s output", f"{n} × {d}"),
        (0.0, 3, HALF[0], TARGET, "Q", f"{heads} × {m} × {d_head}"),
        (1.0, 3, HALF[0], SOURCE, "K", f"{heads} × {n} × {d_head}"),
        (2.0, 3, HALF[0], SOURCE, "V", f"{heads} × {n} × {d_head}"),
        (0.5, 2, 0.96, theme.MUTED, "softmax(Q Kᵀ / √d)", f"{heads} × {m} × {n}"),
        (1.25, 1, 1.2, theme.MUTED, "weights times V", f"{heads} × {m} × {d_head}"),
        (1.25, 0, 1.2, TARGET, "output projection", f"{m} × {d}"),
    )
    drawn = [
        {
            "x": x - half,
            "x2": x + half,
            "y": y - HALF[1],
            "y2": y + HALF[1] + TALLER * (y == 4),
            "colour": colour,
        }
        for x, y, half, colour, *_ in boxes
    ]
    words = [
        {"x": x, "y": y + lift, "words": line}
        for x, y, _, _, name, shape in boxes
        for lift, line in (((TALLER, name), (0, shape)) if y == 4 else ((0, f"{name}: {shape}"),))
    ]
    arrows = (
        (0, 4, 3, "times W of Q"),
        (1, 4, 3, "times W of K"),
        (2, 4, 3, "times W of V"),
        *((x, y, to, "") for x, y, to in ((0, 3, 2), (1, 3, 2), (0.5, 2, 1), (2, 3, 1), (1.25, 1, 0))),
    )
    ways = [
        {"x": x, "y": y - HALF[1], "y2": to + HALF[1] + 0.03, "words": name, "middle": y - 0.5}
        for x, y, to, name in arrows
    ]
    across, up = vega.hidden_axes((-0.5, 2.75), (-0.32, 4.68))
    way, box = vega.rows(ways, x=across, y=up), vega.rows(drawn, x=across, y=up)
    return vega.frame(
        way.mark_rule(color=theme.TEXT, strokeWidth=1.6).encode(y2="y2"),
        way.mark_point(shape="triangle-down", filled=True, size=70, color=theme.TEXT, opacity=1).encode(
            y=panels.with_field(up, "y2:Q")
        ),
        box.mark_rect(fill=theme.BACKGROUND, strokeWidth=2).encode(
            x2="x2", y2="y2", stroke=vega.raw_channel(channel=alt.Stroke)
        ),
        vega.rows(words, x=across, y=up, text="words:N").mark_text(fontSize=14, color=theme.TEXT),
        way.mark_text(fontSize=13, color=theme.MUTED, align="left", dx=7).encode(
            y=panels.with_field(up, "middle:Q"), text="words:N"
        ),
        height=height,
    )


@draw_once
def computed(
    target: Sequence[int],
    source: Sequence[int],
    result: Sequence[int],
    words: Sequence[str],
    *,
    height: int = 330,
) -> go.Figure:
    """Draw for each generated word the rows of keys and values computed, as stacked bars: of the words generated so far and of the source.

    A dashed line has the rows that would be computed without a cache.

    >>> [trace.name for trace in computed([1, 1], [3, 0], [4, 5], ["a", "b"]).data]
    ['source words', 'own words', 'without the cache']
    """
    places = list(range(len(words)))
    figure = go.Figure()
    for name, values, colour in (("source words", source, SOURCE), ("own words", target, TARGET)):
        figure.add_bar(
            x=places,
            y=list(values),
            name=name,
            marker={"color": colour, "line": {"width": 0}},
            hovertemplate="%{y} rows<extra>%{fullData.name}</extra>",
            text=[str(v) if v > 1 else "" for v in values],
            textposition="inside",
            insidetextanchor="middle",
            textangle=0,
            textfont={"size": 13, "color": theme.BACKGROUND},
        )
    figure.add_scatter(
        x=places,
        y=list(result),
        name="without the cache",
        mode="lines+markers",
        line={"color": theme.MUTED, "width": 2, "dash": "dash"},
        marker={"size": 7},
        hovertemplate="%{y} rows<extra>without the cache</extra>",
    )
    names = {"tickvals": places, "ticktext": [plotly_label(word) for word in words], "tickfont": {"size": 14}}
    figure.update_xaxes(title_text="written", **names, **QUIET)
    figure.update_yaxes(title_text="rows of K and V computed", rangemode="tozero", fixedrange=True, nticks=6)
    return apply_frame(figure, height, (8, 8, 34, 8), barmode="stack", bargap=0.3, legend=legend_above(1.02))
