"""One tensor of multi-head attention as a grid of cells, each in the colour of its head."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

import altair as alt
import numpy as np

from viz import theme
from viz.charts.parts import vega
from viz.charts.parts.figures import draw_once
from viz.labels import phrase, visible

Array = np.ndarray[Any, np.dtype[Any]]
TINT = 0.45
"""How strong a cell's colour is: what is written in it stays readable."""
GAP = 0.3
"""Of a cell, between the numbers of two heads side by side; heads below each other leave room for a name."""
ABOVE = 0.85
TOP = 66
ROOM = 0.7
"""Of a cell, above the first row: the names of the heads, which need a few pixels at least."""
LEAST = 15
"""Pixels of a cell below which nothing is written in it."""
MOST = 12
"""Columns above which nothing is written in cells."""
AROUND = {"left": 4, "right": 4, "top": 0, "bottom": 2}


def colour(head: int) -> str:
    """Return the colour of a head by its number from 0; for no head, -1, a grey."""
    return theme.HATCH if head < 0 else theme.HEADS[head % len(theme.HEADS)]


def laid_out(owners: Array, stacked: bool) -> Array:
    """Lay the heads of a tensor out as a grid (row, column) of their numbers, with -2 in the gaps between heads.

    The tensor is (row, column), (row, head, number) with the heads side by side or, `stacked`, (head, row, number) with the heads below each other.

    >>> laid_out(np.array([[[0], [1]], [[0], [1]]]), False).tolist()
    [[0, -2, 1], [0, -2, 1]]
    >>> laid_out(np.array([[[0], [0]], [[1], [1]]]), True).tolist()
    [[0], [0], [-2], [1], [1]]
    """
    if owners.ndim == 2:
        return owners
    if stacked:
        gap = np.full((1, owners.shape[2]), -2, dtype=owners.dtype)
        return np.concatenate([part for block in owners for part in (block, gap)][:-1])
    gap = np.full((owners.shape[0], 1), -2, dtype=owners.dtype)
    return np.concatenate([part for block in owners.swapaxes(0, 1) for part in (block, gap)][:-1], axis=1)


