"""Number grids as on a blackboard: matrices with names, shapes and every number, one word marked through all of them.

A touched number tells how it is computed and lights the row and the column that made it; a touched word is chosen; a
weight that may be changed opens in place, to be typed or counted up and down. Only a chosen word, a changed weight and
the turn between the documents' columns and PyTorch's rows reach Python.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from viz.instruments.kit.component import Instrument, nothing, stored
from viz.instruments.kit.payload import Packet
from viz.instruments.kit.spec import Spec, as_function
from viz.labels import visible

BOARD = Instrument("attention_atlas_board", "board/board")
SCALES = ("signed", "weights")
MOST = 9.0
"""The largest size of a typed number."""


@dataclass(frozen=True, eq=False)
class Grid:
    """One matrix as it is written: its name ("W_Q": what follows _ is an index), its shape in words, its numbers.

    rows, columns: words along the sides, or nothing. words: which of both sides are words one can choose.
    places: decimals that are shown. scale: "signed" (diverging around 0, to `limit`) or "weights" (0 to 1).
    marked: rows or columns to frame, ("column", 2).
    uses: what a cell is made of, ("W_Q", "column", "row"): the column of W_Q whose number is this cell's row
        (a whole number in the last place is the number itself).
    edit: whether its numbers can be changed. shut: cells that are hatched. sums: along "row", "column" or both.
    covered: only the shape is sent, each cell shows a question mark.
    """

    name: str
    values: ArrayLike
    shape: str
    rows: Sequence[str] = ()
    columns: Sequence[str] = ()
    words: Sequence[str] = ()
    places: int = 0
    scale: str = "signed"
    limit: float = 3.0
    marked: Sequence[tuple[str, int]] = ()
    explanations: Sequence[Sequence[str]] = ()
    """The sentence on how each cell is computed, by row and column."""
    uses: Sequence[tuple[str, str, str | int]] = ()
    edit: bool = False
    shut: ArrayLike | None = None
    sums: Sequence[str] = ()
    covered: bool = False
    note: str = ""

    def as_json(self) -> dict[str, Any]:
        """Return the grid as JSON has it, for the browser.

        Raises ValueError when labels or texts do not fit the numbers.
        """
        values = np.asarray(self.values, dtype=np.float64)
        if values.ndim != 2 or self.scale not in SCALES:
            raise ValueError(
                f"{self.name}: {values.ndim} axes with the scale {self.scale!r}; a grid has 2 and one of {SCALES}"
            )
        for side, names, size in (
            ("row", self.rows, values.shape[0]),
            ("column", self.columns, values.shape[1]),
        ):
            if names and len(names) != size:
                raise ValueError(f"{self.name}: {len(names)} names for {size} {side}s")
        shut = None if self.shut is None else np.asarray(self.shut, dtype=bool)
        kept = {
            "name": self.name,
            "shape": self.shape,
            "size": list(values.shape),
            "rows": [visible(word) for word in self.rows],
            "columns": [visible(word) for word in self.columns],
            "words": list(self.words),
            "marked": [list(mark) for mark in self.marked],
            "covered": self.covered,
            "note": self.note,
        }
        if self.covered:
            return kept
        return kept | {
            "values": [[round(float(value), 6) for value in row] for row in values],
            "places": self.places,
            "scale": self.scale,
            "limit": self.limit,
            "explanations": [list(row) for row in self.explanations],
            "uses": [list(use) for use in self.uses],
            "edit": self.edit,
            "shut": None if shut is None else shut.astype(int).tolist(),
            "sums": list(self.sums),
        }


@dataclass(frozen=True)
class Sign:
    """A sign between two grids: an arrow, say, and the formula above it."""

    text: str
    says: str = ""


@dataclass(frozen=True)
class Unit:
    """A group that stays together where a line is too long for the page."""

    items: Sequence[Grid | Sign | Sequence[Grid]]


Item = Grid | Sign | Unit | Sequence[Grid]
"""One part of a line; the grids of a sequence are drawn one below the other."""


@dataclass(frozen=True)
class EditedCell:
    """A number that the visitor changed: of which grid, where, and what it is now."""

    grid: str
    row: int
    column: int
    value: float


@dataclass(frozen=True, eq=False)
class Board(Spec):
    """Lines of grids and signs.

    convention: "columns" or "rows" shows the switch between both; "" hides it. pin: the cell (grid, row, column) whose
    arithmetic is shown until another one is touched. hint: the sentence while no cell is touched. large: for a few small grids.
    on_word, on_edit, on_turn: called before the run that answers; `chosen_word`, `edited_cell` and `chosen_convention` return what was done.

    Example:
        >>> packet = Board([[Grid("Q", [[1.0, -1.0]], "1 × 2"), Sign("=")]]).packet()
        >>> packet.header["lines"][0][0]["values"], packet.header["lines"][0][1]
        ([[1.0, -1.0]], {'sign': '=', 'says': ''})
        >>> board([[Grid("Q", [[1.0]], "1 × 1")]], key="b")    # doctest: +SKIP
    """

    lines: Sequence[Sequence[Item]]
    _: KW_ONLY
    convention: str = ""
    pin: tuple[str, int, int] | None = None
    hint: str = ""
    large: bool = False
    on_word: Callable[[], None] = nothing
    on_edit: Callable[[], None] = nothing
    on_turn: Callable[[], None] = nothing

    def show(self) -> None:
        """Draw it in the page."""
        BOARD.show(
            self.packet(),
            key=self.key,
            on_word_change=self.on_word,
            on_edit_change=self.on_edit,
            on_turn_change=self.on_turn,
        )

    def packet(self) -> Packet:
        lines = [[_as_json(item) for item in line] for line in self.lines]
        return Packet(
            {
                "lines": lines,
                "pin": list(self.pin) if self.pin else None,
                "most": MOST,
                **self.plain("convention", "hint", "large", "python"),
            }
        )


board_packet = as_function(Board, Board.packet)
board = as_function(Board, Board.show)


def _as_json(item: Item) -> dict[str, Any]:
    if isinstance(item, Sign):
        return {"sign": item.text, "says": item.says}
    if isinstance(item, Grid):
        return item.as_json()
    if isinstance(item, Unit):
        return {"unit": [_as_json(part) for part in item.items]}
    return {"stack": [grid.as_json() for grid in item]}


def chosen_word(key: str, n: int) -> int | None:
    """Return the index of the word, of n, that the visitor touched last; None for anything else.

    Example:
        >>> chosen_word("nobody", 3) is None
        True
    """
    sent = stored(key, "word")
    return sent if isinstance(sent, int) and not isinstance(sent, bool) and 0 <= sent < n else None


def chosen_convention(key: str) -> str | None:
    """Return the convention that the visitor asked for: "columns" or "rows"."""
    sent = stored(key, "turn")
    return sent if sent in ("columns", "rows") else None


def edited_cell(key: str) -> EditedCell | None:
    """Return the cell that the visitor changed last, its value brought into range; None for anything else."""
    sent = stored(key, "edit")
    if not isinstance(sent, dict) or not isinstance(sent.get("grid"), str):
        return None
    at, value = sent.get("at"), sent.get("value")
    if (
        not isinstance(at, (list, tuple))
        or len(at) != 2
        or not all(isinstance(i, int) and 0 <= i < 64 for i in at)
    ):
        return None
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not math.isfinite(value):
        return None
    return EditedCell(sent["grid"], at[0], at[1], min(max(round(float(value), 2), -MOST), MOST))
