"""Word vectors as points: which are near, and where a - b + c leads (Mikolov et al. 2013c)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

Array = np.ndarray


def unit(table: Array) -> Array:
    """Each row divided by its length; a row of zeros stays.

    >>> unit(np.array([[3.0, 4.0], [0.0, 0.0]])).tolist()
    [[0.6, 0.8], [0.0, 0.0]]
    """
    length = np.linalg.norm(table, axis=-1, keepdims=True)
    return table / np.where(length == 0, 1, length)


def cosines(table: Array, vector: Array) -> Array:
    """The cosine of `vector` (d) with each row of `table` (word d): (word)."""
    return unit(table) @ unit(vector)


def nearest(table: Array, vector: Array, n: int, without: Sequence[int] = ()) -> list[tuple[int, float]]:
    """The n rows with the largest cosine, best first, as (row, cosine); of equal ones the earlier row.

    >>> nearest(np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]), np.array([1.0, 0.1]), 2, without=[0])
    [(1, 0.7739572992033211), (2, 0.09950371902099893)]
    """
    found = cosines(table, vector)
    order = [int(row) for row in np.argsort(-found, kind="stable") if row not in without]
    return [(row, float(found[row])) for row in order[:n]]


def sum_of(table: Array, plus: Sequence[int], minus: Sequence[int] = ()) -> Array:
    """The sum of unit vectors, those of `minus` taken off: king - man + woman is plus (king, woman), minus (man,).

    The documents' picture, exact: king (1, 1), man (1, 0), woman (0, 0) lead to queen (0, 1) in raw coordinates; with
    trained vectors directions count, so that each is first brought to length 1.
    """
    rows = unit(table)
    return rows[list(plus)].sum(0) - rows[list(minus)].sum(0)


def rank(table: Array, vector: Array, wanted: int, without: Sequence[int] = ()) -> int:
    """The place of a row among all by cosine, 1 the nearest; rows of `without` do not count.

    >>> rank(np.eye(3), np.array([1.0, 0.5, 0.2]), 2), rank(np.eye(3), np.array([1.0, 0.5, 0.2]), 2, without=[0])
    (3, 2)
    """
    found = cosines(table, vector)
    better = found > found[wanted]
    better[list(without)] = False
    return int(better.sum()) + 1
