"""One written word looks back: scores, weights, and the states that they mix, column below column."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from viz import theme
from viz.charts.curves import number
from viz.charts.parts.kept import kept
from viz.course.why.charts.unrolled import tiled
from viz.labels import plain

TILE_ROWS = 16


@kept
def mixing(
    scores: np.ndarray, weights: np.ndarray, states: np.ndarray, context: np.ndarray, words: Sequence[str]
) -> go.Figure:
    """Bars of s_ij, bars of a_ij, tiles of h_j, and behind them the tile of c_i, the same numbers mixed by a_ij.

    Shapes: scores, weights (key,), states (key, d), context (d,). Tiles share one scale centred on 0.

    >>> figure = mixing(np.zeros(2), np.array([0.5, 0.5]), np.ones((2, 4)), np.ones(4), ["a", "b"])
    >>> figure.data[1].text, figure.data[2].z.shape
    (('0.50', '0.50'), (16, 5))
    """
    n, size = len(words), 13 if len(words) <= 12 else 11
    figure = make_subplots(
        rows=3, cols=1, shared_xaxes=True, vertical_spacing=0.11, row_heights=[0.27, 0.3, 0.43]
    )
    limit = float(np.abs(scores).max()) or 1.0
    around = [[i / (len(theme.DIVERGING) - 1), colour] for i, colour in enumerate(theme.DIVERGING)]
    upward = [[i / (len(theme.SEQUENTIAL) - 1), colour] for i, colour in enumerate(theme.SEQUENTIAL)]
    rows = ((scores, around, -limit, limit), (weights, upward, 0.0, 1.0))
    for row, (values, colours, low, high) in enumerate(rows, start=1):
        figure.add_bar(
            x=list(range(n)),
            y=values.tolist(),
            width=0.62,
            text=[number(float(v)) for v in values],
            textposition="outside",
            textfont={"size": size, "color": theme.TEXT},
            cliponaxis=False,
            hoverinfo="skip",
            marker={
                "color": values.tolist(),
                "colorscale": colours,
                "cmin": low,
                "cmax": high,
                "line": {"width": 1, "color": theme.MUTED},
            },
            row=row,
            col=1,
        )
    x, z, told = tiled(np.vstack((states, context[None])), TILE_ROWS, np.array([*range(n), n + 0.3]))
    figure.add_trace(
        go.Heatmap(
            x=x,
            y=list(range(TILE_ROWS + 1)),
            z=z,
            customdata=told,
            zmin=-1,
            zmax=1,
            zmid=0,
            colorscale=around,
            showscale=False,
            hovertemplate="no. %{customdata}: %{z:.3f}<extra></extra>",
        ),
        row=3,
        col=1,
    )
    for title, axis in (("scores sᵢⱼ", "y"), ("weights aᵢⱼ, they add up to 1", "y2"), ("states hⱼ", "y3")):
        figure.add_annotation(
            text=title,
            x=0,
            xref="paper",
            xanchor="left",
            y=1,
            yref=f"{axis} domain",
            yanchor="bottom",
            yshift=4,
            showarrow=False,
            font={"size": 14, "color": theme.MUTED},
        )
    figure.add_annotation(
        text="cᵢ, the mix",
        x=1,
        xref="paper",
        xanchor="right",
        y=1,
        yref="y3 domain",
        yanchor="bottom",
        yshift=4,
        showarrow=False,
        font={"size": 14, "color": theme.TEXT},
    )
    low = min(float(scores.min()), 0.0)
    room = 0.28 * (max(float(scores.max()), 0.0) - low or 1.0)
    figure.update_yaxes(visible=False, fixedrange=True)
    figure.update_yaxes(range=[low - room, max(float(scores.max()), 0.0) + room], row=1, col=1)
    figure.update_yaxes(range=[0, 1.12 * max(float(weights.max()), 0.3)], row=2, col=1)
    figure.update_yaxes(range=[TILE_ROWS, 0], row=3, col=1)
    figure.update_xaxes(
        showgrid=False, zeroline=False, fixedrange=True, showticklabels=False, range=[-0.55, n + 0.85]
    )
    figure.update_xaxes(
        showticklabels=True,
        tickvals=list(range(n)),
        ticktext=[plain(word) for word in words],
        ticks="",
        tickangle=0 if n <= 12 else -60,
        tickfont={"size": 14 if n <= 12 else 12, "color": theme.TEXT},
        row=3,
        col=1,
    )
    figure.update_layout(
        template=theme.template(), height=400, margin={"l": 0, "r": 0, "t": 26, "b": 4}, showlegend=False
    )
    return figure
