"""Strokes of a pen drawn as a doodle, the way the pictures of Quick, Draw! were made from theirs.

Its authors scale a drawing so that its longer side has 255 units, centre it in a square of 256 + 2 * 16 + 16 = 304 units, draw each stroke
16 units wide with round ends, antialiased, and scale that to 28 pixels (github.com/googlecreativelab/quickdraw-dataset, issue 19).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from core.data.doodles.text import SIDE, Pixels
from core.errors import InputError

UNITS = 304
"""Units of the square that becomes the picture, padding included."""
LONGER = 255 / UNITS
"""The longer side of a drawing as a share of the picture's."""
RADIUS = 8 / UNITS * SIDE
"""Half the width of a line, in pixels."""
FINE = 8
"""Each pixel is looked at in FINE by FINE points: its brightness is how many of them lie on a line."""
MOST_POINTS = 8000
DOT = 0.02
"""A drawing smaller than this part of the canvas is a dot: it is not made larger."""
Array = NDArray[np.float64]


def from_strokes(strokes: Sequence[ArrayLike], on: Pixels | None = None) -> Pixels:
    """Draw pen strokes as a doodle, (row, column) uint8. Each stroke is (point, 2): x from the left and y from above, as
    fractions of a square canvas.

    Scaled and centred, as every picture the models learned from; only `on` a doodle that is there already each stroke stays in its place.

    >>> line = from_strokes([[(0.1, 0.3), (0.4, 0.3)]])
    >>> rows, columns = line.nonzero()
    >>> int(rows.min()), int(rows.max()), int(columns.min()), int(columns.max()), int(line.max())
    (13, 14, 1, 26, 191)

    Raises InputError for what are no points, or more than MOST_POINTS of them.
    """
    lines = [_points(stroke) for stroke in strokes]
    total = sum(map(len, lines))
    if total > MOST_POINTS:
        raise InputError(
            "A drawing of {total:,} points.",
            "It has at most {most_points:,}.",
            "Clear it, and draw less.",
            total=total,
            most_points=MOST_POINTS,
        )
    before = np.zeros((SIDE, SIDE), dtype=np.uint8) if on is None else on
    if not total:
        return before.copy()
    if not before.any():
        lines = _centred(lines)
    covered = np.zeros((SIDE * FINE, SIDE * FINE), dtype=bool)
    for line in lines:
        for start, end in pairwise([line[0], *line]):  # a dot is a line to itself
            _cover(covered, start * SIDE * FINE, end * SIDE * FINE)
    share = covered.reshape(SIDE, FINE, SIDE, FINE).mean(axis=(1, 3))
    return np.maximum(before, np.rint(255 * share).astype(np.uint8))


def _points(stroke: ArrayLike) -> Array:
    try:
        points = np.asarray(stroke, dtype=float)
    except (TypeError, ValueError):
        points = np.empty((0, 2))
    if points.ndim != 2 or points.shape[1] != 2 or not len(points) or not np.isfinite(points).all():
        raise InputError(
            "A stroke that holds no points.",
            "A stroke is a list of points, each with two finite numbers, x and y.",
            "Draw it again.",
        )
    return points.clip(-1, 2)


def _centred(lines: list[Array]) -> list[Array]:
    """Return the strokes scaled so that the longer side of the drawing has length LONGER, and centred; a dot keeps its size."""
    whole = np.concatenate(lines)
    low, high = whole.min(axis=0), whole.max(axis=0)
    longer = float((high - low).max())
    scale = LONGER / longer if longer > DOT else 1.0
    return [(line - (low + high) / 2) * scale + 0.5 for line in lines]


def _cover(covered: NDArray[np.bool_], start: Array, end: Array) -> None:
    """Set the cells of `covered` whose centres are within RADIUS of the straight line from `start` to `end`, each (x, y) in cells."""
    radius = RADIUS * FINE
    low = np.floor(np.minimum(start, end) - radius).astype(int).clip(0)
    high = np.ceil(np.maximum(start, end) + radius).astype(int).clip(max=len(covered))
    if (high <= low).any():
        return
    x = np.arange(low[0], high[0])[None, :] + 0.5 - start[0]
    y = np.arange(low[1], high[1])[:, None] + 0.5 - start[1]
    way = end - start
    along = np.clip((x * way[0] + y * way[1]) / max(float(way @ way), 1e-12), 0, 1)
    near = (x - along * way[0]) ** 2 + (y - along * way[1]) ** 2 <= radius**2
    covered[low[1] : high[1], low[0] : high[0]] |= near
