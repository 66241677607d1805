"""Small vectors as text for the link, and back, with every bound."""

from __future__ import annotations

import math
from collections.abc import Sequence

from viz.languages import _
from viz.shell.state import Unusable

Vectors = tuple[tuple[float, ...], ...]
LIMIT, MOST_ROWS, MOST_WIDE = 2.0, 12, 6


def pack(vectors: Sequence[Sequence[float]]) -> str:
    """Return vectors of numbers as text: commas between numbers, semicolons between vectors.

    >>> pack([(1.0, 0.25), (-2.0, 0.0)])
    '1,0.25;-2,0'
    """
    return ";".join(",".join(f"{value:g}" for value in vector) for vector in vectors)


def vectors(raw: str, limit: float = 9.0, rule: str = "") -> Vectors:
    """Parse equally long vectors of numbers, each from -limit to limit; raise Unusable, with its `rule`, for anything else."""
    rule = rule or _(
        "It must be vectors of equally many numbers from {low:g} to {high:g}, such as 1,0;0,1.",
        low=-limit,
        high=limit,
    )
    try:
        found = tuple(tuple(float(value) for value in vector.split(",")) for vector in raw.split(";"))
    except ValueError:
        raise Unusable(rule) from None
    if len({len(vector) for vector in found}) != 1 or len(found) > 2 * MOST_ROWS or len(found[0]) > MOST_WIDE:
        raise Unusable(rule)
    if not all(math.isfinite(value) and abs(value) <= limit for vector in found for value in vector):
        raise Unusable(rule)
    return found
