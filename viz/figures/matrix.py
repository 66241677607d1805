"""A matrix of signed numbers as a heatmap: diverging colours, centred on 0, one fixed scale shown beside it."""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go

from viz import theme

Array = np.ndarray[Any, np.dtype[Any]]


def signed_matrix(
    values: Array,
    *,
    rows: str,
    columns: str,
    limit: float = 1.0,
    unit: str = "value",
    square: bool = False,
    marked: int | None = None,
    height: int = 430,
) -> go.Figure:
    """Rows from top to bottom, columns from left to right, both counted from 0; pale is 0, the ends are -+limit.

    Values beyond the limit get the end's colour, and the scale then says "≥".

    `rows` and `columns` name the axes, `unit` the scale; `square` keeps the cells square; `marked` frames a row.
    Shapes: values (row, column).
    Errors: ValueError when values is no matrix or the limit is not positive.

    >>> figure = signed_matrix(np.eye(2), rows="position", columns="dimension")
    >>> figure.data[0].zmin, figure.data[0].zmax
    (-1.0, 1.0)
    """
    if values.ndim != 2:
        raise ValueError(f"values has {values.ndim} axes; a matrix has 2")
    if not limit > 0:
        raise ValueError(f"limit={limit} must be positive")
    n_rows, n_columns = values.shape
    scale = [[i / (len(theme.DIVERGING) - 1), colour] for i, colour in enumerate(theme.DIVERGING)]
    beyond = float(np.abs(values).max(initial=0)) > limit * (1 + 1e-6)
    ends = [f"{'≤ ' if beyond else ''}−{limit:.3g}", "0", f"{'≥ ' if beyond else ''}{limit:.3g}"]
    figure = go.Figure(
        go.Heatmap(
            z=values.astype(np.float32), zmin=-float(limit), zmax=float(limit), colorscale=scale,
            hovertemplate=f"{rows} %{{y}}, {columns} %{{x}}: %{{z:.4f}}<extra></extra>",
            colorbar={
                "orientation": "h", "x": 0, "xanchor": "left", "y": 1.0, "yanchor": "bottom", "thickness": 9,
                "lenmode": "pixels", "len": 200, "outlinewidth": 0, "ypad": 14, "xpad": 0,
                "tickvals": [-limit, 0, limit], "ticktext": ends, "tickfont": {"size": 12, "color": theme.MUTED},
                "title": {"text": unit, "side": "top", "font": {"size": 13, "color": theme.MUTED}},
            },
        )
    )  # fmt: skip
    axis = {"showgrid": False, "zeroline": False, "tickformat": "d", "constrain": "domain", "fixedrange": True}
    figure.update_xaxes(range=[-0.5, n_columns - 0.5], constraintoward="left", **axis)
    figure.update_xaxes(automargin=False)
    figure.add_annotation(
        text=columns, x=0.5, xref="x domain", y=0, yref="y domain", yshift=-26, yanchor="top", showarrow=False,
        font={"size": 13, "color": theme.MUTED},
    )  # fmt: skip
    figure.update_yaxes(title_text=rows, range=[n_rows - 0.5, -0.5], constraintoward="top", **axis)
    for update, n in ((figure.update_xaxes, n_columns), (figure.update_yaxes, n_rows)):
        if n <= 12:
            update(dtick=1)
    if square:
        figure.update_yaxes(scaleanchor="x", scaleratio=1)
    if marked is not None:
        figure.add_shape(
            type="rect", x0=-0.5, x1=n_columns - 0.5, y0=marked - 0.5, y1=marked + 0.5,
            line={"color": theme.TEXT, "width": 1.5 if n_rows <= 64 else 1},
        )  # fmt: skip
    figure.update_layout(template=theme.template(), height=height, margin={"l": 8, "r": 8, "t": 76, "b": 46})
    return figure
