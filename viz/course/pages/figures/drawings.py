"""Small drawings of attention as SVG, all of one size and in the light palette: numbers and words in, text of an SVG out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

import numpy as np

from viz import theme
from viz.languages import _

if TYPE_CHECKING:
    from jaxtyping import Float

Array = np.ndarray
WIDE, TALL, EDGE, TYPE = 480, 300, 12, 15
LETTER = 0.58
"""The mean width of a letter, of the size of its type."""


@dataclass(frozen=True)
class Beams:
    """Words twice, one row above the other, and what each query gives to each key: `weights` (query, key) of one head, in a colour of the heads."""

    words: Sequence[str]
    heads: Sequence[tuple[int, Float[Array, "query key"]]]
    title: str


def matrix(weights: Float[Array, "query key"], queries: Sequence[str], keys: Sequence[str]) -> str:
    """Draw weights from 0 to 1 as cells, queries down the side, keys along the top.

    >>> matrix(np.eye(2), ["a", "b"], ["c", "d"]).count("<rect")
    4
    """
    left = 20 + TYPE * LETTER * max(map(len, queries))
    top = 20 + 0.75 * TYPE * LETTER * max(map(len, keys))
    unit = min((WIDE - left - 60) / len(keys), (TALL - top - EDGE) / len(queries))
    left = (WIDE + left - unit * len(keys)) / 2 - 10
    shapes = [
        _cell(left + k * unit, top + q * unit, unit, _shade(weight))
        for (q, k), weight in np.ndenumerate(weights)
    ]
    shapes += [
        _word(left - 8, top + (q + 0.66) * unit, name, "end", size=min(TYPE, 0.9 * unit))
        for q, name in enumerate(queries)
    ]
    for k, name in enumerate(keys):
        x, y = left + (k + 0.45) * unit, top - 7
        shapes.append(f'<g transform="rotate(-48 {x:.1f} {y:.1f})">{_word(x, y, name, "start")}</g>')
    return _svg(shapes)


def beams(*panels: Beams) -> str:
    """Draw panels of lines from the words below to the words above that they attend to, as thick as the weight.

    >>> beams(Beams("ab", [(0, np.eye(2))], "A head")).count("<path")
    2
    """
    shapes, high = [], TALL / len(panels)
    for number, panel in enumerate(panels):
        top = number * high
        ends = np.cumsum([0.0, *(len(word) + 1.2 for word in panel.words)])
        middle = EDGE + (ends[:-1] + ends[1:]) / 2 / ends[-1] * (WIDE - 2 * EDGE)
        size = min(17.0, (WIDE - 2 * EDGE) / ends[-1] / LETTER)
        above, below = top + 46, top + high - 26
        for hue, weights in panel.heads:
            for (q, k), weight in np.ndenumerate(weights):
                if weight > 0.05:
                    bend = (above + below) / 2
                    shapes.append(
                        f'<path d="M{middle[q]:.1f},{below:.1f} C{middle[q]:.1f},{bend:.1f} {middle[k]:.1f},{bend:.1f} {middle[k]:.1f},{above:.1f}" '
                        f'fill="none" stroke="{_hue(hue)}" stroke-width="{5 * weight:.2f}" stroke-opacity="{0.25 + 0.75 * weight:.2f}"/>'
                    )
        shapes.append(_word(EDGE, top + 16, panel.title, "start", size=13, colour=theme.MUTED))
        for x, name in zip(middle, panel.words, strict=True):
            shapes += [_word(x, above - 6, name, size=size), _word(x, below + 16, name, size=size)]
    return _svg(shapes)


def dots(*panels: tuple[str, Mapping[str, Float[Array, "layer head"]]]) -> str:
    """Draw panels side by side: a point for each head over its layer, from 0 to 1, a colour for each name, and a line through the means.

    >>> dots(("All", {"x": np.zeros((2, 3))})).count("<circle")  # six heads and the colour of their name
    7
    """
    shapes, wide = [], WIDE / len(panels)
    for number, (title, groups) in enumerate(panels):
        left, right, top, bottom = number * wide + 34, (number + 1) * wide - 10, 62, TALL - 34
        shapes.append(_word(left - 22, 18, title, "start", size=13, colour=theme.MUTED))
        shapes += _frame(left, right, top, bottom, ("0", "1"))
        n = len(next(iter(groups.values())))
        x = left + 12 + (right - left - 24) * np.arange(n) / max(1, n - 1)
        shapes += [_word(x[layer], bottom + 18, str(layer), size=13) for layer in range(n)]
        for hue, (name, values) in enumerate(groups.items()):
            y = bottom - values * (bottom - top)
            for layer, head in np.ndindex(values.shape):
                shift = (hue - (len(groups) - 1) / 2) * 6
                shapes.append(_point(float(x[layer]) + shift, float(y[layer, head]), 2.6, _hue(hue), 0.55))
            shapes.append(_polyline(x, y.mean(1), _hue(hue)))
            along = left - 22 + hue * (wide - 20) / len(groups)
            shapes += [
                _point(along + 5, 39, 5, _hue(hue)),
                _word(along + 14, 44, name, "start", size=13),
            ]
        shapes.append(_word((left + right) / 2, TALL - 3, _("layer"), size=13, colour=theme.MUTED))
    return _svg(shapes)


def plane(points: Float[Array, "item 2"], groups: Sequence[int], title: str) -> str:
    """Draw points in the plane at one scale for both axes, coloured by group.

    >>> plane(np.eye(2), [0, 1], "layer").count("<circle")
    4
    """
    low, span = points.min(0), np.ptp(points, 0)
    unit = min((WIDE - 4 * EDGE) / max(span[0], 1e-9), (TALL - 66) / max(span[1], 1e-9))
    x, y = (points - low - span / 2).T * unit
    names = sorted(set(groups))
    shapes = [_word(EDGE, 20, title, "start", size=13, colour=theme.MUTED)]
    for number, name in enumerate(names):
        at = 70 + 44 * number
        shapes += [_point(at, 15, 5, _hue(number)), _word(at + 9, 20, str(name), "start", size=13)]
    shapes += [
        _point(WIDE / 2 + a, (TALL + 34) / 2 - b, 6, _hue(names.index(group)), 0.85)
        for a, b, group in zip(x, y, groups, strict=True)
    ]
    return _svg(shapes)


def courses(
    steps: Sequence[int], *panels: tuple[str, Float[Array, "line moment"], int, tuple[float, float]]
) -> str:
    """Draw panels side by side: lines over the moments of a training, the one of that index in the accent, between two ends of the axis.

    >>> courses([0, 9], ("loss", np.zeros((3, 2)), 1, (0, 1))).count("<polyline")
    3
    """
    shapes, wide = [], WIDE / len(panels)
    for number, (title, lines, accent, (low, high)) in enumerate(panels):
        left, right, top, bottom = number * wide + 30, (number + 1) * wide - 14, 38, TALL - 40
        shapes.append(_word(left - 18, 18, title, "start", size=13, colour=theme.MUTED))
        shapes += _frame(left, right, top, bottom, (f"{low:g}", f"{high:g}"))
        x = left + (right - left) * np.arange(len(steps)) / (len(steps) - 1)
        for line in sorted(range(len(lines)), key=lambda index: index == accent):
            y = bottom - (lines[line] - low) / (high - low) * (bottom - top)
            shapes.append(_polyline(x, y, theme.PRIMARY if line == accent else theme.SEQUENTIAL[4]))
        for moment in range(0, len(steps), 5):
            anchor = "end" if moment == len(steps) - 1 else "middle"
            shapes.append(_word(x[moment], bottom + 18, f"{steps[moment]:,}", anchor, size=13))
        shapes.append(_word((left + right) / 2, TALL - 4, _("step"), size=13, colour=theme.MUTED))
    return _svg(shapes)


def triangles(maps: Sequence[Float[Array, "query key"]], titles: Sequence[str]) -> str:
    """Draw square maps of a causal model in rows of three, each from its smallest to its largest value below the diagonal.

    >>> triangles([np.eye(2)], ["layer 0"]).count("<rect")
    3
    """
    shapes, unit = [], 116 / len(maps[0])
    for number, (values, title) in enumerate(zip(maps, titles, strict=True)):
        left, top = 26 + (number % 3) * 156, 24 + (number // 3) * 148
        below = np.tril_indices(len(values))
        low, high = values[below].min(), values[below].max()
        shapes.append(_word(left, top - 7, title, "start", size=13, colour=theme.MUTED))
        shapes += [
            _cell(left + k * unit, top + q * unit, unit, _shade((values[q, k] - low) / max(high - low, 1e-9)))
            for q, k in zip(*below, strict=True)
        ]
    return _svg(shapes)


def _hue(number: int) -> str:
    return theme.CATEGORICAL[number % len(theme.CATEGORICAL)]


def _shade(share: float) -> str:
    return theme.SEQUENTIAL[round(float(np.clip(share, 0, 1)) * (len(theme.SEQUENTIAL) - 1))]


def _cell(x: float, y: float, unit: float, fill: str) -> str:
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{unit - 1:.1f}" height="{unit - 1:.1f}" fill="{fill}"/>'


def _point(x: float, y: float, radius: float, fill: str, opacity: float = 1.0) -> str:
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius}" fill="{fill}" fill-opacity="{opacity}"/>'


def _polyline(x: Array, y: Array, colour: str) -> str:
    points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True))
    return f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2.5" stroke-linejoin="round"/>'


def _frame(left: float, right: float, top: float, bottom: float, ends: tuple[str, str]) -> list[str]:
    """Return the two lines of a scale with its ends."""
    lines = [
        f'<path d="M{left:.1f},{y:.1f} H{right:.1f}" stroke="{theme.HATCH}" stroke-width="1"/>'
        for y in (top, bottom)
    ]
    return [
        *lines,
        *(_word(left - 6, y + 5, end, "end", size=13) for y, end in zip((bottom, top), ends, strict=True)),
    ]


def _word(
    x: float, y: float, text: str, anchor: str = "middle", *, size: float = TYPE, colour: str = theme.TEXT
) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-family="Inter, system-ui, sans-serif" '
        f'font-size="{size:.1f}" fill="{colour}">{escape(text)}</text>'
    )


def _svg(shapes: Sequence[str]) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDE} {TALL}" width="{WIDE}" height="{TALL}">'
        f"{''.join(shapes)}</svg>"
    )
