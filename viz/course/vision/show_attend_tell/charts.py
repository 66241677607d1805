"""The pictures of the exhibit on captions: a board of cells to touch, small scenes with what is said of them, printed numbers as bars."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from math import isqrt
from textwrap import wrap
from typing import Any

import altair as alt
import numpy as np
from numpy.typing import NDArray

from viz import theme
from viz.charts.parts import panels, vega
from viz.charts.parts.figures import draw_once
from viz.labels import phrase

Pixels = NDArray[np.uint8]
PICKED = "picked"
EDGE = 22
LINE = 0.17
"""Of a small scene's side: the height of a line below it."""


def runs(
    pixels: Pixels, edge: float = 0.0, top: float = 0.0, side: float = 1.0, spill: float = 0.3
) -> list[dict[str, Any]]:
    """Return a picture as boxes of one colour, a row of pixels at a time; the first box is the background.

    `edge` (the left one), `top` and `side` (the width) place the picture. A box reaches `spill` of a pixel into the row below, which is drawn over it: no seams.

    >>> [(box["left"], box["right"]) for box in runs(np.array([[[9] * 3, [9] * 3, [0] * 3, [0] * 3]], dtype=np.uint8), side=4)]
    [(0.0, 4.0), (2.0, 4.0)]
    """
    unit = side / pixels.shape[1]
    ground = tuple(pixels[0, 0].tolist())
    tall = pixels.shape[0] * unit
    found = [{"left": edge, "right": edge + side, "top": top, "bottom": top + tall, "colour": _hex(ground)}]
    for y, row in enumerate(pixels.tolist()):
        x = 0
        for colour, same in groupby(map(tuple, row)):
            n = len(list(same))
            if colour != ground:
                box = {"left": edge + x * unit, "right": edge + (x + n) * unit, "colour": _hex(colour)}
                found.append(box | {"top": top + y * unit, "bottom": top + (y + 1 + spill) * unit})
            x += n
    return found


@draw_once
def board(pixels: Pixels, names: Sequence[str], *, height: int = 330) -> alt.LayerChart:
    """Draw the picture under a grid of cells with numbered columns and rows; a click on a cell is the selection `PICKED`, its field `place`.

    `names` are the tooltips of the cells, row by row.

    >>> chart = board(np.full((10, 10, 3), 255, dtype=np.uint8), ["empty"] * 25).to_dict()
    >>> len(chart["layer"][-1]["data"]["values"])
    25
    """
    side = isqrt(len(names))
    unit = f"floor(min(width - {EDGE}, height - {EDGE}) / {side})"
    begin = f"{EDGE} + floor((width - {EDGE} - {side} * {unit}) / 2)"
    across, down = (
        vega.exact_scale(
            0, side, range=[alt.ExprRef(start), alt.ExprRef(f"{start} + {side} * {unit}")], zero=False
        )
        for start in (begin, str(EDGE))
    )
    x, y = alt.X("left:Q", axis=None, scale=across), alt.Y("top:Q", axis=None, scale=down)
    cells = [
        {
            "left": c,
            "right": c + 1,
            "top": r,
            "bottom": r + 1,
            "place": r * side + c,
            "name": names[r * side + c],
        }
        for r in range(side)
        for c in range(side)
    ]
    sides = [{"at": i + 0.5, "end": 0, "text": str(i)} for i in range(side)]

    def boxes(rows: list[dict[str, Any]]) -> alt.Chart:
        return vega.rows(rows).encode(x=x, x2="right:Q", y=y, y2="bottom:Q")

    label = vega.rows(sides)
    layers = [
        boxes(runs(pixels, side=side)).mark_rect().encode(color=vega.raw_channel()),
        label.mark_text(baseline="bottom", dy=-5, fontSize=13, color=theme.MUTED).encode(
            x=panels.with_field(x, "at:Q"), y=panels.with_field(y, "end:Q"), text="text:N"
        ),
        label.mark_text(align="right", dx=-7, fontSize=13, color=theme.MUTED).encode(
            x=panels.with_field(x, "end:Q"), y=panels.with_field(y, "at:Q"), text="text:N"
        ),
        boxes(cells)
        .mark_rect(fillOpacity=0, stroke=theme.HATCH, strokeWidth=1, cursor="pointer")
        .encode(tooltip=vega.tooltip(("name:N", "cell")))
        .add_params(alt.selection_point(name=PICKED, fields=["place"], empty=False)),
    ]
    return vega.frame(*layers, height=height)


