"""Probabilities before and after, as two bars a word."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from viz import theme
from viz.figures.kept import kept
from viz.labels import percent, plain

Array = np.ndarray
ROW = 38


@kept
def pairs(words: Sequence[str], before: Array, after: Array, names: tuple[str, str] = ("before", "after")) -> go.Figure:
    """A row a word, two bars each: the pale one before, the strong one after; the percentages stand behind the bars.

    >>> pairs(["cat", "dog"], np.array([0.5, 0.1]), np.array([0.2, 0.3])).data[1].text
    ('20 %', '30 %')
    """
    places = list(range(len(words)))
    figure = go.Figure()
    for name, values, colour in ((names[0], before, theme.SEQUENTIAL[3]), (names[1], after, theme.PRIMARY)):
        figure.add_bar(
            x=[float(value) for value in values], y=places, orientation="h", name=name, marker={"color": colour, "line": {"width": 0}},
            text=[percent(float(value)) for value in values], textposition="outside", cliponaxis=False,
            textfont={"size": 12, "color": theme.TEXT}, hoverinfo="skip",
        )  # fmt: skip
    most = max([float(value) for values in (before, after) for value in values] + [1e-9])
    figure.update_xaxes(visible=False, range=[0, most * 1.02], fixedrange=True)
    figure.update_yaxes(
        tickvals=places, ticktext=[plain(word) for word in words], range=[len(words) - 0.45, -0.55], fixedrange=True, showgrid=False,
        zeroline=False, tickfont={"size": 14, "color": theme.TEXT}, automargin=True, ticks="outside", ticklen=6, tickcolor="rgba(0,0,0,0)",
    )  # fmt: skip
    figure.update_layout(
        template=theme.template(), barmode="group", bargap=0.28, bargroupgap=0.06, height=44 + ROW * len(words),
        margin={"l": 4, "r": 52, "t": 30, "b": 2}, showlegend=True,
        legend={"orientation": "h", "x": 0, "y": 1.0, "yanchor": "bottom", "traceorder": "normal"},
    )  # fmt: skip
    return figure
