"""Small pictures of an erratum's evidence: a heatmap of weights, or a few bars with their numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from viz import theme
from viz.charts.parts.figures import draw_once
from viz.labels import plotly_label

Array = np.ndarray[Any, np.dtype[Any]]
TALL = 34  # pixels a row


@draw_once
def weights(
    values: Array, rows: Sequence[str], columns: Sequence[str], title: str, places: int = 2
) -> go.Figure:
    """Return a heatmap of weights, 0 pale and 1 dark, the number in each cell; a weight that is no number stays empty.

    Shapes: values (row, column).

    >>> figure = weights(np.eye(2), ["a", "b"], ["a", "b"], "weights")
    >>> figure.data[0].zmin, figure.data[0].zmax
    (0, 1)
    """
    scale = [[i / (len(theme.SEQUENTIAL) - 1), colour] for i, colour in enumerate(theme.SEQUENTIAL)]
    figure = go.Figure(
        go.Heatmap(
            z=values,
            zmin=0,
            zmax=1,
            colorscale=scale,
            showscale=False,
            xgap=1,
            ygap=1,
            hovertemplate="%{z:.4f}<extra></extra>",
        )
    )
    for (row, column), value in np.ndenumerate(values):
        empty = np.isnan(value)
        figure.add_annotation(
            x=column,
            y=row,
            text="NaN" if empty else f"{value:.{places}f}",
            showarrow=False,
            font={"size": 13, "color": theme.TEXT if empty else theme.text_colour(value)},
        )
    _axes(figure, rows, columns)
    lines = 1 + max(name.count("\n") for name in columns)
    return _framed(figure, title, 56 + 18 * lines + TALL * len(rows))


def _axes(figure: go.Figure, rows: Sequence[str], columns: Sequence[str]) -> None:
    quiet = {"showgrid": False, "zeroline": False, "fixedrange": True, "ticks": ""}
    figure.update_xaxes(**_places(columns), side="bottom", **quiet)
    figure.update_yaxes(**_places(rows), autorange="reversed", **quiet)


def _places(names: Sequence[str]) -> dict[str, Any]:
    return {"tickvals": list(range(len(names))), "ticktext": [_plotly_text(name) for name in names]}


def _framed(figure: go.Figure, title: str, height: int) -> go.Figure:
    return figure.update_layout(
        template=theme.template(),
        height=height,
        margin={"l": 8, "r": 12, "t": 40, "b": 8},
        title={"text": _plotly_text(title), "font": {"size": 14, "family": theme.FONT, "color": theme.TEXT}},
    )


def _plotly_text(text: str) -> str:
    """Return a label as Plotly text: markup escaped, new lines as `<br>`, spaces as spaces.

    >>> _plotly_text("a · <b>\\nc")
    'a · &lt;b&gt;<br>c'
    """
    lines = ([plotly_label(word) if word else "" for word in line.split(" ")] for line in text.split("\n"))
    return "<br>".join(map(" ".join, lines))
