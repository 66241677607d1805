"""Scenes as pixels, and their reader. The drawings are from `drawings.txt`; the same text is always the same picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from core.data.scenes.language import GRID, Thing, read
from core.text import Encoded

PATCH, MARGIN = 12, 1
"""Pixels on each side of a cell, and pixels that are seen around it."""
PAPER, SHADE, GLEAM = 0.96, 0.45, 0.5
"""The background; what of its colour a detail keeps; how light it is where the colour is dark."""
PAINTS = MappingProxyType(
    {
        "red": (0.85, 0.15, 0.15),
        "green": (0.10, 0.60, 0.25),
        "blue": (0.15, 0.35, 0.90),
        "yellow": (0.95, 0.80, 0.10),
        "purple": (0.55, 0.20, 0.70),
        "black": (0.15, 0.15, 0.15),
    }
)
"""Red, green and blue, from 0 to 1."""


@cache
def drawings() -> dict[str, NDArray[np.float32]]:
    """Return for each kind of thing the ink of a cell's pixels, (row, column): 0 for paper, 1 for its colour, 2 for a darker detail."""
    blocks = (Path(__file__).parent / "drawings.txt").read_text(encoding="utf-8").split("\n\n")
    found: dict[str, NDArray[np.float32]] = {}
    for block in blocks:
        name, *rows = block.split()
        found[name] = np.pad([[".#o".index(sign) for sign in row] for row in rows], 1).astype(np.float32)
    return found


@cache
def _tile(name: str) -> NDArray[np.float32]:
    """Return the pixels of a cell with this thing, (row, column, 3)."""
    colour, kind = name.split()
    ink, own = drawings()[kind][..., None], np.array(PAINTS[colour], dtype=np.float32)
    shades = np.where(ink > 1, own * SHADE + (GLEAM if colour == "black" else 0), own)
    return np.where(ink > 0, shades, PAPER).astype(np.float32)


def picture(scene: Sequence[Thing], grid: int = GRID) -> NDArray[np.float32]:
    """Draw a scene: return its pixels (row, column, 3) from 0 to 1.

    >>> picture(read("red cat 1,2")).shape
    (60, 60, 3)
    """
    pixels = np.full((grid * PATCH, grid * PATCH, 3), PAPER, dtype=np.float32)
    for thing in scene:
        rows, columns = (slice(at * PATCH, (at + 1) * PATCH) for at in (thing.row, thing.column))
        pixels[rows, columns] = _tile(thing.name)
    return pixels


def windows(pixels: NDArray[np.float32]) -> NDArray[np.float32]:
    """Cut pixels into cells, each with a margin of its surroundings, row by row: (.., row, column, 3) -> (.., cell, 3 * side * side), channel first.

    >>> windows(picture(read("red cat 1,2"))).shape
    (25, 588)
    """
    side = PATCH + 2 * MARGIN
    around = [(0, 0)] * (pixels.ndim - 3) + [(MARGIN, MARGIN), (MARGIN, MARGIN), (0, 0)]
    wide = np.pad(pixels, around)
    cut = np.lib.stride_tricks.sliding_window_view(wide, (side, side), (-3, -2))
    cells = cut[..., ::PATCH, ::PATCH, :, :, :]
    return np.ascontiguousarray(cells.reshape(*pixels.shape[:-3], -1, 3 * side * side))


def bank(names: Sequence[str], grid: int = GRID) -> tuple[NDArray[np.float32], dict[tuple[str, int], int]]:
    """Return the different windows that pictures of these things have, (window, number), and the index of the window of
    each (thing, cell); the thing "" is an empty cell.

    A drawing leaves the edge of its cell free, so that the margin around any cell is paper, or the end of the picture.

    >>> found, where = bank(["red cat"])
    >>> found.shape, where["red cat", 6] == where["red cat", 7], where["red cat", 0] == where["red cat", 6]
    ((18, 588), True, False)
    """
    found: dict[bytes, int] = {}
    rows: list[NDArray[np.float32]] = []
    where: dict[tuple[str, int], int] = {}
    for name in ("", *names):
        things = [(Thing.from_cell(name, place, grid),) if name else () for place in range(grid**2)]
        cut = windows(np.stack([picture(thing, grid) for thing in things]))
        for place in range(grid**2):
            row = cut[place, place]
            if (at := found.setdefault(row.tobytes(), len(rows))) == len(rows):
                rows.append(row)
            where[name, place] = at
    return np.stack(rows), where


@dataclass(frozen=True)
class SceneReader:
    """A reader of written scenes: a token for each cell, named by its thing or its place, with the pixels of the cell as its values.

    >>> found = SceneReader().encode("red cat 1,0")
    >>> found.tokens[:3], found.values.shape
    (('0,0', 'red cat', '2,0'), (25, 588))
    """

    grid: int = GRID
    example: str = "red cat 1,0; blue house 0,2; blue house 2,1"

    def encode(self, text: str, *, special: bool = False) -> Encoded:
        """Return the cells row by row; a cell's span is that of its thing in the text. Raises InputError for a text that is no scene."""
        scene = read(text, self.grid)
        there = {thing.cell(self.grid): thing for thing in scene}
        cells = range(self.grid**2)
        names = tuple(
            there[cell].name if cell in there else f"{cell % self.grid},{cell // self.grid}" for cell in cells
        )
        spans = tuple(there[cell].span if cell in there else None for cell in cells)
        return Encoded(tuple(cells), names, spans, values=windows(picture(scene, self.grid)))
