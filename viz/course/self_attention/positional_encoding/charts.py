"""A matrix of signed numbers as a heatmap: diverging colours, centred on 0, one fixed scale shown above it.

The cells are one small image, a pixel each: a mark for each of up to 131,072 would take seconds to draw. Only the row
under the pointer has marks of its own, which tell its numbers.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np
from PIL import Image

from viz import theme
from viz.charts.parts import vega
from viz.charts.parts.figures import draw_once

Array = np.ndarray[Any, np.dtype[Any]]
SHADES = 255
"""Colours of the image: an odd number, so that 0 has one of its own."""


@draw_once
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
) -> alt.LayerChart:
    """Draw a matrix of signed numbers as a heatmap: rows from top to bottom, columns from left to right, both counted from 0; pale is 0.

    The colours end at -limit and limit. Values beyond the limit get the end's colour, and the scale then says "≥".

    `rows` and `columns` name the axes, `unit` the scale; `square` keeps the cells square; `marked` frames a row.
    Shapes: values (row, column). The layers: the image, the rows, the cells of the row under the pointer, the frame.
    Errors: ValueError when values is no matrix or the limit is not positive.

    >>> drawn = signed_matrix(np.eye(2), rows="position", columns="dimension").to_dict()["layer"]
    >>> [row["numbers"] for row in drawn[1]["data"]["values"]], drawn[2]["encoding"]["color"]["scale"]["domain"]
    (['1.0000 0.0000', '0.0000 1.0000'], [-1.0, 1.0])
    """
    if values.ndim != 2:
        raise ValueError(f"values has {values.ndim} axes; a matrix has 2")
    if not limit > 0:
        raise ValueError(f"limit={limit} must be positive")
    (n, wide), limit = values.shape, float(limit)
    cell = f"min(width / {wide}, height / {n})"
    across = alt.X(
        "left:Q",
        title=columns,
        axis=_axis(wide, alt.ExprRef(f"{n} * {cell} - height") if square else 0),
        scale=_scale([-0.5, wide - 0.5], [0, alt.ExprRef(f"{wide} * {cell}")] if square else None),
    )
    up = alt.Y(
        "top:Q",
        title=rows,
        axis=_axis(n),
        scale=_scale([n - 0.5, -0.5], [alt.ExprRef(f"{n} * {cell}"), 0] if square else None),
    )
    places = {"x": across, "x2": "right:Q", "y": up, "y2": "bottom:Q"}

    edges = {"left": -0.5, "right": wide - 0.5}
    whole = edges | {
        "top": -0.5,
        "bottom": n - 0.5,
        "ground": theme.BACKGROUND,
        "light": _png(values, limit, theme.LIGHT.diverging),
        "dark": _png(values, limit, theme.DARK.diverging),
    }
    # in the dark the colours in a figure's data are swapped: the ground is then another
    seen = f"datum.ground == '{theme.BACKGROUND}' ? datum.light : datum.dark"
    image = (
        vega.rows([whole])
        .transform_calculate(url=seen)
        .mark_image(aspect=False, smooth=False, tooltip=None, aria=False)
        .encode(**places, url="url:N")
    )

    strips = vega.rows(
        [
            edges | {"row": i, "top": i - 0.5, "bottom": i + 0.5, "numbers": _text(row)}
            for i, row in enumerate(values)
        ]
    )
    under = alt.selection_point(
        name="under", on="@rows_marks:pointerover", fields=["row"], empty=False, clear=False
    )  # the rows alone: the cells lie on them
    cells = (
        strips.transform_filter(under)
        .transform_calculate(number="split(datum.numbers, ' ')")
        .transform_flatten(["number"])
        .transform_window(count="row_number()")
        .transform_calculate(
            value="toNumber(datum.number)",
            column="datum.count - 1",
            left="datum.column - 0.5",
            right="datum.column + 0.5",
        )
    )
    beyond = float(np.abs(values).max(initial=0)) > limit * (1 + 1e-6)
    low, high = (f"{sign if beyond else ''}{end}{limit:.3g}" for sign, end in (("≤ ", "−"), ("≥ ", "")))
    key = vega.legend(
        title=unit,
        titleOrient="top",
        gradientLength=200,
        gradientThickness=9,
        labelOffset=5,
        labelFontSize=12,
        labelColor=theme.MUTED,
        values=[-limit, 0.0, limit],
        labelExpr=f"datum.value < 0 ? '{low}' : datum.value > 0 ? '{high}' : '0'",
    )
    colour = alt.Color(
        "value:Q",
        scale=alt.Scale(domain=[-limit, limit], range=theme.DIVERGING, interpolate="rgb", clamp=True),
        legend=key,
    )
    told = vega.tooltip(("row:Q", rows), ("column:Q", columns), ("value:Q", unit, ".4f"))
    layers = [
        image,
        strips.mark_rect(opacity=0, tooltip=None, aria=False)
        .encode(**places)
        .properties(name="rows")
        .add_params(under),
        cells.mark_rect().encode(**places, color=colour, tooltip=told),
    ]
    if marked is not None:
        frame = vega.rows([edges | {"row": marked, "top": marked - 0.5, "bottom": marked + 0.5}])
        frame = frame.mark_rect(
            filled=False, tooltip=None, aria=False, stroke=theme.TEXT, strokeWidth=1.5 if n <= 64 else 1
        )
        layers.append(frame.encode(**places))
    return vega.frame(*layers, height=height)


def _axis(n: int, offset: Any = 0) -> alt.Axis:
    """Return an axis of whole numbers: a label for each of them up to 12, else about 6 labels."""
    ticks: dict[str, Any] = {"values": list(range(n))} if n <= 12 else {"tickCount": 6, "tickMinStep": 1}
    return vega.bare_axis(format="d", offset=offset, **ticks)


def _scale(domain: Sequence[float], ends: list[Any] | None) -> alt.Scale:
    return alt.Scale(domain=list(domain), range=ends or alt.Undefined, nice=False, zero=False)


def _text(row: Array) -> str:
    """Return the numbers of a row as a text, to 4 decimals.

    >>> _text(np.array([0.5, -0.00001]))
    '0.5000 0.0000'
    """
    return " ".join(f"{value:.4f}" for value in np.round(row.astype(float), 4) + 0.0)


def _png(values: Array, limit: float, colours: Sequence[str]) -> str:
    """Return the data URL of an image that holds the matrix, a pixel for each cell; `colours` go from -limit to limit.

    >>> _png(np.eye(2), 1.0, theme.DIVERGING)[:22]
    'data:image/png;base64,'
    """
    stops = np.array([[int(colour[i : i + 2], 16) for i in (1, 3, 5)] for colour in colours])
    along = np.linspace(0, len(colours) - 1, SHADES)
    palette = np.stack([np.interp(along, range(len(colours)), stops[:, i]) for i in range(3)], axis=1)
    shades = np.rint((np.clip(values / limit, -1, 1) + 1) / 2 * (SHADES - 1))
    image, out = Image.fromarray(shades.astype(np.uint8), mode="L"), io.BytesIO()
    image.putpalette(np.rint(palette).astype(np.uint8).tobytes())
    image.save(out, "PNG")
    return "data:image/png;base64," + base64.b64encode(out.getvalue()).decode()
