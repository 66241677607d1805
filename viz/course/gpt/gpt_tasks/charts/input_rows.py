"""A tuned GPT's input and answer, from top to bottom: rows of tokens with their marks, the vector at the end of each, their sum, the outcome."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import altair as alt
import numpy as np

from viz import theme
from viz.charts.parts import vega
from viz.charts.parts.figures import draw_once
from viz.labels import percent, shorten, visible

Array = np.ndarray[Any, np.dtype[Any]]
WIDE = 48.0
"""The width in letters, so that a row breaks at the same word on every screen."""
WIDER = (WIDE, 64.0, 80.0, 96.0)
"""Widths in letters for a picture across a wall: of these the one in which its words are largest."""
WALL, EM = 1180, 1.5
"""Pixels across a picture on a wall; the size of type in widths of a letter."""
SMALLEST, LARGEST, OF_LINE = 13, 26, 0.52
"""Sizes of type in pixels, and the size as a share of a line's height."""
LETTERS = 15
NAMES = 13.0
"""Where strips and bars begin; their names stand before."""
START, DELIM, EXTRACT = 2, 3, 1
"""Colours of the marks by number."""


@dataclass(frozen=True)
class Cell:
    """A token: a colour by number for a mark, and how much is looked at it, 0 to 1; None: not shown. The one looked at most is framed."""

    text: str
    mark: int | None = None
    weight: float | None = None


@dataclass(frozen=True, eq=False)
class InputRow:
    """A row of tokens; the vector that the head reads at its end, None while it is covered."""

    cells: Sequence[Cell]
    vector: Array | None = None
    name: str = "h"


@dataclass(frozen=True)
class Outcome:
    """A class or an answer with its probability, None while it is covered; `strong`: this is the one."""

    name: str
    p: float | None = None
    strong: bool = False


def placed(cells: Sequence[Cell], width: float = WIDE) -> list[tuple[int, float, float]]:
    """Return line, left and right edge of each token, in letters: a new line where the next one has no room.

    >>> placed([Cell("Start", START), Cell(" old")])
    [(0, 0.0, 6.6), (0, 6.9, 11.5)]
    """
    found: list[tuple[int, float, float]] = []
    line, x = 0, 0.0
    for cell in cells:
        wide = max(2.2, len(_word(cell))) + 1.6
        if x + wide > width and x > 0:
            line, x = line + 1, 0.0
        found.append((line, round(x, 3), round(x + wide, 3)))
        x += wide + 0.3
    return found


def _word(cell: Cell) -> str:
    return shorten(visible(cell.text.removeprefix(" ") or cell.text), LETTERS)


@draw_once
def input_rows(
    rows: Sequence[InputRow],
    outcomes: Sequence[Outcome] = (),
    *,
    added: Array | None = None,
    line: int = 25,
    room: int = 0,
) -> alt.TopLevelMixin:
    """Draw rows of tokens one below the other, each with the vector at its last token as coloured cells, and the outcomes as bars from 0 to 1.

    `added` is the sum of the vectors, drawn below them. `line` is the height of a line of tokens in pixels. In Present, `room` is the
    height of the chart in pixels: the chart then takes the width of line that makes its words largest, and higher lines where they fit.

    >>> figure = input_rows([InputRow([Cell("Start", START), Cell("a"), Cell("Extract", EXTRACT)], np.array([1.0, -2.0]))], [Outcome("good", 0.9)])
    >>> [layer["mark"]["type"] for layer in figure.to_dict()["layer"]]
    ['rect', 'rule', 'text', 'text', 'text', 'text']
    """
    vectors = [each for each in (*(row.vector for row in rows), added) if each is not None]
    limit = max((float(np.abs(each).max()) for each in vectors), default=1e-9)

    def layout(width: float) -> tuple[float, _Parts, float, float]:
        drawn, y = _Parts(width), 0.0
        for row in rows:
            y = drawn.row(row, y, limit) + 0.5
        if added is not None:
            drawn.strip(added, "sum", y, limit)
            y += 1.25
        for outcome in outcomes:
            drawn.bar(outcome, y)
            y += 1.0
        high = vega.row_height(y, line, room)
        return min(OF_LINE * high, EM * WALL / width), drawn, y, high

    _, drawn, y, high = max(map(layout, WIDER if room else (WIDE,)), key=lambda found: found[0])
    return drawn.chart(y, high, grows=room > 0)


