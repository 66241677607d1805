"""Two pictures drawn for the course: shapes one over the other, as pixels, as named parts and as patches.

A shape is an ellipse ((centre x, centre y), (half width, half height)) or a polygon (its corners). x goes right and y
down, in units; a picture is `width` by `height` units. No photograph is used anywhere.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

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
        """Return a mask of the points (x, y) inside: ellipses by their equation, polygons by counting crossed edges.

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
    """Picture of shapes, painted in their order; `say` is its alt text."""

    width: int
    height: int
    shapes: tuple[Shape, ...]
    say: str

    @property
    def parts(self) -> tuple[str, ...]:
        """Return the named parts in the order in which they are painted first."""
        return tuple(dict.fromkeys(shape.part for shape in self.shapes))

    @lru_cache(4)  # noqa: B019 - two pictures, drawn once
    def top(self, per_unit: int) -> NDArray[np.int64]:
        """Return the index of the visible shape in each pixel: (height * per_unit, width * per_unit)."""
        y, x = ((np.arange(n * per_unit) + 0.5) / per_unit for n in (self.height, self.width))
        seen = np.zeros((len(y), len(x)), dtype=np.int64)
        for index, shape in enumerate(self.shapes):
            seen[shape.covers(x[None, :], y[:, None])] = index
        return seen

    def pixels(self, per_unit: int) -> Array:
        """Render the picture as red, green and blue from 0 to 1: (height, width, 3)."""
        colours = np.array(
            [[int(shape.colour[i : i + 2], 16) / 255 for i in (1, 3, 5)] for shape in self.shapes]
        )
        return colours[self.top(per_unit)]

    def patches(self, rows: int, columns: int, side: int) -> Array:
        """Cut the picture into a grid: (rows * columns, side, side, 3), row by row. Patches are one unit or less wide."""
        per_unit = side * columns // self.width
        image = self.pixels(per_unit)
        return (
            image.reshape(rows, side, columns, side, 3).swapaxes(1, 2).reshape(rows * columns, side, side, 3)
        )

    def shares(self, rows: int, columns: int, per_unit: int = 12) -> Array:
        """Return the share of each patch that each part fills: (rows * columns, part); each row sums to 1."""
        part = np.array([self.parts.index(shape.part) for shape in self.shapes])[self.top(per_unit)]
        cells = part.reshape(rows, len(part) // rows, columns, part.shape[1] // columns).swapaxes(1, 2)
        cells = cells.reshape(rows * columns, -1)
        return np.stack([(cells == i).mean(1) for i in range(len(self.parts))], axis=1)


def _shape(line: str) -> Shape:
    """Parse a line of scenes.toml: part, colour, o for an ellipse, points."""
    part, colour, *points = line.split()
    round_ = points[0] == "o"
    pairs = (point.split(",") for point in points[round_:])
    return Shape(part, colour, tuple((float(x), float(y)) for x, y in pairs), round_)


def _scene(entry: Mapping[str, Any]) -> Scene:
    width, height = entry["size"]
    return Scene(width, height, tuple(map(_shape, entry["shapes"].strip().split("\n"))), entry["say"])


PORTRAIT, HARBOUR = map(
    _scene, tomllib.loads(Path(__file__).with_name("scenes.toml").read_text("utf-8")).values()
)
