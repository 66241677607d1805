"""Shown numbers and their texts on the way to the browser, in few bytes: `figures.js` reads both back, letter by letter.

A column of figures travels as whole units of its last decimal, so the browser writes exactly the text that Python
would write. What is said about a cell is the same sentence for every cell but for the numbers in it: the sentence is
sent once a visit, the numbers with each cell.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from core.analysis.arithmetic.digits import RoundedNumbers

_NUMBER = re.compile("[0-9]+|#")


def pack(numbers: NDArray[np.int64]) -> bytes:
    """Pack whole numbers (below 2^52 either way) as base-128 varints, the sign in the lowest bit.

    Example:
        >>> pack(np.array([0, -1, 1, 64])).hex(" ")
        '00 01 02 80 01'
    """
    zigzag = ((numbers << 1) ^ (numbers >> 63)).astype(np.uint64)
    longest = max(1, -(-int(zigzag.max(initial=0)).bit_length() // 7))
    shifts = np.arange(longest, dtype=np.uint64) * np.uint64(7)
    rest = zigzag[:, None] >> shifts
    more = rest > 127
    kept = np.ones_like(more)
    kept[:, 1:] = rest[:, 1:] > 0
    return ((rest & np.uint64(127)).astype(np.uint8) | (more.astype(np.uint8) << 7))[kept].tobytes()


def columns(
    figures: Sequence[RoundedNumbers], label_indices: NDArray[np.int64] | None
) -> list[NDArray[np.int64]]:
    """Return columns with equally many decimals, and the indices of their names, as whole numbers to pack.

    Decimals, how many columns; of each its length times two (and one more if all its numbers are the one that follows),
    its units; then the indices: none where they are 0, 1, 2 ...
    """
    out = [np.array([figures[0].decimals, len(figures)], dtype=np.int64)]
    for column in figures:
        units = column.units
        same = len(units) > 1 and bool((units == units[0]).all())
        out += [np.array([2 * len(units) + same], dtype=np.int64), units[:1] if same else units]
    listed = label_indices is not None and not np.array_equal(label_indices, np.arange(len(label_indices)))
    return [
        *out,
        np.array([len(label_indices) if label_indices is not None and listed else 0], dtype=np.int64),
        *([np.asarray(label_indices, dtype=np.int64)] if listed else []),
    ]


def odd(figures: Sequence[RoundedNumbers]) -> list[tuple[int, int, str]]:
    """Return column, position and text of each entry that is no whole number of units."""
    return [(column, place, text) for column, each in enumerate(figures) for place, text in each.odd.items()]


def template(text: str, numbers: list[str]) -> str:
    """Return the text with # for each of its numbers, which are appended to `numbers`.

    Example:
        >>> found = []
        >>> template("number 17 of 256, #", found), found
        ('number # of #, #', ['17', '256', '#'])
    """
    found = _NUMBER.findall(text)
    if not found:
        return text
    numbers += found
    return _NUMBER.sub("#", text)


def pack_groups(groups: Iterable[list[NDArray[np.int64]]]) -> bytes:
    """Pack all groups into one row of bytes."""
    every = [numbers for group in groups for numbers in group]
    return pack(np.concatenate(every)) if every else b""