class _Parts:
    """Rectangles, rules and words, as they come."""

    def __init__(self, width: float) -> None:
        self.width = width
        self.boxes: list[dict[str, Any]] = []
        self.rules: list[dict[str, Any]] = []
        self.words: list[dict[str, Any]] = []

    def box(self, across: tuple[float, float], down: tuple[float, float], fill: str, **more: Any) -> None:
        """Add a rectangle: `across` is its left and right edge, `down` its top and bottom edge; `more` sets opacity, stroke and tooltip."""
        (x, x2), (y, y2) = across, down
        look = {"opacity": 1.0, "stroke": fill, "told": ""} | more
        self.boxes.append({"x": x, "x2": x2, "y": y, "y2": y2, "fill": fill} | look)

    def word(self, x: float, y: float, text: str, colour: str, **more: str) -> None:
        """Add a text at a position; `more` sets its alignment, its weight and its tooltip."""
        look = {"align": "center", "weight": "normal", "told": ""} | more
        self.words.append({"x": x, "y": y, "text": text, "colour": colour} | look)

    def row(self, row: InputRow, top: float, limit: float) -> float:
        """Add the tokens of a row and, below them, its vector with a line from the last token; return the height where the row ends."""
        where = placed(row.cells, self.width)
        most = max((cell.weight or 0.0 for cell in row.cells if cell.mark is None), default=0.0)
        for cell, (line, x, x2) in zip(row.cells, where, strict=True):
            y, told, ink, weight = top + line, visible(cell.text), theme.TEXT, "normal"
            if cell.weight is not None:
                told += f": {percent(cell.weight)}"
            if cell.mark is not None:
                fill, weight = theme.CATEGORICAL[cell.mark], "bold"
                look = {"opacity": 0.3, "stroke": fill}
            else:
                fill, ink = (theme.SURFACE, ink) if cell.weight is None else theme.shade(cell.weight)
                look = {"stroke": theme.TEXT if most and cell.weight == most else theme.LINE}
            self.box((x, x2), (y + 0.09, y + 0.91), fill, **look, told=told)
            self.word((x + x2) / 2, y + 0.5, _word(cell), ink, weight=weight, told=told)
        end = top + (where[-1][0] if where else 0) + 1
        if row.vector is None or not where:
            return end
        x = max((where[-1][1] + where[-1][2]) / 2, NAMES + 0.5)
        self.rules.append({"x": x, "y": end - 0.09, "y2": end + 0.25})
        self.strip(row.vector, row.name, end + 0.25, limit)
        return end + 1.0

    def strip(self, vector: Array, name: str, top: float, limit: float) -> None:
        """Add the numbers of a vector as coloured cells from left to right, on a diverging scale from -limit to limit, with its name at the left."""
        self.word(NAMES - 0.8, top + 0.38, name, theme.MUTED, align="right")
        edges = np.linspace(NAMES, self.width, len(vector) + 1).round(3).tolist()
        for value, across in zip(vector.tolist(), pairwise(edges), strict=True):
            fill = theme.shade(0.5 + value / limit / 2, theme.DIVERGING)[0]
            self.box(across, (top, top + 0.75), fill, told=f"{name}: {value:.3f}")

    def bar(self, outcome: Outcome, top: float) -> None:
        """Add an outcome: its name, a bar from 0 to 1 as long as its probability, and the percentage."""
        weight, told = "bold" if outcome.strong else "normal", visible(outcome.name)
        name, middle = shorten(visible(outcome.name.strip()), LETTERS), top + 0.5
        self.word(NAMES - 0.8, middle, name, theme.TEXT, align="right", weight=weight, told=told)
        end = NAMES + (self.width - NAMES - 7) * (outcome.p or 0)
        if outcome.p is not None:
            fill = theme.PRIMARY if outcome.strong else theme.SEQUENTIAL[2]
            share = f"{told}: {percent(outcome.p, 2)}"
            self.box((NAMES, round(end, 3)), (top + 0.15, top + 0.85), fill, told=share)
        chance = "?" if outcome.p is None else percent(outcome.p)
        self.word(end + 0.6, middle, chance, theme.TEXT, align="left", weight=weight)

    def chart(self, high: float, line: float, grows: bool) -> alt.TopLevelMixin:
        """Return the chart of so many lines of so many pixels; its words grow with them where it `grows`."""
        x, y = vega.hidden_axes((-0.2, self.width + 0.2), (high, 0))
        most = min(LARGEST, OF_LINE * line)
        size = alt.ExprRef(f"max({SMALLEST}, min({most:.1f}, {EM} * width / {self.width}))")
        tip = vega.tooltip(("told:N", " "))
        rect = (
            vega.rows(self.boxes, x=x, x2="x2:Q", y=y, y2="y2:Q", tooltip=tip)
            .mark_rect(cornerRadius=2, strokeWidth=1)
            .encode(
                fill=vega.raw_channel("fill:N", alt.Fill),
                stroke=vega.raw_channel("stroke:N", alt.Stroke),
                fillOpacity=vega.raw_channel("opacity:Q", alt.FillOpacity),
            )
        )
        rules = vega.rows(self.rules, x=x, y=y, y2="y2:Q").mark_rule(color=theme.TEXT, strokeWidth=2)
        words = [
            vega.rows(
                [word for word in self.words if (word["align"], word["weight"]) == kind],
                x=x,
                y=y,
                text="text:N",
                color=vega.raw_channel("colour:N"),
                tooltip=tip,
            ).mark_text(
                fontSize=size if grows else SMALLEST, baseline="middle", align=kind[0], fontWeight=kind[1]
            )
            for kind in sorted({(word["align"], word["weight"]) for word in self.words})
        ]
        return (
            alt.layer(rect, *([rules] if self.rules else []), *words)
            .properties(width="container", height=round(high * line))
            .configure_view(stroke=None)
        )
