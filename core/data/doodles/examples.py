"""Six example doodles drawn for this project, one for each class of the doodle models; no picture of the training data ships."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import cos, pi, sin

from core.data.doodles.strokes import from_strokes
from core.data.doodles.text import Pixels
from core.errors import InputError

Stroke = list[tuple[float, float]]


def example(name: str) -> Pixels:
    """Return the example doodle of a class, one of NAMES, as pixels (28, 28) uint8.

    >>> example("fish").shape
    (28, 28)

    Raises InputError for another name.
    """
    if name not in _DRAWINGS:
        raise InputError(
            "There is no doodle '{name}'.",
            "There are {names}.",
            "Choose one of them.",
            name=name,
            names=", ".join(NAMES),
        )
    return _pixels(name).copy()


@cache
def _pixels(name: str) -> Pixels:
    return from_strokes(_DRAWINGS[name]())


def _arc(x: float, y: float, wide: float, high: float, start: float = 0.0, end: float = 1.0) -> Stroke:
    """Return points on an arc of the ellipse around (x, y) with radii `wide` and `high`, from `start` to `end` in full
    turns, clockwise from the right.
    """
    turns = [start + (end - start) * i / 32 for i in range(33)]
    return [(x + wide * cos(2 * pi * turn), y + high * sin(2 * pi * turn)) for turn in turns]


def _apple() -> list[Stroke]:
    left = _arc(0.36, 0.6, 0.26, 0.32, -0.16, -0.75)
    right = _arc(0.62, 0.6, 0.26, 0.32, -0.34, 0.25)
    leaf = [(0.5, 0.22), (0.6, 0.1), (0.74, 0.08), (0.66, 0.2), (0.5, 0.22)]
    return [
        left,
        right,
        [(0.36, 0.92), (0.49, 0.88), (0.62, 0.92)],
        [(0.49, 0.37), (0.5, 0.22), (0.45, 0.1)],
        leaf,
    ]


def _bicycle() -> list[Stroke]:
    back, front = _arc(0.22, 0.65, 0.2, 0.2), _arc(0.78, 0.65, 0.2, 0.2)
    frame = [(0.22, 0.65), (0.38, 0.4), (0.67, 0.4), (0.47, 0.66), (0.22, 0.65)]
    return [
        back,
        front,
        frame,
        [(0.47, 0.66), (0.36, 0.3)],
        [(0.29, 0.3), (0.43, 0.3)],
        [(0.78, 0.65), (0.65, 0.27), (0.77, 0.25)],
    ]


def _cat() -> list[Stroke]:
    ears = [[(0.2, 0.46), (0.19, 0.12), (0.4, 0.29)], [(0.6, 0.29), (0.81, 0.12), (0.8, 0.46)]]
    eyes = [_arc(0.38, 0.5, 0.03, 0.04), _arc(0.62, 0.5, 0.03, 0.04)]
    whiskers = [
        [(0.38, 0.66), (0.08, 0.6)],
        [(0.38, 0.7), (0.08, 0.74)],
        [(0.62, 0.66), (0.92, 0.6)],
        [(0.62, 0.7), (0.92, 0.74)],
    ]
    mouth = [
        [(0.46, 0.61), (0.54, 0.61), (0.5, 0.67), (0.46, 0.61)],
        [(0.42, 0.75), (0.5, 0.7), (0.58, 0.75)],
    ]
    return [_arc(0.5, 0.58, 0.33, 0.32), *ears, *eyes, *mouth, *whiskers]


def _diamond() -> list[Stroke]:
    outline = [(0.5, 0.94), (0.05, 0.42), (0.24, 0.16), (0.76, 0.16), (0.95, 0.42), (0.5, 0.94)]
    facets = [
        [(0.05, 0.42), (0.95, 0.42)],
        [(0.24, 0.16), (0.36, 0.42), (0.5, 0.16), (0.64, 0.42), (0.76, 0.16)],
    ]
    return [outline, *facets, [(0.36, 0.42), (0.5, 0.94), (0.64, 0.42)]]


def _eye() -> list[Stroke]:
    upper, lower = _arc(0.5, 0.74, 0.47, 0.42, 0.54, 0.96), _arc(0.5, 0.44, 0.47, 0.42, 0.04, 0.46)
    lashes = [
        [(0.24, 0.38), (0.17, 0.26)],
        [(0.41, 0.32), (0.38, 0.18)],
        [(0.59, 0.32), (0.62, 0.18)],
        [(0.76, 0.38), (0.83, 0.26)],
    ]
    return [upper, lower, _arc(0.5, 0.59, 0.17, 0.2), _arc(0.5, 0.59, 0.05, 0.06), *lashes]


def _fish() -> list[Stroke]:
    body = _arc(0.42, 0.5, 0.37, 0.24, 0.03, 0.97)
    tail = [(0.78, 0.45), (0.96, 0.28), (0.94, 0.72), (0.78, 0.55)]
    return [
        body,
        tail,
        _arc(0.2, 0.45, 0.025, 0.025),
        _arc(0.22, 0.5, 0.14, 0.2, -0.17, 0.17),
        [(0.4, 0.26), (0.52, 0.14), (0.58, 0.28)],
    ]


_DRAWINGS: dict[str, Callable[[], list[Stroke]]] = {
    "apple": _apple,
    "bicycle": _bicycle,
    "cat": _cat,
    "diamond": _diamond,
    "eye": _eye,
    "fish": _fish,
}
NAMES = tuple(_DRAWINGS)
