"""Local attention over a source: the window, and softmax, Gaussian and their product at each word."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from viz import theme
from viz.charts.parts.figures import draw_once
from viz.labels import plotly_label
from viz.languages import _
from viz.number_text import number

Array = np.ndarray[Any, np.dtype[Any]]
STILL: dict[str, Any] = {"zeroline": False, "fixedrange": True}
SOFTMAX, GAUSSIAN, PRODUCT = theme.CATEGORICAL[1], theme.CATEGORICAL[2], theme.CATEGORICAL[0]


@draw_once
def local_row(
    words: Sequence[str],
    align: Array,
    product: Array,
    curve: tuple[Array, Array],
    *,
    centre: float,
    window: tuple[float, float] | None,
) -> go.Figure:
    """Draw local attention: at each source word a bar of the softmax and one of its product with the Gaussian, which is a smooth curve.

    The window is the shaded part (None: no window), the centre its dotted line.
    Shapes: words, align, product (key,); the curve x and y (point,).

    >>> one = np.ones(1)
    >>> [t.name for t in local_row(["a"], one, one, (one, one), centre=0.0, window=None).data]
    ['softmax', 'product', 'Gaussian']
    """
    places = np.arange(len(words))
    figure = go.Figure()
    for name, values, colour, shift in (
        ("softmax", align, SOFTMAX, -0.19),
        (_("product"), product, PRODUCT, 0.19),
    ):
        figure.add_bar(
            x=places + shift,
            y=values,
            width=0.34,
            name=name,
            marker={"color": colour, "line": {"width": 0}},
            customdata=[plotly_label(word) for word in words],
            hovertemplate="%{customdata}: %{y:.4f}<extra>" + name + "</extra>",
        )
    x, y = curve
    figure.add_scatter(
        x=x, y=y, mode="lines", name=_("Gaussian"), line={"color": GAUSSIAN, "width": 2.6}, hoverinfo="skip"
    )
    if window is not None:
        shade: dict[str, Any] = {"fillcolor": theme.SEQUENTIAL[1], "opacity": 0.6, "line_width": 0}
        figure.add_vrect(*window, **shade, layer="below")
    figure.add_vline(x=centre, line={"color": GAUSSIAN, "width": 1.6, "dash": "dot"})
    figure.add_annotation(
        text=f"p<sub>t</sub> = {number(centre)}",
        x=centre,
        y=1.0,
        yref="y domain",
        yanchor="bottom",
        showarrow=False,
        font={"size": 14, "color": GAUSSIAN},
    )
    figure.update_xaxes(
        range=[-0.6, len(words) - 0.4],
        tickvals=places,
        ticktext=[plotly_label(word) for word in words],
        tickfont={"size": 15, "color": theme.TEXT},
        tickangle=0 if len(words) <= 9 else -45,
        showgrid=False,
        **STILL,
    )
    figure.update_yaxes(range=[0, 1.03], tickvals=[0, 0.25, 0.5, 0.75, 1], **STILL)
    return _dressed(figure, 360)


def _dressed(figure: go.Figure, height: int, *, top: int = 56) -> go.Figure:
    return figure.update_layout(
        template=theme.template(),
        height=height,
        margin={"l": 8, "r": 12, "t": top, "b": 8},
        hovermode="closest",
        legend={"orientation": "h", "x": 0, "y": 1.1, "yanchor": "bottom"},
    )
