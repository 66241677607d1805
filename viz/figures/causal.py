"""The causal mask in pictures: how often the next digit is said right, place by place; sums over the words so far."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from viz import theme
from viz.labels import plain

Array = np.ndarray[Any, np.dtype[Any]]
LOW = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
MOST_NUMBERS = 14
"""Up to so many words a line's weights are written into its cells."""


def rightness(shares: Mapping[str, Array], chance: float, last: str = "writes", *, places: int = 0, height: int = 340) -> go.Figure:
    """One group of bars a place, one bar a model: the share of lists whose next digit it says right; dashed is chance.

    `last` is written under the last place; `places` says how many there are while nothing is shown.
    Shapes: each of `shares` (place,), 0 to 1.

    >>> rightness({"a": np.array([1.0, 0.1])}, 0.1).data[0].text
    ('100', '10')
    """
    n = max([places, *map(len, shares.values())])
    figure = go.Figure()
    for hue, (name, values) in enumerate(shares.items()):
        figure.add_bar(
            x=list(range(n)), y=[float(v) for v in values], name=plain(name).replace("·", " "), text=[f"{100 * v:.0f}" for v in values],
            textposition="outside", textangle=0, constraintext="none", cliponaxis=False, textfont={"size": 13, "color": theme.TEXT}, marker={"color": theme.CATEGORICAL[hue], "line": {"width": 0}},
            hovertemplate="%{y:.1%} right<extra>%{fullData.name}</extra>",
        )  # fmt: skip
    if not shares:
        figure.add_annotation(x=0.45, xref="paper", y=0.5, yref="paper", text="?", showarrow=False, font={"size": 30, "color": theme.MUTED})
    if n:
        figure.add_vrect(x0=n - 1.5, x1=n - 0.5, fillcolor=theme.MUTED, opacity=0.12, line_width=0, layer="below")
    figure.add_scatter(x=[-0.55, n - 0.45], y=[chance, chance], mode="lines", name=f"chance: {chance:.0%}".replace("%", " %"), hoverinfo="skip",
                       line={"color": theme.MUTED, "width": 1.5, "dash": "dash"})  # fmt: skip
    figure.update_xaxes(tickvals=list(range(n)), ticktext=[*(str(i + 1) for i in range(n - 1)), f"{n}<br>{plain(last).replace('·', ' ')}"], title_text="place in the list",
                        range=[-0.55, n - 0.45], showgrid=False, zeroline=False, fixedrange=True, tickfont={"size": 14})  # fmt: skip
    figure.update_yaxes(title_text="next digit right", tickformat=".0%", range=[0, 1.12], tickvals=[0, 0.5, 1], zeroline=True, fixedrange=True)
    figure.update_layout(
        template=theme.template(), barmode="group", bargap=0.25, height=height, margin={"l": 8, "r": 8, "t": 34, "b": 8}, showlegend=True,
        legend={"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
    )  # fmt: skip
    return figure


def sums(weights: Array, words: Sequence[str], shown: int, *, height: int | None = None) -> go.Figure:
    """The prefix form as lines: y_i is as many cells as words were read, each with its weight, a plus between them.

    Only the first `shown` lines are drawn; what a line does not sum has no cell at all. Shapes: weights (query key).

    >>> figure = sums(np.array([[1.0, 0.0], [0.25, 0.75]]), ["a", "b"], 2)
    >>> [note.text for note in figure.layout.annotations]
    ['1.00', '0.25', '0.75', '+']
    """
    n = len(words)
    cells = np.where(np.tri(n, dtype=bool) & (np.arange(n) < shown)[:, None], weights, np.nan)
    scale = [[i / (len(theme.SEQUENTIAL) - 1), colour] for i, colour in enumerate(theme.SEQUENTIAL)]
    figure = go.Figure(go.Heatmap(
        z=cells, x=list(range(n)), y=list(range(n)), zmin=0, zmax=1, colorscale=scale, showscale=False, xgap=14 if n <= MOST_NUMBERS else 2, ygap=5 if n <= MOST_NUMBERS else 1, hoverongaps=False,
        hovertemplate="line %{y}, word %{x}: %{z:.4f}<extra></extra>",
    ))  # fmt: skip
    for i in range(shown if n <= MOST_NUMBERS else 0):
        for j in range(i + 1):
            dark = weights[i, j] > 0.5
            frame = {"bordercolor": theme.MUTED, "borderwidth": 1, "borderpad": 3} if weights[i, j] < 0.1 else {}  # a pale cell is a term as well
            figure.add_annotation(x=j, y=i, text=f"{weights[i, j]:.2f}", showarrow=False, font={"size": 13, "color": theme.BACKGROUND if dark else theme.TEXT}, **frame)
        for j in range(i):
            figure.add_annotation(x=j + 0.5, y=i, text="+", showarrow=False, font={"size": 14, "color": theme.MUTED})
    quiet = {"showgrid": False, "zeroline": False, "fixedrange": True, "ticks": ""}
    places, size = list(range(n)), 14 if n <= MOST_NUMBERS else 12
    figure.update_xaxes(tickvals=places, ticktext=[plain(word) for word in words], side="top", range=[-0.55, n - 0.45], tickfont={"size": size},
                        tickangle=0 if n <= 9 else -55, **quiet)  # fmt: skip
    figure.update_yaxes(tickvals=places, ticktext=[f"y{str(i + 1).translate(LOW)} =" for i in places], range=[n - 0.5, -0.5], tickfont={"size": size, "color": theme.TEXT}, **quiet)
    figure.update_layout(template=theme.template(), height=height or 60 + 34 * n, margin={"l": 8, "r": 8, "t": 40 if n <= 9 else 80, "b": 4})
    return figure
