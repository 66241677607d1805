"""Word vectors as points: the nearest, and analogies a - b + c (Mikolov et al. 2013c)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from core.maths import cosines, unit_rows

if TYPE_CHECKING:
    from jaxtyping import Float


Array = np.ndarray


def nearest_rows(
    table: Float[Array, "row d_model"], vector: Float[Array, " d_model"], n: int, exclude: Sequence[int] = ()
) -> list[tuple[int, float]]:
    """Return the n rows with the largest cosine, best first, as (row, cosine); of equal ones the earlier row first.

    >>> nearest_rows(np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]), np.array([1.0, 0.1]), 2, exclude=[0])
    [(1, 0.7739572992033211), (2, 0.09950371902099893)]
    """
    found = cosines(table, vector)
    order = [int(row) for row in np.argsort(-found, kind="stable") if row not in exclude]
    return [(row, float(found[row])) for row in order[:n]]


def analogy_vector(
    table: Float[Array, "row d_model"], plus: Sequence[int], minus: Sequence[int] = ()
) -> Float[Array, " d_model"]:
    """Compute the sum of unit vectors minus those of `minus`: king - man + woman is plus (king, woman), minus (man,).

    The documents' picture, exact: king (1, 1), man (1, 0), woman (0, 0) lead to queen (0, 1) in raw coordinates; with
    trained vectors directions count, so that each is first brought to length 1.
    """
    rows = unit_rows(table)
    return rows[list(plus)].sum(0) - rows[list(minus)].sum(0)


def cosine_rank(
    table: Float[Array, "row d_model"],
    vector: Float[Array, " d_model"],
    row: int,
    exclude: Sequence[int] = (),
) -> int:
    """Return the rank of a row among all by cosine, 1 the nearest; rows of `exclude` do not count.

    >>> cosine_rank(np.eye(3), np.array([1.0, 0.5, 0.2]), 2), cosine_rank(np.eye(3), np.array([1.0, 0.5, 0.2]), 2, exclude=[0])
    (3, 2)
    """
    found = cosines(table, vector)
    better = found > found[row]
    better[list(exclude)] = False
    return int(better.sum()) + 1