@draw_once
def head_grid(
    owners: Array,
    numbers: Array,
    rows: Sequence[str],
    *,
    title: str,
    shape: str,
    code: str = "",
    stacked: bool = False,
    pixels: float = 30,
    covered: bool = False,
    room: bool = False,
) -> alt.TopLevelMixin:
    """Draw one tensor as a grid of cells, each in the colour of its head: `owners` are the heads (-1: none), `numbers` the text of each cell.

    Both have the tensor's shape. rows: a name for each row of a block. `covered`: the cells are grey, with one question mark over them.
    `room`: for large type, without the line of code. The layers: cells, their texts, names of heads, heading.

    >>> figure = head_grid(np.array([[0, 0, 1, 1]]), np.array([list("abcd")]), ["we"], title="flatten", shape="(1, 1, 4)").to_dict()
    >>> [name["text"] for name in figure["layer"][2]["data"]["values"]]
    ['head 1', 'head 2']
    """
    cells = laid_out(np.full_like(owners, -1) if covered else owners, stacked)
    there = cells != -2
    wide, tall = np.where(there.any(0), 1.0, GAP), np.where(there.any(1), 1.0, ABOVE)
    top = TOP + max(ROOM * pixels, 22 if room else 14)
    x, y = np.r_[0.0, wide.cumsum()], np.round(top + pixels * np.r_[0.0, tall.cumsum()], 2)
    legible = not covered and pixels >= LEAST and cells.shape[1] <= MOST
    known, texts = numbers.ravel(), laid_out(np.arange(numbers.size).reshape(numbers.shape), stacked)
    drawn: list[dict[str, Any]] = []
    for row, column in np.argwhere(there).tolist():
        head = int(cells[row, column])
        cell = {"x": x[column], "x2": x[column + 1], "y": y[row], "y2": y[row + 1], "colour": colour(head)}
        if not covered:
            cell["text"] = visible(str(known[texts[row, column]]))
            cell["told"] = "no head" if head < 0 else f"head {head + 1}"
        drawn.append(cell)
    named = [place for place in range(len(cells)) if there[place].any()]
    names = {
        float((y[place] + y[place + 1]) / 2): visible(rows[i % len(rows)]) for i, place in enumerate(named)
    }
    sides: dict[str, Any] = {"axis": None, "scale": vega.exact_scale(0, float(x[-1]), zero=False)}
    axis = vega.bare_axis(
        values=list(names),
        labelExpr=vega.label_expression(names),
        labels=pixels >= LEAST,
        labelFontSize=13,
        labelLimit=120,
        labelOverlap=False,
    )
    ups: dict[str, Any] = {"title": None, "scale": vega.exact_scale(float(y[-1]), 0), "axis": axis}
    across, down = alt.X("x:Q", **sides), alt.Y("y:Q", **ups)
    base = vega.Chart().encode(x=across, y=down)
    tips = [] if covered else vega.tooltip(("text:N", visible(title)), ("told:N", "of"))
    boxes = base.mark_rect(fillOpacity=TINT, stroke=theme.BACKGROUND, strokeWidth=1.5).encode(
        x2="x2:Q", y2="y2:Q", fill=alt.Fill("colour:N", scale=None), tooltip=tips
    )
    middle = {"xm": "(datum.x + datum.x2) / 2", "ym": "(datum.y + datum.y2) / 2"}
    inside = (
        base.mark_text(fontSize=12, color=theme.TEXT)
        .transform_calculate(**middle)
        .encode(x=alt.X("xm:Q", **sides), y=alt.Y("ym:Q", **ups), text="text:N", tooltip=tips)
    )
    over = (
        vega.rows([] if covered else _names(cells, x, y, stacked))
        .mark_text(fontSize=13, baseline="bottom", dy=-2, color=theme.TEXT)
        .encode(x=across, y=down, text="text:N")
    )
    layers = [
        boxes,
        *([inside] if legible else []),
        over,
        *_heading(title, shape, "" if room else code, room),
    ]
    if covered:
        mark = vega.rows([{"x": float(x[-1]) / 2, "y": float(y[-1] + top) / 2}])
        layers.append(mark.mark_text(text="?", fontSize=30, color=theme.TEXT).encode(x=across, y=down))
    return alt.layer(*layers, data=vega.Rows(values=drawn)).properties(
        view=vega.BARE, padding=AROUND, height=round(float(y[-1])) + AROUND["bottom"]
    )


def _names(cells: Array, x: Array, y: Array, stacked: bool) -> list[dict[str, Any]]:
    """Return the labels of the heads and their positions, above the first row of each head's cells."""
    starts = [0, *(np.flatnonzero((cells == -2).all(1)) + 1)] if stacked else [0]
    found = []
    for row in starts:
        for head, group in groupby(range(cells.shape[1]), key=lambda column: int(cells[row, column])):
            places = list(group)
            left, right = x[places[0]], x[places[-1] + 1]
            if head >= 0:
                text = f"head {head + 1}" if right - left >= 2 else f"{head + 1}"
                found.append({"x": float(left + right) / 2, "y": float(y[row]), "text": text})
    return found


def _heading(title: str, shape: str, code: str, room: bool) -> list[alt.Chart]:
    """Name, shape and code one below the other, at the left above the names of the heads; each a text at a height in pixels."""
    first, second = (TOP - 34, TOP - 6) if room else (TOP - 39, TOP - 18)
    lines: list[tuple[str, int, str, str, int, Any]] = [
        (title, 17, theme.FONT, theme.TEXT, first, "bold"),
        (shape, 15, theme.MONO, theme.TEXT, second, "normal"),
        (code, 12, theme.MONO, theme.MUTED, TOP - 1, "normal"),
    ]
    set_left: dict[str, Any] = {"align": "left", "baseline": "bottom", "x": 0}
    return [
        vega.rows([{"text": phrase(text)}])
        .mark_text(**set_left, y=high, fontSize=size, font=family, color=ink, fontWeight=weight)
        .encode(text="text:N")
        for text, size, family, ink, high, weight in lines
        if text
    ]
