"""Probabilities before and after, as two bars a word."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from viz import theme
from viz.charts.parts.figures import draw_once
from viz.labels import percent, plotly_label

Array = np.ndarray
ROW = 38


@draw_once
def pairs(
    words: Sequence[str],
    before: Array,
    after: Array,
    names: tuple[str, str] = ("before", "after"),
    number: Callable[[float], str] = percent,
) -> go.Figure:
    """Draw a row for each word, two bars each: the pale one before, the strong one after; the numbers follow the bars, as percentages.

    >>> pairs(["cat", "dog"], np.array([0.5, 0.1]), np.array([0.2, 0.3])).data[1].text
    ('20%', '30%')
    """
    bars = [
        {
            "type": "bar",
            "x": [float(value) for value in values],
            "y": list(range(len(words))),
            "orientation": "h",
            "name": name,
            "marker": {"color": colour, "line": {"width": 0}},
            "text": [number(float(value)) for value in values],
            "textposition": "outside",
            "cliponaxis": False,
            "textfont": {"size": 12, "color": theme.TEXT},
            "hoverinfo": "skip",
        }
        for name, values, colour in (
            (names[0], before, theme.SEQUENTIAL[3]),
            (names[1], after, theme.PRIMARY),
        )
    ]
    every = [float(value) for values in (before, after) for value in values]
    return go.Figure(
        bars, _shape([plotly_label(word) for word in words], min([*every, 0.0]), max([*every, 1e-9]))
    )


def _shape(words: list[str], least: float, most: float) -> dict[str, Any]:
    """Return the layout in one piece: Plotly checks the whole of it again with each part that is set afterwards."""
    return {
        "template": theme.template(),
        "barmode": "group",
        "bargap": 0.28,
        "bargroupgap": 0.06,
        "height": 44 + ROW * len(words),
        "margin": {"l": 4, "r": 52, "t": 30, "b": 2},
        "showlegend": True,
        "legend": {"orientation": "h", "x": 0, "y": 1.0, "yanchor": "bottom", "traceorder": "normal"},
        "xaxis": {
            "visible": False,
            "range": [least - 0.1 * (most - least) * (least < 0), most + 0.02 * (most - least)],
            "fixedrange": True,
        },
        "yaxis": {
            "tickvals": list(range(len(words))),
            "ticktext": words,
            "range": [len(words) - 0.45, -0.55],
            "fixedrange": True,
            "showgrid": False,
            "zeroline": False,
            "tickfont": {"size": 14, "color": theme.TEXT},
            "automargin": True,
            "ticks": "outside",
            "ticklen": 6,
            "tickcolor": "rgba(0,0,0,0)",
        },
    }
