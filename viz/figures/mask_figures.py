"""How much leaks through a mask made of a finite number: two curves over that number."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

import numpy as np
import plotly.graph_objects as go

from viz import theme

Array = np.ndarray[Any, np.dtype[Any]]


def leak(fills: Array, curves: Mapping[str, Array], *, marked: float, height: int = 330) -> go.Figure:
    """The largest leak of a row (0 to 1) over the number that stands for -inf, one line a curve, labelled at its end.

    `fills` are negative; the axis runs to the right towards -inf in equal factors. `marked` draws the number chosen.
    Shapes: fills (point,), each curve (point,).
    Errors: ValueError when a number is not negative or a curve has another length.

    >>> figure = leak(np.array([-1.0, -10.0]), {"outside": np.array([0.2, 0.0])}, marked=-10)
    >>> figure.data[0].x
    (1.0, 10.0)
    """
    if not (fills < 0).all():
        raise ValueError(f"fills={fills.tolist()} must all be negative")
    if any(len(curve) != len(fills) for curve in curves.values()):
        raise ValueError(f"each curve needs {len(fills)} points, one a number")
    figure = go.Figure()
    for i, (name, curve) in enumerate(curves.items()):
        colour = theme.CATEGORICAL[i]
        figure.add_scatter(
            x=(-fills).tolist(), y=curve.tolist(), mode="lines", name=escape(name), line={"color": colour, "width": 2.5},
            customdata=fills.tolist(), hovertemplate="%{customdata:.3g}: %{y:.2%} leaks<extra>" + escape(name) + "</extra>",
        )  # fmt: skip
    ticks = [value for value in (1, 10, 100, 1e3, 1e4) if -fills.max() <= value <= -fills.min()]
    figure.add_vline(x=-marked, line={"color": theme.MUTED, "width": 1, "dash": "dot"})
    figure.update_xaxes(
        type="log",
        tickvals=ticks,
        ticktext=[f"−{value:,.0f}" for value in ticks],
        title_text="the number in place of −∞",
    )
    figure.update_yaxes(range=[-0.01, 1.02], tickformat=".0%", title_text="largest leak of a row")
    figure.update_layout(
        template=theme.template(), height=height, margin={"l": 8, "r": 8, "t": 36, "b": 8},
        legend={"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
    )  # fmt: skip
    return figure
