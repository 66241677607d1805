"""A drawn picture under a grid of patches: lit where attention is, veiled where it is not; and what is read from it.

Numbers in, an Altair chart out. A touch on a patch is the selection called `PICKED`, its field `place`.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from typing import Any, Protocol

import altair as alt
import numpy as np
from PIL import Image

from viz import theme
from viz.charts.parts import panels, vega
from viz.charts.parts.figures import draw_once
from viz.labels import percent, phrase

Array = np.ndarray[Any, np.dtype[Any]]
PICKED = "picked"
VEIL = 0.84
"""How much a patch without any weight is covered."""
EDGE = 26
"""Pixels above and at the left of the picture, for the names of columns and rows."""


class Painted(Protocol):
    """One shape of a picture: colour, points (corners; of an ellipse centre and half sizes), whether it is an ellipse."""

    @property
    def colour(self) -> str: ...
    @property
    def points(self) -> Sequence[tuple[float, float]]: ...
    @property
    def round(self) -> bool: ...


def place_name(row: int, column: int) -> str:
    """Return a patch by letter and number, as on a chessboard seen from its upper left.

    >>> place_name(1, 2)
    'C2'
    """
    return f"{chr(ord('A') + column)}{row + 1}"


@draw_once
def lit(
    shapes: Sequence[Painted],
    size: tuple[int, int],
    grid: tuple[int, int],
    weights: Array | None = None,
    *,
    framed: int | None = None,
    query_patch: int | None = None,
    labelled_from: float | None = None,
    height: int = 420,
) -> alt.LayerChart:
    """Return the picture (width, height in units of `size`) with a veil on each patch, thinner the more it weighs.

    The patch with the largest weight is clear. framed: the patch that was drawn, query_patch: the one that asks (dashed).
    labelled_from: patches with at least this weight have it as a label. A touched patch shows its weight in a tooltip.

    >>> veils = lit((), (2, 1), (1, 2), np.array([0.75, 0.25])).to_dict()["layer"][1]["data"]["values"]
    >>> [(row["place"], row["weight"], round(row["veil"], 2)) for row in veils]
    [(0, '75.0%', 0.0), (1, '25.0%', 0.56)]
    """
    (width, tall), (rows, columns) = size, grid
    dx, dy = width / columns, tall / rows
    n = rows * columns
    if weights is not None and len(weights) != n:
        raise ValueError(f"{len(weights)} weights for {n} patches")
    veil = np.zeros(n) if weights is None else VEIL * (1 - weights / weights.max())
    cells: list[dict[str, Any]] = [
        {
            "place": place,
            "left": column * dx,
            "right": (column + 1) * dx,
            "top": row * dy,
            "bottom": (row + 1) * dy,
            "patch": place_name(row, column),
            "veil": float(veil[place]),
        }
        | ({} if weights is None else {"weight": percent(weights[place], 2)})
        for place, (row, column) in enumerate(np.ndindex(rows, columns))
    ]
    said = [
        {
            "x": (cell["left"] + cell["right"]) / 2,
            "y": (cell["top"] + cell["bottom"]) / 2,
            "text": percent(weight),
        }
        for cell, weight in zip(
            cells, () if labelled_from is None or weights is None else weights, strict=False
        )
        if labelled_from is not None and weight >= labelled_from
    ]
    unit = f"floor(min((width - {EDGE}) / {columns}, (height - {EDGE}) / {tall / dx:g})) / {dx:g}"  # whole pixels a patch: no seams
    begin = f"{EDGE} + floor((width - {EDGE} - {width} * {unit}) / 2)"
    sides, ups = (
        [alt.ExprRef(start), alt.ExprRef(f"{start} + {length} * {unit}")]
        for start, length in ((begin, width), (str(EDGE), tall))
    )
    across, down = _axes((width, sides), (tall, ups))
    at = {"x": panels.with_field(across, "x:Q"), "y": panels.with_field(down, "y:Q")}
    chart_of = vega.rows

    def boxes(rows: list[dict[str, Any]]) -> alt.Chart:
        return chart_of(rows).encode(x=across, x2="right:Q", y=down, y2="bottom:Q")

    painted = [
        {"x": x, "y": y, "corner": corner, "shape": place, "colour": shape.colour}
        for place, shape in enumerate(shapes)
        for corner, (x, y) in enumerate(_outline(shape, width, tall))
    ]
    letters = [
        {"x": (column + 0.5) * dx, "y": 0.0, "text": chr(ord("A") + column)} for column in range(columns)
    ]
    counts = [{"x": 0.0, "y": (row + 0.5) * dy, "text": str(row + 1)} for row in range(rows)]
    tips = vega.tooltip("patch:N", *([] if weights is None else ["weight:N"]))
    number = chart_of(said).encode(**at, text="text:N")
    layers = [
        chart_of(painted)
        .mark_line(filled=True, interpolate="linear-closed", strokeWidth=0)
        .encode(**at, order="corner:Q", detail="shape:N", color=vega.raw_channel()),
        boxes(cells)
        .mark_rect(color=theme.BACKGROUND)
        .encode(fillOpacity=alt.FillOpacity("veil:Q", scale=None)),
        boxes([cells[query_patch]] if query_patch is not None else []).mark_rect(
            filled=False, stroke=theme.CATEGORICAL[0], strokeWidth=4, strokeDash=[4, 4]
        ),
        boxes([cells[framed]] if framed is not None else []).mark_rect(
            filled=False, stroke=theme.CATEGORICAL[1], strokeWidth=4
        ),
        number.mark_text(
            fontSize=13, color=theme.BACKGROUND, stroke=theme.BACKGROUND, strokeWidth=5, strokeJoin="round"
        ),
        number.mark_text(fontSize=13, color=theme.TEXT),
        chart_of(letters)
        .mark_text(baseline="bottom", dy=-5, fontSize=13, color=theme.MUTED)
        .encode(**at, text="text:N"),
        chart_of(counts)
        .mark_text(align="right", dx=-7, fontSize=13, color=theme.MUTED)
        .encode(**at, text="text:N"),
        boxes(cells)
        .mark_rect(fillOpacity=0, cursor="pointer")
        .encode(tooltip=tips)
        .add_params(alt.selection_point(name=PICKED, fields=["place"], empty=False)),
    ]
    return vega.frame(*layers, height=height)


def _axes(x: tuple[float, list[Any]], y: tuple[float, list[Any]]) -> tuple[alt.X, alt.Y]:
    """Return bare axes from 0, each with its length and ends."""
    across, down = (vega.exact_scale(0, end, range=ends, zero=False) for end, ends in (x, y))
    return alt.X("left:Q", axis=None, scale=across), alt.Y("top:Q", axis=None, scale=down)


def _outline(shape: Painted, width: float, tall: float) -> list[tuple[float, float]]:
    """Return the corners of a shape inside the picture; an ellipse has many."""
    points = np.array(shape.points, dtype=float)
    if shape.round:
        around = np.linspace(0, 2 * np.pi, 48, endpoint=False)
        points = points[0] + points[1] * np.stack([np.cos(around), np.sin(around)], axis=1)
    return [(round(float(x), 3), round(float(y), 3)) for x, y in np.clip(points, 0, [width, tall])]


@draw_once
def reads(images: Sequence[tuple[str, Array | None]], height: int = 190) -> alt.LayerChart:
    """Return small pictures in a row, each (title, (side, side, 3) from 0 to 1, or None for one that is still covered).

    >>> chart = reads([("soft", np.zeros((2, 2, 3))), ("one", None)]).to_dict()["layer"]
    >>> chart[0]["data"]["values"][0]["image"][:21], [row["title"] for row in chart[1]["data"]["values"]]
    ('data:image/png;base64', ['one'])
    """
    titles, gap, above = [phrase(title) for title, _ in images], 0.08, 26
    squares = [
        {"left": left, "right": left + 1, "top": 0, "bottom": 1, "x": left + 0.5, "y": 0.5}
        | {"title": title, "last": place == len(titles) - 1}
        for place, title in enumerate(titles)
        for left in [(1 + gap) * place]
    ]
    wide = len(images) * (1 + gap) - gap
    unit = f"min(width / {wide:.4f}, height - {above})"
    ends = [0, alt.ExprRef(f"{wide:.4f} * {unit}")], [above, alt.ExprRef(f"{above} + {unit}")]
    across, down = _axes((wide, ends[0]), (1, ends[1]))

    def chart_of(rows: list[dict[str, Any]]) -> alt.Chart:
        return vega.rows(rows).encode(x=across, y=down)

    seen = [
        square | {"image": _png(image)}
        for square, (_, image) in zip(squares, images, strict=True)
        if image is not None
    ]
    covered = [square for square, (_, image) in zip(squares, images, strict=True) if image is None]
    layers = [
        chart_of(seen)
        .mark_image(aspect=False, smooth=False)
        .encode(x2="right:Q", y2="bottom:Q", url="image:N"),
        chart_of(covered)
        .mark_rect(fill=theme.SURFACE, stroke=theme.LINE)
        .encode(x2="right:Q", y2="bottom:Q"),
        chart_of(covered)
        .mark_text(text="?", fontSize=30, color=theme.MUTED)
        .encode(x=panels.with_field(across, "x:Q"), y=panels.with_field(down, "y:Q")),
        chart_of(squares)
        .mark_text(
            align="left",
            baseline="bottom",
            dy=-6,
            fontSize=14,
            color=theme.TEXT,
            limit=alt.ExprRef(f"datum.last ? width - datum.left * {unit} : {1 + gap} * {unit} - 8"),
        )
        .encode(text="title:N"),
    ]
    return vega.frame(*layers, height=height)


def _png(image: Array) -> str:
    """Return red, green and blue from 0 to 1 as a data URL of a picture."""
    out = io.BytesIO()
    Image.fromarray((np.clip(image, 0, 1) * 255).round().astype(np.uint8)).save(out, "PNG")
    return "data:image/png;base64," + base64.b64encode(out.getvalue()).decode()
