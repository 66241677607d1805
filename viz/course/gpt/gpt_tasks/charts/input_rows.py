"""What a tuned GPT reads and says, from top to bottom: rows of tokens with their marks, the vector at the end of each, their sum, the outcome."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import numpy as np

from viz import theme
from viz.charts.parts.kept import kept
from viz.labels import percent, shorten, visible

Array = np.ndarray[Any, np.dtype[Any]]
WIDE = 48.0
"""The width in letters, so that a row breaks at the same word on every screen."""
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


def placed(cells: Sequence[Cell]) -> list[tuple[int, float, float]]:
    """Line, left and right edge of each token: a new line where the next one has no room.

    >>> placed([Cell("Start", START), Cell(" old")])
    [(0, 0.0, 6.6), (0, 6.9, 11.5)]
    """
    found: list[tuple[int, float, float]] = []
    line, x = 0, 0.0
    for cell in cells:
        wide = max(2.2, len(_word(cell))) + 1.6
        if x + wide > WIDE and x > 0:
            line, x = line + 1, 0.0
        found.append((line, round(x, 3), round(x + wide, 3)))
        x += wide + 0.3
    return found


def _word(cell: Cell) -> str:
    return shorten(visible(cell.text.removeprefix(" ") or cell.text), LETTERS)


@kept
def input_rows(
    rows: Sequence[InputRow], outcomes: Sequence[Outcome] = (), *, added: Array | None = None, line: int = 25
) -> alt.TopLevelMixin:
    """The rows one below the other, each with the vector at its last token; `added`, their sum; the outcomes as bars. `line` in pixels.

    >>> figure = input_rows([InputRow([Cell("Start", START), Cell("a"), Cell("Extract", EXTRACT)], np.array([1.0, -2.0]))], [Outcome("good", 0.9)])
    >>> [layer["mark"]["type"] for layer in figure.to_dict()["layer"]]
    ['rect', 'rule', 'text', 'text', 'text', 'text']
    """
    drawn = _Drawn()
    limit = max(
        [float(np.abs(each).max()) for each in (*(row.vector for row in rows), added) if each is not None]
        + [1e-9]
    )
    y = 0.0
    for row in rows:
        y = drawn.row(row, y, limit) + 0.5
    if added is not None:
        drawn.strip(added, "sum", y, limit)
        y += 1.25
    for outcome in outcomes:
        drawn.bar(outcome, y)
        y += 1.0
    return drawn.chart(y, line)


class _Drawn:
    """Rectangles, rules and words, as they come."""

    def __init__(self) -> None:
        self.boxes: list[dict[str, Any]] = []
        self.rules: list[dict[str, Any]] = []
        self.words: list[dict[str, Any]] = []

    def box(
        self,
        x: float,
        x2: float,
        y: float,
        y2: float,
        fill: str,
        *,
        opacity: float = 1.0,
        stroke: str = "",
        told: str = "",
    ) -> None:
        self.boxes.append(
            {
                "x": x,
                "x2": x2,
                "y": y,
                "y2": y2,
                "fill": fill,
                "opacity": opacity,
                "stroke": stroke or fill,
                "told": told,
            }
        )

    def word(
        self,
        x: float,
        y: float,
        text: str,
        colour: str,
        align: str = "center",
        weight: str = "normal",
        told: str = "",
    ) -> None:
        self.words.append(
            {"x": x, "y": y, "text": text, "colour": colour, "align": align, "weight": weight, "told": told}
        )

    def row(self, row: InputRow, top: float, limit: float) -> float:
        """Its tokens, and below them the vector with a line from the last token; gives where it ends."""
        where, most = (
            placed(row.cells),
            max((cell.weight or 0.0 for cell in row.cells if cell.mark is None), default=0.0),
        )
        for cell, (line, x, x2) in zip(row.cells, where, strict=True):
            y = top + line
            told = visible(cell.text) + ("" if cell.weight is None else f": {percent(cell.weight)}")
            ground, ink = (
                (theme.SURFACE, theme.TEXT)
                if cell.mark is not None or cell.weight is None
                else theme.shade(cell.weight)
            )
            if cell.mark is not None:
                self.box(
                    x,
                    x2,
                    y + 0.09,
                    y + 0.91,
                    theme.CATEGORICAL[cell.mark],
                    opacity=0.3,
                    stroke=theme.CATEGORICAL[cell.mark],
                    told=told,
                )
            else:
                self.box(
                    x,
                    x2,
                    y + 0.09,
                    y + 0.91,
                    ground,
                    stroke=theme.TEXT if most and cell.weight == most else theme.LINE,
                    told=told,
                )
            self.word(
                (x + x2) / 2,
                y + 0.5,
                _word(cell),
                ink,
                weight="bold" if cell.mark is not None else "normal",
                told=told,
            )
        end = top + (where[-1][0] if where else 0) + 1
        if row.vector is None or not where:
            return end
        x = max((where[-1][1] + where[-1][2]) / 2, NAMES + 0.5)
        self.rules.append({"x": x, "y": end - 0.09, "y2": end + 0.25})
        self.strip(row.vector, row.name, end + 0.25, limit)
        return end + 1.0

    def strip(self, vector: Array, name: str, top: float, limit: float) -> None:
        """The numbers of a vector as colours."""
        self.word(NAMES - 0.8, top + 0.38, name, theme.MUTED, "right")
        edges = np.linspace(NAMES, WIDE, len(vector) + 1)
        for value, a, b in zip(vector.tolist(), edges[:-1].tolist(), edges[1:].tolist(), strict=True):
            self.box(
                round(a, 3),
                round(b, 3),
                top,
                top + 0.75,
                theme.shade(0.5 + value / limit / 2, theme.DIVERGING)[0],
                told=f"{name}: {value:.3f}",
            )

    def bar(self, outcome: Outcome, top: float) -> None:
        """A name, a bar from 0 to 1, a percentage."""
        weight, told = "bold" if outcome.strong else "normal", visible(outcome.name)
        self.word(
            NAMES - 0.8,
            top + 0.5,
            shorten(visible(outcome.name.strip()), LETTERS),
            theme.TEXT,
            "right",
            weight,
            told,
        )
        end = NAMES + (WIDE - NAMES - 7) * (outcome.p or 0)
        if outcome.p is not None:
            self.box(
                NAMES,
                round(end, 3),
                top + 0.15,
                top + 0.85,
                theme.PRIMARY if outcome.strong else theme.SEQUENTIAL[2],
                told=f"{told}: {percent(outcome.p, 2)}",
            )
        self.word(
            end + 0.6, top + 0.5, "?" if outcome.p is None else percent(outcome.p), theme.TEXT, "left", weight
        )

    def chart(self, high: float, line: int) -> alt.TopLevelMixin:
        x = alt.X("x:Q", scale=alt.Scale(domain=[-0.2, WIDE + 0.2], nice=False), axis=None)
        y = alt.Y("y:Q", scale=alt.Scale(domain=[high, 0], nice=False), axis=None)
        tip = [alt.Tooltip("told:N", title=" ")]
        rect = (
            alt.Chart(alt.Data(values=self.boxes))
            .mark_rect(cornerRadius=2, strokeWidth=1)
            .encode(
                x=x,
                x2="x2:Q",
                y=y,
                y2="y2:Q",
                fill=alt.Fill("fill:N", scale=None),
                stroke=alt.Stroke("stroke:N", scale=None),
                fillOpacity=alt.FillOpacity("opacity:Q", scale=None),
                tooltip=tip,
            )
        )
        rules = (
            [
                alt.Chart(alt.Data(values=self.rules))
                .mark_rule(color=theme.TEXT, strokeWidth=2)
                .encode(x=x, y=y, y2="y2:Q")
            ]
            if self.rules
            else []
        )
        words = [
            alt.Chart(
                alt.Data(values=[word for word in self.words if (word["align"], word["weight"]) == kind])
            )
            .mark_text(fontSize=13, baseline="middle", align=kind[0], fontWeight=kind[1])
            .encode(
                x=x,
                y=y,
                text="text:N",
                color=alt.Color("colour:N", scale=None),
                tooltip=tip,
            )
            for kind in sorted({(word["align"], word["weight"]) for word in self.words})
        ]
        return (
            alt.layer(rect, *rules, *words)
            .properties(width="container", height=round(high * line))
            .configure_view(stroke=None)
        )
