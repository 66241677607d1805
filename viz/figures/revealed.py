"""A few probabilities as bars, some of them still hidden."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from viz import theme
from viz.figures.pairs import percent
from viz.labels import plain

ROW = 44


def revealed(rows: Sequence[tuple[str, float | None, bool]]) -> go.Figure:
    """One bar a row (name, probability or None while it is hidden, whether it is the visitor's own), in the order given.

    >>> revealed([("even", 0.1, False), ("yours", None, True)]).data[0].text
    ('10 %', '?')
    """
    places = list(range(len(rows)))
    figure = go.Figure()
    figure.add_bar(
        x=[value or 0.0 for _, value, _ in rows], y=places, orientation="h", width=0.6, hoverinfo="skip", cliponaxis=False,
        text=["?" if value is None else percent(value) for _, value, _ in rows], textposition="outside", constraintext="none", textfont={"size": 15, "color": theme.TEXT},
        marker={"color": [theme.PRIMARY if own else theme.SEQUENTIAL[3] for _, _, own in rows], "line": {"width": 0}},
    )  # fmt: skip
    figure.update_xaxes(visible=False, range=[0, max([value or 0.0 for _, value, _ in rows] + [0.05]) * 1.02], fixedrange=True)
    figure.update_yaxes(
        tickvals=places, ticktext=[plain(name).replace("·", " ") for name, _, _ in rows], range=[len(rows) - 0.45, -0.55], fixedrange=True,
        showgrid=False, zeroline=False, tickfont={"size": 15, "color": theme.TEXT}, automargin=True, ticks="outside", ticklen=8, tickcolor="rgba(0,0,0,0)",
    )  # fmt: skip
    figure.update_layout(template=theme.template(), height=16 + ROW * len(rows), margin={"l": 4, "r": 60, "t": 4, "b": 4}, showlegend=False)
    return figure
