"""The course of a training: what was measured on the way, over steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import plotly.graph_objects as go

from viz import theme
from viz.charts.parts.figures import draw_once
from viz.labels import plotly_label


@draw_once
def learning(
    lines: Mapping[str, Sequence[tuple[float, float]]], *, x_title: str = "steps", unit: str = "step "
) -> go.Figure:
    """Return one line a quantity by name, of (step, value), with a dot where it was measured.

    >>> learning({"loss": [(0, 4.0), (10, 2.0)]}).data[0].y
    (4.0, 2.0)
    """
    figure = go.Figure()
    for number, (name, points) in enumerate(lines.items()):
        colour = theme.CATEGORICAL[number % len(theme.CATEGORICAL)]
        figure.add_scatter(
            x=[step for step, _ in points],
            y=[value for _, value in points],
            mode="lines+markers",
            name=plotly_label(name).replace("·", " "),
            line={"color": colour, "width": 2},
            marker={"color": colour, "size": 6},
            hovertemplate=f"{unit}%{{x:,}}: %{{y:.3f}}",
        )
    figure.update_xaxes(
        title_text=x_title, rangemode="tozero", zeroline=False, showgrid=False, fixedrange=True
    )
    figure.update_yaxes(zeroline=False, fixedrange=True, nticks=6)
    figure.update_layout(
        template=theme.template(),
        height=280,
        margin={"l": 8, "r": 12, "t": 8, "b": 8},
        showlegend=True,
        legend={"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
    )
    return figure
