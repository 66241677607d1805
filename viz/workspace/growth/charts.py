"""A training in two curves, one above the other: the loss, and what each head has come to do; moments are marked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from viz import theme
from viz.charts.parts.figures import draw_once
from viz.labels import plotly_label

Points = Sequence[tuple[float, float]]
PANELS: tuple[dict[str, Any], ...] = ({"row": 1, "col": 1}, {"row": 2, "col": 1})


def place(step: float) -> float:
    """Return the position of a step on the axis: equal factors are equally far apart, and step 0 has a position, too.

    >>> place(0), round(place(99), 6)
    (0.0, 2.0)
    """
    return float(np.log10(1 + step))


@draw_once
def course(
    loss: Points,
    heads: Mapping[str, Points],
    selected: str,
    marks: Mapping[str, int],
    *,
    loss_name: str,
    score_name: str,
) -> go.Figure:
    """Draw the loss above, the scores of all heads below, `selected` in colour; `marks` are steps by the words beside them.

    >>> figure = course([(0, 4.0), (10, 2.0)], {"L0.H0": [(0, 0.1), (10, 0.9)]}, "L0.H0", {"now": 10}, loss_name="loss", score_name="score")
    >>> [trace.y for trace in figure.data]
    [(4.0, 2.0), (0.1, 0.9)]
    """
    figure = make_subplots(
        rows=2,
        cols=1,
        shared_xaxes=True,
        vertical_spacing=0.14,
        subplot_titles=(
            plotly_label(loss_name).replace("·", " "),
            plotly_label(score_name).replace("·", " "),
        ),
    )
    _line(figure, 1, "loss", loss, theme.CATEGORICAL[1], 2)
    for name in sorted(heads, key=lambda name: name == selected):  # the selected one is on top
        _line(
            figure,
            2,
            name,
            heads[name],
            theme.PRIMARY if name == selected else theme.SEQUENTIAL[3],
            2 if name == selected else 1,
        )
    for number, (name, step) in enumerate(marks.items()):
        for at in PANELS:
            figure.add_vline(
                x=place(step),
                line={
                    "color": theme.TEXT if number == 0 else theme.MUTED,
                    "width": 1.5 if number == 0 else 1,
                    "dash": "solid" if number == 0 else "dot",
                },
                **at,
            )
        figure.add_annotation(
            text=plotly_label(name).replace("·", " "),
            x=place(step),
            xref="x",
            y=1,
            yref="y domain",
            yanchor="top",
            yshift=-14 * number,
            xanchor="left" if step < max(x for x, _ in loss) / 20 else "right",
            xshift=4 if step < max(x for x, _ in loss) / 20 else -4,
            showarrow=False,
            font={"size": 13, "color": theme.MUTED},
        )
    ticks = [0, *(10**power for power in range(7) if 10**power <= max(x for x, _ in loss))]
    figure.update_xaxes(
        tickvals=[place(step) for step in ticks],
        ticktext=[f"{step:,}" for step in ticks],
        showgrid=False,
        zeroline=False,
        fixedrange=True,
    )
    figure.update_xaxes(title_text="steps of training", row=2, col=1)
    figure.update_yaxes(zeroline=False, fixedrange=True, nticks=5, rangemode="tozero")
    figure.update_yaxes(range=[0, 1.05], row=2, col=1)
    titles: list[Any] = list(figure.select_annotations())[:2]
    for title in titles:
        title.update(x=0, xanchor="left", font={"size": 13, "color": theme.MUTED})
    figure.update_layout(
        template=theme.template(), height=380, margin={"l": 8, "r": 12, "t": 26, "b": 8}, showlegend=False
    )
    return figure


def _line(figure: go.Figure, row: int, name: str, points: Points, colour: str, width: float) -> None:
    steps = [step for step, _ in points]
    figure.add_scatter(
        x=[place(step) for step in steps],
        y=[value for _, value in points],
        customdata=steps,
        mode="lines+markers",
        name=name,
        row=row,
        col=1,
        line={"color": colour, "width": width},
        marker={"color": colour, "size": 3 + width},
        hovertemplate=f"{name}, step %{{customdata:,}}: %{{y:.3f}}<extra></extra>",
    )
