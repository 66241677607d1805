"""The heads of a layer over the words of a sentence: from one word as bars in the heads' colours, and all of them as small maps on one scale."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from viz import theme
from viz.figures.head_grids import TINT, colour
from viz.labels import plain

Array = np.ndarray[Any, np.dtype[Any]]
ROW = 29
TELLS, NAMES = 0.3, 0.12
"""Weights from which on a piece of a bar says its head with the weight, or its head alone."""


def looks(weights: Array, words: Sequence[str], asking: int, *, only: int | None = None, pixels: int = ROW) -> go.Figure:
    """One bar a word, made of what each head gives to it from the word that asks. Weights (head, key).

    Each head gives away 1 in all. `only`: one head is shown, the others are a question mark.

    >>> figure = looks(np.array([[0.9, 0.1], [0.2, 0.8]]), ["a", "cat"], 1)
    >>> [bar.name for bar in figure.data], figure.data[1].text
    (['H0', 'H1'], ('H1', 'H1 80%'))
    """
    figure, places = go.Figure(), list(range(len(words)))
    for head, row in enumerate(weights):
        if only not in (None, head):
            continue
        figure.add_bar(
            x=[float(w) for w in row], y=places, orientation="h", name=f"H{head}", width=0.8, showlegend=True,
            marker={"color": colour(head), "opacity": TINT + 0.1, "line": {"width": 0}},
            text=[f"H{head} {w:.0%}" if w >= TELLS else f"H{head}" if w >= NAMES else "" for w in row], textposition="inside", insidetextanchor="middle", textangle=0,
            textfont={"size": 12, "color": theme.TEXT}, hovertemplate=f"H{head}: %{{x:.1%}}<extra></extra>", constraintext="none",
        )  # fmt: skip
    if only is not None:
        figure.add_annotation(text="?", x=0.85, y=(len(words) - 1) / 2, xref="paper", showarrow=False, font={"size": 40, "color": theme.MUTED})
    names = [plain(word) for word in words]
    names[asking] = f"<b>{names[asking]} ▸</b>"
    most = 1.3 if only is not None else max(1.0, float(weights.sum(0).max()))
    figure.update_xaxes(visible=False, range=[0, most * 1.01], fixedrange=True)
    figure.update_yaxes(
        tickvals=places, ticktext=names, range=[len(words) - 0.45, -0.55], fixedrange=True, showgrid=False, zeroline=False, automargin=True,
        ticks="outside", ticklen=6, tickcolor="rgba(0,0,0,0)", tickfont={"size": 15, "color": theme.TEXT},
    )  # fmt: skip
    return figure.update_layout(
        template=theme.template(), barmode="stack", height=36 + pixels * len(words), margin={"l": 4, "r": 4, "t": 30, "b": 2},
        legend={"orientation": "h", "x": 0, "y": 1.0, "yanchor": "bottom", "traceorder": "normal", "itemclick": "toggle"},
    )  # fmt: skip


def maps(weights: Array, words: Sequence[str], asking: int, *, allowed: Array | None = None, titles: Sequence[str] = (), height: int = 400, across: int = 4, named: bool = False) -> go.Figure:
    """Every head (head, query, key) as a small map, all on the one scale from 0 to 1; the row of the word that asks is framed.

    `named`: all words stand beside the first map of each row, else the one that asks.

    >>> figure = maps(np.full((2, 3, 3), 1 / 3), ["a", "b", "c"], 1)
    >>> [note.text for note in figure.layout.annotations], figure.layout.coloraxis.cmax
    (['<b>H0</b>', '<b>H1</b>'], 1)
    """
    n_heads, n = weights.shape[:2]
    across = min(across, n_heads)
    down = -(-n_heads // across)
    names = [f"<b>H{head}</b>" + (f" {plain(titles[head]).replace('·', ' ')}" if titles else "") for head in range(n_heads)]
    figure = make_subplots(down, across, subplot_titles=names, horizontal_spacing=0.02, vertical_spacing=0.14 if down > 1 else 0.0)
    shown = [plain(word) for word in words]
    told = [[f"{row} looks at {column}" for column in shown] for row in shown]
    for head in range(n_heads):
        row, column = head // across + 1, head % across + 1
        z = weights[head] if allowed is None else np.where(allowed[head], weights[head], np.nan)
        figure.add_trace(
            go.Heatmap(
                z=[[None if np.isnan(x) else round(float(x), 4) for x in line] for line in z], coloraxis="coloraxis", hoverongaps=False, text=told, xgap=1, ygap=1,
                hovertemplate="%{text}: %{z:.1%}<extra>" + f"H{head}" + "</extra>",
            ), row, column,
        )  # fmt: skip
        figure.add_shape(type="rect", x0=-0.5, x1=n - 0.5, y0=asking - 0.5, y1=asking + 0.5, line={"color": colour(head), "width": 2.5}, row=row, col=column)
    figure.update_annotations(font={"size": 13, "color": theme.TEXT})
    figure.update_xaxes(visible=False, range=[-0.5, n - 0.5], fixedrange=True, constrain="domain")
    figure.update_yaxes(visible=False, range=[n - 0.5, -0.5], fixedrange=True)
    seen = list(range(n)) if named else [asking]
    for row in range(down):
        figure.update_yaxes(
            visible=True, tickvals=seen, ticktext=[shown[i] for i in seen], showgrid=False, zeroline=False, automargin=True, tickfont={"size": 12, "color": theme.MUTED}, row=row + 1, col=1,
        )  # fmt: skip
    scale = [[i / (len(theme.SEQUENTIAL) - 1), each] for i, each in enumerate(theme.SEQUENTIAL)]
    figure.update_layout(
        template=theme.template(), height=height if down > 1 else height * 3 // 5, margin={"l": 2, "r": 2, "t": 26, "b": 44}, plot_bgcolor=theme.SURFACE,
        coloraxis={"cmin": 0, "cmax": 1, "colorscale": scale, "colorbar": {
            "orientation": "h", "tickformat": ".0%", "tickvals": [0, 0.5, 1], "len": 0.4, "thickness": 10, "x": 0, "xanchor": "left", "xpad": 26, "y": -0.02, "yanchor": "top",
        }},
    )  # fmt: skip
    return figure
