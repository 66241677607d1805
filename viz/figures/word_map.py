"""Words as places of a plane with the sum that leads from three of them to a fourth; one number for every head of a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from viz import theme
from viz.labels import plain, shorten

Array = np.ndarray[Any, np.dtype[Any]]


def word_map(names: Sequence[str], places: Array, best: int) -> go.Figure:
    """Places (word + 1, 2): the first three words are a, b, c, then others, last the sum. The arrow from b to a, and the same from c to the sum.

    >>> word_map(["a", "b", "c", "d"], np.array([[1.0, 1], [1, 0], [0, 0], [0, 1], [0, 1]]), 3).data[0].text
    ('a', 'b', 'c', 'd')
    """
    figure, shown = go.Figure(), [plain(shorten(name, 16)).replace("·", " ") for name in names]
    x, y = places[:, 0].astype(float), places[:, 1].astype(float)
    colours = [theme.CATEGORICAL[1] if i == best else theme.TEXT if i < 3 else theme.MUTED for i in range(len(names))]
    figure.add_scatter(
        x=x[:-1], y=y[:-1], mode="markers+text", text=shown, textposition="top center", textfont={"size": 14, "color": colours},
        marker={"size": [11 if i < 3 or i == best else 7 for i in range(len(names))], "color": colours}, hoverinfo="skip", cliponaxis=False,
    )  # fmt: skip
    figure.add_scatter(x=x[-1:], y=y[-1:], mode="markers", marker={"size": 20, "symbol": "circle-open", "color": theme.CATEGORICAL[1], "line": {"width": 3}},
                       hovertemplate="the sum<extra></extra>")  # fmt: skip
    for start, end in ((1, 0), (2, len(places) - 1)):
        figure.add_annotation(x=x[end], y=y[end], ax=x[start], ay=y[start], xref="x", yref="y", axref="x", ayref="y", showarrow=True, text="",
                              arrowhead=2, arrowsize=1.2, arrowwidth=2, arrowcolor=theme.PRIMARY, standoff=8, startstandoff=6)  # fmt: skip
    bare = {"showticklabels": False, "zeroline": False, "fixedrange": True}
    room = 0.14 * max(float(np.ptp(x)), float(np.ptp(y)), 1e-6)
    figure.update_xaxes(range=[x.min() - 1.6 * room, x.max() + 1.6 * room], **bare)
    figure.update_yaxes(range=[y.min() - room, y.max() + 1.3 * room], scaleanchor="x", scaleratio=1, **bare)
    figure.update_layout(template=theme.template(), height=400, margin={"l": 4, "r": 4, "t": 4, "b": 4}, showlegend=False)
    return figure


def heads(values: Array, chosen: tuple[int, int], name: str) -> go.Figure:
    """A number from 0 to 1 for each head (layer, head), the chosen one framed.

    >>> heads(np.eye(2), (0, 1), "looks at itself").data[0].z.shape
    (2, 2)
    """
    layers = len(values)
    scale = [[i / (len(theme.SEQUENTIAL) - 1), colour] for i, colour in enumerate(theme.SEQUENTIAL)]
    figure = go.Figure(go.Heatmap(
        z=values.astype(float), zmin=0, zmax=1, colorscale=scale, showscale=False, xgap=2, ygap=2, text=[[f"{v:.0%}" for v in row] for row in values],
        texttemplate="%{text}", textfont={"size": 13}, hovertemplate=f"L%{{y}}.H%{{x}}: %{{z:.1%}}<extra>{plain(name)}</extra>",
    ))  # fmt: skip
    layer, head = chosen
    figure.add_shape(type="rect", x0=head - 0.5, x1=head + 0.5, y0=layer - 0.5, y1=layer + 0.5, line={"color": theme.CATEGORICAL[1], "width": 3})
    figure.update_xaxes(title_text="head", dtick=1, fixedrange=True, showgrid=False, zeroline=False)
    figure.update_yaxes(title_text="layer", dtick=1, autorange="reversed", fixedrange=True, showgrid=False, zeroline=False)
    figure.update_layout(template=theme.template(), height=70 + 34 * layers, margin={"l": 4, "r": 4, "t": 4, "b": 4})
    return figure