@draw_once
def cards(
    scenes: Sequence[tuple[Pixels, str, bool | None]],
    *,
    across: int = 3,
    letters: int = 20,
    gap: float = 0.12,
    height: float = 210,
) -> alt.LayerChart:
    """Draw small scenes in rows of `across`, each with its caption below it; the colour of a frame says whether the caption is right (None: not shown yet).

    `letters` is the most letters of a line of a caption, `gap` the space between scenes as a share of a scene's width, `height` that of a row in pixels.

    >>> white = np.full((10, 10, 3), 255, dtype=np.uint8)
    >>> chart = cards([(white, "a cat .", True), (white, "a tree .", None)]).to_dict()
    >>> [row["text"] for row in chart["layer"][2]["data"]["values"]]
    ['a cat .', 'right', 'a tree .']
    """
    below = 4 * LINE
    pictures, frames, lines = [], [], []
    for number, (pixels, text, right) in enumerate(scenes):
        row, column = divmod(number, across)
        left, top = column * (1 + gap), row * (1 + below)
        pictures += runs(pixels, left, top)
        said = {True: "right", False: "wrong", None: "not shown yet"}[right]
        colour = theme.HATCH if right is None else theme.CATEGORICAL[0 if right else 1]
        frames.append(
            {"left": left, "right": left + 1, "top": top, "bottom": top + 1, "colour": colour, "said": said}
            | {"caption": phrase(text)}
        )
        told = [*wrap(phrase(text), letters), *([said] if right is not None else [])]
        lines += [
            {
                "left": left,
                "top": top + 1 + LINE * (i + 0.62),
                "text": line,
                "bold": right is not None and i == len(told) - 1,
            }
            for i, line in enumerate(told)
        ]
    n_rows = -(-len(scenes) // across)
    wide, tall = across * (1 + gap) - gap, n_rows * (1 + below)
    unit = f"min(width / {wide:.4f}, height / {tall:.4f})"
    x, y = (
        alt.X(
            "left:Q",
            axis=None,
            scale=vega.exact_scale(0, wide, range=[0, alt.ExprRef(f"{wide:.4f} * {unit}")]),
        ),
        alt.Y(
            "top:Q",
            axis=None,
            scale=vega.exact_scale(0, tall, range=[0, alt.ExprRef(f"{tall:.4f} * {unit}")]),
        ),
    )

    def boxes(rows: list[dict[str, Any]]) -> alt.Chart:
        return vega.rows(rows).encode(x=x, x2="right:Q", y=y, y2="bottom:Q")

    layers = [
        boxes(pictures).mark_rect().encode(color=vega.raw_channel()),
        boxes(frames)
        .mark_rect(fillOpacity=0, strokeWidth=3)
        .encode(
            stroke=vega.raw_channel(channel=alt.Stroke),
            tooltip=vega.tooltip(("caption:N", "caption"), ("said:N", "it is")),
        ),
        vega.rows(lines)
        .mark_text(align="left", fontSize=13, color=theme.TEXT)
        .encode(x=x, y=y, text="text:N", opacity=alt.condition("datum.bold", alt.value(0.75), alt.value(1))),
    ]
    return vega.frame(*layers, height=height * n_rows)


def _hex(colour: Sequence[int]) -> str:
    return "#" + "".join(f"{part:02x}" for part in colour)
