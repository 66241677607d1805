"""Scores of a model beside those of its baselines, as bars of one measure."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap

import plotly.graph_objects as go

from viz import theme
from viz.labels import plain

ROW = 30
WIDEST = 20
"""Letters of a name in one line: a phone has no room for more beside the bars."""


def bars(rows: Sequence[tuple[str, float, bool]], number: str = "{:.3g}", end: float | None = None) -> go.Figure:
    """One bar a row (name, value, whether it is the model's own), in the order given, from zero; values behind the bars.

    `end` is where the axis ends; None: with the longest bar.

    >>> bars([("gpt-mini", 1.49, True), ("trigram", 1.64, False)], "{:.2f}").data[0].text
    ('1.49', '1.64')
    """
    places = list(range(len(rows)))
    figure = go.Figure()
    figure.add_bar(
        x=[value for _, value, _ in rows], y=places, orientation="h", width=0.62, hoverinfo="skip", cliponaxis=False,
        text=[number.format(value) for _, value, _ in rows], textposition="outside", constraintext="none", textfont={"size": 14, "color": theme.TEXT},
        marker={"color": [theme.PRIMARY if own else theme.SEQUENTIAL[2] for _, _, own in rows], "line": {"width": 0}},
    )  # fmt: skip
    figure.update_xaxes(visible=False, range=[0, end or max([value for _, value, _ in rows] + [1e-9])], fixedrange=True)
    shown = [("<br>".join(wrap(plain(name).replace("·", " "), WIDEST)), own) for name, _, own in rows]
    names = [f"<b>{name}</b>" if own else name for name, own in shown]
    figure.update_yaxes(
        tickvals=places, ticktext=names, range=[len(rows) - 0.4, -0.6], fixedrange=True, showgrid=False, zeroline=False,
        ticks="outside", ticklen=8, tickcolor="rgba(0,0,0,0)", tickfont={"size": 14, "color": theme.TEXT}, automargin=True,
    )  # fmt: skip
    height = 12 + sum(ROW + 12 * name.count("<br>") for name, _ in shown)
    figure.update_layout(template=theme.template(), height=height, margin={"l": 4, "r": 60, "t": 2, "b": 2}, showlegend=False)
    return figure
