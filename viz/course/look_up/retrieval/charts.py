"""A small table with shaded numbers beside its rows; a memory, its weights and what is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import numpy as np

from viz import theme
from viz.charts.parts import panels, vega
from viz.charts.parts.figures import draw_once
from viz.labels import phrase, shorten
from viz.languages import _
from viz.number_text import signed

Array = np.ndarray[Any, np.dtype[Any]]
SHADE, LETTER, ROW = 62.0, 7.3, 40
"""Widths of a shaded column and of a letter, height of a row."""
MOST = 14
"""Letters of a cell: a phone has no room for more."""


@draw_once
def look_up_table(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    shades: Mapping[str, Sequence[float] | Array | None],
    number: str = "{:.2f}",
) -> alt.LayerChart:
    """Draw a table of texts; before each row is its number in each of `shades`, from 0 to 1, in a cell of that shade.

    Whole numbers are written without decimals, others by `number`; for None there is a question mark. The rows with the largest number in
    the last of the shades are in bold.

    >>> chart = look_up_table(["ID"], [["007"], ["<b>"]], {"similarity": [1, 0]}).to_dict()
    >>> [(cell["shade"], cell["text"]) for cell in chart["layer"][0]["data"]["values"]]
    [('similarity', '1'), ('similarity', '0')]
    """
    x, last = 0.0, list(shades.values())[-1]
    cells: list[dict[str, Any]] = []
    words: list[dict[str, Any]] = []
    for name, values in shades.items():
        words.append(_word(x + SHADE / 2, -0.95, name, theme.MUTED, "center", 13))
        for r in range(len(rows)):
            value = 0 if values is None else values[r]
            told = "?" if values is None else str(value) if isinstance(value, int) else number.format(value)
            colour, ink = theme.shade(float(value))
            box = _box(x + SHADE / 2, r, SHADE / 2 - 4, 0.42, colour)
            cells.append(_word(x + SHADE / 2, r, told, ink, "center", 15) | box | {"shade": name})
        x += SHADE + 4
    for c, name in enumerate(columns):
        texts = [shorten(str(row[c]), MOST) for row in rows]
        words.append(_word(x, -0.95, name, theme.MUTED, "left", 13))
        for r, text in enumerate(texts):
            strong = last is not None and last[r] == max(last) and last[r] > 0
            words.append(
                _word(x, r, text, theme.TEXT if last is None or strong else theme.MUTED, "left", 14, strong)
            )
        x += LETTER * max(map(len, [*texts, name]), default=1) + 14
    along, down = _grid((0.0, max(x, 330.0)), (len(rows) - 0.4, -1.3))
    layers = [
        _rects(cells, along, down, stroke=theme.LINE),
        *_texts(cells + words, along, down, f"min(datum.fontSize, 12 * width / {max(x, 330.0):.0f})"),
    ]
    return vega.frame(*layers, height=ROW * (len(rows) + 1) + 12)


def _grid(across: tuple[float, float], downwards: tuple[float, float]) -> tuple[alt.X, alt.Y]:
    return (
        alt.X("left:Q", axis=None, scale=vega.exact_scale(*across)),
        alt.Y("top:Q", axis=None, scale=vega.exact_scale(*downwards)),
    )


def _box(x: float, y: float, wide: float, high: float, colour: str) -> dict[str, Any]:
    """Return the edges and the colour of a box that reaches `wide` to the left and right and `high` up and down from (x, y)."""
    return {"left": x - wide, "right": x + wide, "top": y - high, "bottom": y + high, "colour": colour}


def _word(
    x: float, y: float, text: str, ink: str, align: str, size: int, strong: bool = False
) -> dict[str, Any]:
    return {
        "x": x,
        "y": y,
        "text": phrase(text),
        "ink": ink,
        "align": align,
        "fontSize": size,
        "weight": "bold" if strong else "normal",
    }


def _rects(cells: Sequence[dict[str, Any]], along: alt.X, down: alt.Y, **mark: Any) -> alt.Chart:
    box = {"x": along, "x2": "right:Q", "y": down, "y2": "bottom:Q"}
    return vega.rows(cells).mark_rect(**mark).encode(**box, color=vega.raw_channel())


def _texts(
    words: Sequence[dict[str, Any]], along: alt.X, down: alt.Y, size: str = "datum.fontSize"
) -> list[alt.Chart]:
    """Draw texts, in one layer for each pair of alignment and weight, because a mark has one of each; `size` is a Vega expression of the font size."""
    ways = dict.fromkeys((word["align"], word["weight"]) for word in words)
    at = {"x": panels.with_field(along, "x:Q"), "y": panels.with_field(down, "y:Q")}
    return [
        vega.rows([word for word in words if (word["align"], word["weight"]) == way])
        .mark_text(align=way[0], baseline="middle", fontSize=alt.ExprRef(size), fontWeight=way[1])
        .encode(**at, text="text:N", color=vega.raw_channel("ink:N"))
        for way in ways
    ]


@draw_once
def memory(
    table: Array, weights: Array, vector: Array, key: Array | None = None, blind: bool = False
) -> alt.LayerChart:
    """Draw the rows of a memory as signed numbers in coloured cells, their weights as bars at the left, and the vector read below them.

    `key`, if any, is the key to match, drawn above the rows. `blind`: weights and the vector read are question marks.
    Shapes: table (row, column), weights (row,), vector and key (column,).

    >>> chart = memory(np.eye(2), np.array([0.75, 0.25]), np.array([0.75, 0.25])).to_dict()
    >>> [cell["text"] for cell in chart["layer"][0]["data"]["values"]]
    ['1.00', '0.00', '0.00', '1.00', '0.75', '0.25']
    """
    rows, width = table.shape
    limit = float(max(1.0, np.abs(table).max(), 0.0 if key is None else np.abs(key).max()))
    size = 14 if rows <= 6 else 12
    read, asks = rows + 0.6, -1.6
    lines = [
        *((float(r), table[r]) for r in range(rows)),
        (read, vector),
        *([] if key is None else [(asks, key)]),
    ]
    cells = [
        _word(c, y, "?" if blind and y == read else signed(value, ".2f"), ink, "center", size)
        | _box(c, y, 0.49, 0.47, colour)
        for y, values in lines
        for c, value in enumerate(values)
        for colour, ink in [theme.shade((float(value) / limit + 1) / 2, theme.DIVERGING)]
    ]
    bars = [
        _box(-0.75, r, 0, 0.32, theme.PRIMARY) | {"left": -0.75 - float(weight)}
        for r, weight in enumerate(weights)
    ]
    words = [
        _word(
            -0.8 - float(weight),
            r,
            "w = ?" if blind else f"w = {signed(weight, '.4f')}",
            theme.TEXT,
            "right",
            size,
        )
        for r, weight in enumerate(weights)
    ]
    words.append(_word(-0.75, read, _("r, the vector read"), theme.TEXT, "right", 14, strong=True))
    if key is not None:
        words.append(_word(-0.75, asks, _("k, the key to match"), theme.TEXT, "right", 14, strong=True))
    along, down = _grid((-3.1, width - 0.4), (rows + 1.2, -2.2 if key is not None else -0.6))
    layers = [_rects(cells, along, down), _rects(bars, along, down), *_texts(cells + words, along, down)]
    return vega.frame(*layers, height=(34 if rows <= 6 else 26) * (rows + 4))
