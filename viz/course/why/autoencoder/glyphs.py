"""Twenty-six capital letters of 7 x 5 dots, drawn for the course, and the same letters in three other styles."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

ROWS, COLUMNS = 7, 5
_BITMAPS = """
A .###. #...# #...# ##### #...# #...# #...#
B ####. #...# #...# ####. #...# #...# ####.
C .#### #.... #.... #.... #.... #.... .####
D ####. #...# #...# #...# #...# #...# ####.
E ##### #.... #.... ####. #.... #.... #####
F ##### #.... #.... ####. #.... #.... #....
G .#### #.... #.... #..## #...# #...# .####
H #...# #...# #...# ##### #...# #...# #...#
I .###. ..#.. ..#.. ..#.. ..#.. ..#.. .###.
J ..### ...#. ...#. ...#. ...#. #..#. .##..
K #...# #..#. #.#.. ##... #.#.. #..#. #...#
L #.... #.... #.... #.... #.... #.... #####
M #...# ##.## #.#.# #.#.# #...# #...# #...#
N #...# ##..# ##..# #.#.# #..## #..## #...#
O .###. #...# #...# #...# #...# #...# .###.
P ####. #...# #...# ####. #.... #.... #....
Q .###. #...# #...# #...# #.#.# #..#. .##.#
R ####. #...# #...# ####. #.#.. #..#. #...#
S .#### #.... #.... .###. ....# ....# ####.
T ##### ..#.. ..#.. ..#.. ..#.. ..#.. ..#..
U #...# #...# #...# #...# #...# #...# .###.
V #...# #...# #...# #...# #...# .#.#. ..#..
W #...# #...# #...# #.#.# #.#.# ##.## #...#
X #...# #...# .#.#. ..#.. .#.#. #...# #...#
Y #...# #...# .#.#. ..#.. ..#.. ..#.. ..#..
Z ##### ....# ...#. ..#.. .#... #.... #####
"""


@cache
def letters() -> tuple[str, ...]:
    """Return the letters in alphabetical order."""
    return tuple(line[0] for line in _BITMAPS.split("\n") if line)


@cache
def glyphs() -> Array:
    """Return every letter as a row of dots, 1 for ink: (26, 35).

    >>> glyphs().shape, int(glyphs()[letters().index("I")].sum())
    ((26, 35), 11)
    """
    lines = [line.split(" ", 1)[1].replace(" ", "") for line in _BITMAPS.split("\n") if line]
    return np.array([[dot == "#" for dot in line] for line in lines], dtype=np.float64)


def styles() -> dict[str, Array]:
    """Return the same letters in three other styles, each (26, 9, 9): targets of other decoders on the same context.

    bold: each dot also inks its right and lower neighbour. slanted: the upper rows lean to the right. framed: ink and
    paper change places.

    >>> {name: letter.shape for name, letter in styles().items()}
    {'bold': (26, 9, 9), 'slanted': (26, 9, 9), 'framed': (26, 9, 9)}
    """
    plain = np.zeros((len(letters()), 9, 9))
    plain[:, 1:8, 2:7] = glyphs().reshape(-1, ROWS, COLUMNS)
    bold = np.maximum.reduce([plain, np.roll(plain, 1, 2), np.roll(plain, 1, 1)])
    slanted = np.stack(
        [np.roll(plain[:, row], 1 - (row - 1) // 2 if 1 <= row < 8 else 0, 1) for row in range(9)], axis=1
    )
    return {"bold": bold, "slanted": slanted, "framed": 1 - plain}
