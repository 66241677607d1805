"""A drawn picture under a grid of patches: lit where attention is, veiled where it is not; and what is read from it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from viz import theme
from viz.labels import plain

Array = np.ndarray[Any, np.dtype[Any]]
VEIL = 0.9
"""How much a patch without any weight is covered."""


class Painted(Protocol):
    """One shape of a picture: colour, points (corners; of an ellipse centre and half sizes), whether it is an ellipse."""

    @property
    def colour(self) -> str: ...
    @property
    def points(self) -> Sequence[tuple[float, float]]: ...
    @property
    def round(self) -> bool: ...


def place_name(row: int, column: int) -> str:
    """A patch by letter and number, as on a chessboard seen from its upper left.

    >>> place_name(1, 2)
    'C2'
    """
    return f"{chr(ord('A') + column)}{row + 1}"


def lit(
    shapes: Sequence[Painted], size: tuple[int, int], grid: tuple[int, int], weights: Array | None = None, *,
    framed: int | None = None, asked: int | None = None, told: float | None = None, height: int = 420,
) -> go.Figure:
    """The picture (width, height in units of `size`) with a veil on each patch, thinner the more it weighs.

    The patch with the largest weight is clear. framed: the patch that was drawn, asked: the one that asks (dashed).
    told: patches with at least this weight say it. Points over the patches take clicks and tell their weights.

    >>> figure = lit((), (2, 1), (1, 2), np.array([0.75, 0.25]))
    >>> [round(shape.opacity, 2) for shape in figure.layout.shapes], figure.data[0].customdata
    ([0.0, 0.6], (0, 1))
    """
    (width, tall), (rows, columns) = size, grid
    dx, dy = width / columns, tall / rows
    cells = [(column * dx, row * dy) for row in range(rows) for column in range(columns)]
    painted = [_shape(shape, width, tall) for shape in shapes]
    names = [place_name(row, column) for row in range(rows) for column in range(columns)]
    figure = go.Figure()
    if weights is not None:
        if len(weights) != len(cells):
            raise ValueError(f"{len(weights)} weights for {len(cells)} patches")
        seen = weights / weights.max()
        painted += [
            {"type": "rect", "x0": x, "y0": y, "x1": x + dx, "y1": y + dy, "fillcolor": theme.BACKGROUND,
             "opacity": float(VEIL * (1 - share)), "line": {"width": 0}}
            for (x, y), share in zip(cells, seen, strict=True)
        ]  # fmt: skip
    for place, dash in ((asked, "dot"), (framed, "solid")):
        if place is not None:
            x, y = cells[place]
            painted.append({"type": "rect", "x0": x, "y0": y, "x1": x + dx, "y1": y + dy, "fillcolor": "rgba(0,0,0,0)",
                            "line": {"color": theme.CATEGORICAL[1 if dash == "solid" else 0], "width": 4, "dash": dash}})  # fmt: skip
    share = np.zeros(len(cells)) if weights is None else weights
    hover = names if weights is None else [f"{name}: {value:.2%}" for name, value in zip(names, share, strict=True)]
    figure.add_scatter(
        x=[x + dx / 2 for x, _ in cells], y=[y + dy / 2 for _, y in cells], mode="markers", showlegend=False,
        marker={"size": 0.9 * height / rows, "symbol": "square", "opacity": 0.0}, text=hover,
        hovertemplate="%{text}<extra></extra>", customdata=list(range(len(cells))),
        selected={"marker": {"opacity": 0.0}}, unselected={"marker": {"opacity": 0.0}},
    )  # fmt: skip
    if told is not None and weights is not None:
        for place in np.flatnonzero(weights >= told):
            x, y = cells[place]
            figure.add_annotation(
                x=x + dx / 2, y=y + dy / 2, text=f"{weights[place]:.0%}", showarrow=False, bgcolor=theme.BACKGROUND,
                borderpad=2, font={"size": 13, "color": theme.TEXT},
            )  # fmt: skip
    quiet = {"showgrid": False, "zeroline": False, "fixedrange": True, "ticks": ""}
    figure.update_xaxes(range=[0, width], constrain="domain", side="top", tickvals=[(c + 0.5) * dx for c in range(columns)],
                        ticktext=[chr(ord("A") + c) for c in range(columns)], **quiet)  # fmt: skip
    figure.update_yaxes(range=[tall, 0], scaleanchor="x", scaleratio=1, constrain="domain",
                        tickvals=[(r + 0.5) * dy for r in range(rows)], ticktext=[str(r + 1) for r in range(rows)], **quiet)  # fmt: skip
    figure.update_layout(template=theme.template(), shapes=painted, height=height, margin={"l": 8, "r": 8, "t": 26, "b": 8},
                         dragmode=False, clickmode="event+select", hovermode="closest")  # fmt: skip
    return figure


def _shape(shape: Painted, width: float, tall: float) -> dict[str, Any]:
    look = {"fillcolor": shape.colour, "line": {"width": 0}, "layer": "below"}
    if shape.round:
        (cx, cy), (rx, ry) = shape.points
        return {"type": "circle", "x0": cx - rx, "x1": cx + rx, "y0": cy - ry, "y1": cy + ry, **look}
    corners = " L ".join(f"{min(max(x, 0), width):g} {min(max(y, 0), tall):g}" for x, y in shape.points)
    return {"type": "path", "path": f"M {corners} Z", **look}


def reads(images: Sequence[tuple[str, Array | None]], height: int = 190) -> go.Figure:
    """Small pictures in a row, each (title, (side, side, 3) from 0 to 1, or None for one that is still covered).

    >>> reads([("soft", np.zeros((2, 2, 3)))]).data[0].z.shape
    (2, 2, 3)
    """
    figure = make_subplots(rows=1, cols=len(images), horizontal_spacing=0.04)
    for place, (title, image) in enumerate(images, start=1):
        axis = "" if place == 1 else str(place)
        shown = np.full((2, 2, 3), 0.5) if image is None else np.clip(image, 0, 1)
        figure.add_trace(
            go.Image(z=(shown * 255).round().astype(np.uint8), opacity=0.25 if image is None else 1, hoverinfo="skip"), row=1, col=place
        )
        figure.add_annotation(text=plain(title).replace("·", " "), x=0, xref=f"x{axis} domain", xanchor="left", y=1, yref=f"y{axis} domain",
                              yanchor="bottom", showarrow=False, font={"size": 14, "color": theme.TEXT})  # fmt: skip
        if image is None:
            figure.add_annotation(text="?", x=0.5, xref=f"x{axis} domain", y=0.5, yref=f"y{axis} domain", showarrow=False,
                                  font={"size": 30, "color": theme.MUTED})  # fmt: skip
    figure.update_xaxes(visible=False, fixedrange=True, constrain="domain", constraintoward="left")
    figure.update_yaxes(visible=False, fixedrange=True, constrain="domain", constraintoward="top")
    figure.update_layout(template=theme.template(), height=height, margin={"l": 4, "r": 4, "t": 30, "b": 4}, dragmode=False)
    return figure
