"""Two pictures drawn for the course: shapes one over the other, as pixels, as named parts and as patches.

A shape is an ellipse ((centre x, centre y), (half width, half height)) or a polygon (its corners). x goes right and y
down, in units; a picture is `width` by `height` units. No photograph is used anywhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Points = tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Shape:
    """One painted shape: the part of the picture that it belongs to, its colour, its form."""

    part: str
    colour: str
    points: Points
    round: bool = False

    def covers(self, x: Array, y: Array) -> NDArray[np.bool_]:
        """Which of the points (x, y) lie inside: ellipses by their equation, polygons by counting crossed edges.

        >>> Shape("sun", "#ffcc00", ((2, 2), (1, 1)), round=True).covers(np.array([2.0, 4.0]), np.array([2.5, 2.0])).tolist()
        [True, False]
        """
        if self.round:
            (cx, cy), (rx, ry) = self.points
            return ((x - cx) / rx) ** 2 + ((y - cy) / ry) ** 2 <= 1
        inside = np.zeros(np.broadcast(x, y).shape, dtype=bool)
        for (x0, y0), (x1, y1) in zip(self.points, (*self.points[1:], self.points[0]), strict=True):
            if y0 == y1:
                continue
            crosses = (y0 > y) != (y1 > y)
            inside ^= crosses & (x < x0 + (y - y0) * (x1 - x0) / (y1 - y0))
        return inside


@dataclass(frozen=True)
class Scene:
    """A picture of shapes, painted in their order; `say` is what a screen reader says."""

    width: int
    height: int
    shapes: tuple[Shape, ...]
    say: str

    @property
    def parts(self) -> tuple[str, ...]:
        """The named parts in the order in which they are painted first."""
        return tuple(dict.fromkeys(shape.part for shape in self.shapes))

    @lru_cache(4)  # noqa: B019 - two pictures, drawn once
    def top(self, per_unit: int) -> NDArray[np.int64]:
        """The index of the shape that is seen in each pixel: (height * per_unit, width * per_unit)."""
        y, x = ((np.arange(n * per_unit) + 0.5) / per_unit for n in (self.height, self.width))
        seen = np.zeros((len(y), len(x)), dtype=np.int64)
        for index, shape in enumerate(self.shapes):
            seen[shape.covers(x[None, :], y[:, None])] = index
        return seen

    def pixels(self, per_unit: int) -> Array:
        """The picture as red, green and blue from 0 to 1: (height, width, 3)."""
        colours = np.array(
            [[int(shape.colour[i : i + 2], 16) / 255 for i in (1, 3, 5)] for shape in self.shapes]
        )
        return colours[self.top(per_unit)]

    def patches(self, rows: int, columns: int, side: int) -> Array:
        """The picture cut into a grid: (rows * columns, side, side, 3), row by row. Patches are one unit or less wide."""
        per_unit = side * columns // self.width
        image = self.pixels(per_unit)
        return (
            image.reshape(rows, side, columns, side, 3).swapaxes(1, 2).reshape(rows * columns, side, side, 3)
        )

    def shares(self, rows: int, columns: int, per_unit: int = 12) -> Array:
        """How much of each patch each part fills: (rows * columns, part); each row sums to 1."""
        part = np.array([self.parts.index(shape.part) for shape in self.shapes])[self.top(per_unit)]
        cells = part.reshape(rows, len(part) // rows, columns, part.shape[1] // columns).swapaxes(1, 2)
        cells = cells.reshape(rows * columns, -1)
        return np.stack([(cells == i).mean(1) for i in range(len(self.parts))], axis=1)


PORTRAIT = Scene(
    8,
    10,
    (
        Shape("sky", "#b9cdd0", ((0, 0), (8, 0), (8, 10), (0, 10))),
        Shape("sky", "#d8d9b8", ((0, 2.4), (8, 1.9), (8, 4), (0, 4))),
        Shape(
            "hills",
            "#8fa59a",
            (
                (0, 3.0),
                (0.8, 2.3),
                (1.7, 3.1),
                (2.7, 2.5),
                (4, 3.3),
                (5.2, 2.3),
                (6.4, 3.0),
                (7.2, 2.4),
                (8, 2.9),
                (8, 6),
                (0, 6),
            ),
        ),
        Shape(
            "hills",
            "#74886a",
            ((0, 4.3), (1.4, 3.8), (3, 4.5), (5, 4.4), (6.6, 3.7), (8, 4.2), (8, 10), (0, 10)),
        ),
        Shape(
            "hills",
            "#c6b78c",
            ((0.1, 6.6), (1.5, 5.6), (0.7, 5.1), (1.4, 4.6), (1.6, 4.7), (1.1, 5.1), (2, 5.7), (0.8, 6.8)),
        ),
        Shape("hair", "#4a3526", ((4, 3.5), (1.75, 2.2)), round=True),
        Shape("hair", "#4a3526", ((2.25, 3.6), (5.75, 3.6), (5.95, 6.3), (2.05, 6.3))),
        Shape("dress", "#39463f", ((0.9, 10), (1.1, 7.7), (2.4, 6.2), (5.6, 6.2), (6.9, 7.7), (7.1, 10))),
        Shape("face", "#d9b48a", ((3.4, 5.0), (4.6, 5.0), (4.8, 6.6), (4, 7.1), (3.2, 6.6))),
        Shape("face", "#e3c095", ((4, 3.75), (1.2, 1.6)), round=True),
        Shape("eyes", "#fbf5e8", ((3.5, 3.5), (0.3, 0.14)), round=True),
        Shape("eyes", "#fbf5e8", ((4.5, 3.5), (0.3, 0.14)), round=True),
        Shape("eyes", "#2d2118", ((3.53, 3.5), (0.12, 0.13)), round=True),
        Shape("eyes", "#2d2118", ((4.53, 3.5), (0.12, 0.13)), round=True),
        Shape("face", "#c39a70", ((3.98, 3.6), (4.15, 4.2), (3.85, 4.22))),
        Shape(
            "smile",
            "#9c4f43",
            (
                (3.4, 4.55),
                (3.7, 4.68),
                (4, 4.7),
                (4.3, 4.68),
                (4.6, 4.55),
                (4.35, 4.85),
                (4, 4.93),
                (3.65, 4.85),
            ),
        ),
        Shape("hands", "#dcb88c", ((3.5, 8.6), (1.15, 0.42)), round=True),
        Shape("hands", "#e3c095", ((4.5, 8.85), (1.25, 0.42)), round=True),
        Shape("hands", "#c39a70", ((3.4, 8.85), (4.9, 8.72), (4.9, 8.78), (3.4, 8.93))),
    ),
    "A drawn portrait: a smiling woman with dark hair, her hands crossed, hills behind her.",
)

HARBOUR = Scene(
    6,
    4,
    (
        Shape("sky", "#8ec3e6", ((0, 0), (6, 0), (6, 4), (0, 4))),
        Shape("sun", "#f6c945", ((5.15, 0.62), (0.42, 0.42)), round=True),
        Shape("cloud", "#f4f4f0", ((1.1, 0.55), (0.55, 0.24)), round=True),
        Shape("cloud", "#f4f4f0", ((1.5, 0.45), (0.4, 0.26)), round=True),
        Shape("hill", "#7fae62", ((2.6, 2.6), (2.6, 1.1)), round=True),
        Shape("lake", "#3c78b4", ((0, 2.55), (6, 2.55), (6, 4), (0, 4))),
        Shape("lake", "#5b95cc", ((0, 3.2), (6, 3.05), (6, 3.2), (0, 3.35))),
        Shape("meadow", "#5f9a47", ((0, 2.4), (3.3, 2.4), (2.7, 3.2), (1.8, 4), (0, 4))),
        Shape("house", "#f0e3c8", ((1.2, 1.75), (2.4, 1.75), (2.4, 2.75), (1.2, 2.75))),
        Shape("roof", "#b8402f", ((1.0, 1.8), (1.8, 1.05), (2.6, 1.8))),
        Shape("house", "#6b4a35", ((1.65, 2.2), (1.95, 2.2), (1.95, 2.75), (1.65, 2.75))),
        Shape("tree", "#6b4a35", ((0.42, 2.2), (0.58, 2.2), (0.58, 3.1), (0.42, 3.1))),
        Shape("tree", "#2f6b3a", ((0.5, 1.85), (0.42, 0.62)), round=True),
        Shape("boat", "#fbfaf4", ((4.4, 1.75), (4.4, 2.75), (5.15, 2.75))),
        Shape("boat", "#c04a36", ((3.85, 2.82), (5.4, 2.82), (5.1, 3.25), (4.15, 3.25))),
    ),
    "A drawn harbour: a tree, a house with a red roof, a lake with a red boat, the sun.",
)
