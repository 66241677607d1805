"""A text as a product of conditionals: the logarithm of each token's probability as a bar, and the sum so far below."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from viz import theme
from viz.figures.curves import number
from viz.labels import plain

Array = np.ndarray[Any, np.dtype[Any]]
WRITTEN = 14
"""Up to so many bars say their number."""


def bars(tokens: Sequence[str], now: Array | None, full: Array | None = None, *, marked: int | None = None, height: int = 380) -> go.Figure:
    """ln P of each token as a bar that hangs from 0, and below it the running sum; None: covered.

    `full` draws pale bars and a dotted sum behind: the same with everything in sight. Shapes: (n,).

    >>> figure = bars(["a", "b"], np.array([-1.0, -2.0]))
    >>> [list(trace.y) for trace in figure.data]
    [[-1.0, -2.0], [-1.0, -3.0]]
    """
    n, places = len(tokens), list(range(len(tokens)))
    known = [each for each in (now, full) if each is not None]
    deepest = min([float(each.min()) for each in known] + [-1.0])
    figure = make_subplots(rows=2, cols=1, shared_xaxes=True, row_heights=[0.66, 0.34], vertical_spacing=0.1)
    if full is not None:
        figure.add_bar(x=places, y=full.tolist(), width=0.8, marker={"color": theme.SEQUENTIAL[2], "line": {"width": 0}}, name="everything before", row=1, col=1,
                       hovertemplate="all before it: %{y:.3f}<extra></extra>")  # fmt: skip
    if now is not None:
        few = n <= WRITTEN
        colours = [theme.CATEGORICAL[1] if place == marked else theme.PRIMARY for place in places]
        figure.add_bar(x=places, y=now.tolist(), width=0.42 if full is not None else 0.66, marker={"color": colours, "line": {"width": 0}}, name="the window" if full is not None else "ln P", row=1, col=1,
                       text=[number(float(value), 1) if few else "" for value in now], textposition="outside", textfont={"size": 13, "color": theme.TEXT}, cliponaxis=False, constraintext="none",
                       hovertemplate="ln P = %{y:.3f}<extra></extra>")  # fmt: skip
    for values, dash, colour in ((full, "dot", theme.SEQUENTIAL[4]), (now, "solid", theme.PRIMARY)):
        if values is None:
            continue
        total = np.cumsum(values)
        figure.add_scatter(x=places, y=total.tolist(), mode="lines+markers", line={"color": colour, "width": 2.5, "dash": dash}, marker={"size": 5, "color": colour}, showlegend=False, row=2, col=1,
                           hovertemplate="sum so far: %{y:.2f}<extra></extra>")  # fmt: skip
    if not known:
        for place in places:
            figure.add_annotation(x=place, y=-0.5, text="?", showarrow=False, font={"size": 20, "color": theme.CATEGORICAL[1]}, row=1, col=1)
        figure.update_yaxes(range=[-1, 0], showticklabels=False)
    else:
        figure.update_yaxes(range=[deepest * 1.2, 0], row=1, col=1)
        figure.update_yaxes(range=[min(float(each.sum()) for each in known) * 1.12, 0], row=2, col=1)
    names = [plain(token) for token in tokens]
    figure.update_xaxes(range=[-0.6, n - 0.4], showgrid=False, zeroline=False, fixedrange=True)
    figure.update_xaxes(tickvals=places, ticktext=names, showticklabels=True, tickangle=0 if n <= 9 else -50, tickfont={"size": 14 if n <= 24 else 11, "color": theme.TEXT}, side="top", row=1, col=1)
    figure.update_xaxes(showticklabels=False, row=2, col=1)
    figure.update_yaxes(fixedrange=True, zeroline=True, zerolinecolor=theme.LINE, nticks=4)
    figure.update_yaxes(title_text="ln P", row=1, col=1)
    figure.update_yaxes(title_text="sum so far", row=2, col=1)
    return figure.update_layout(template=theme.template(), height=height, barmode="overlay", margin={"l": 8, "r": 12, "t": 12, "b": 8}, showlegend=full is not None and now is not None,
                                legend={"orientation": "h", "x": 0, "y": -0.04, "yanchor": "top"})  # fmt: skip
