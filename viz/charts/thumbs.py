"""Small pictures for the cards of the course: an SVG made of numbers that something computed. Numbers in, SVG out.

An exhibit that has `thumbnail() -> str` returns one of these; a page that has none gets `plain`. All are drawn in the
light palette; `theme.in_dark` turns the text of one into the dark one.
"""

from __future__ import annotations

from collections.abc import Sequence
from xml.sax.saxutils import escape

import numpy as np

from viz import theme

WIDE, TALL, EDGE = 240, 132, 14
LETTER = 0.6
"""The mean width of a letter, of the size of its type."""
Thumbnail = str


def cells(weights: np.ndarray, allowed: np.ndarray | None = None, centred: bool = False) -> Thumbnail:
    """Draw a matrix of weights from 0 to 1, or `centred` on 0; forbidden cells are hatched.

    >>> cells(np.array([[1.0, 0.0], [0.5, 0.5]])).count("<rect")
    4
    """
    weights = np.atleast_2d(weights)
    rows, columns = weights.shape
    unit = min((WIDE - 2 * EDGE) / columns, (TALL - 2 * EDGE) / rows)
    left, top = (WIDE - unit * columns) / 2, (TALL - unit * rows) / 2
    colours, limit = (
        (theme.DIVERGING, float(np.abs(weights).max()) or 1.0) if centred else (theme.SEQUENTIAL, 1.0)
    )
    shapes = []
    for r, c in np.ndindex(rows, columns):
        share = (weights[r, c] / limit + 1) / 2 if centred else weights[r, c]
        shut = allowed is not None and not allowed[r, c]
        fill = "url(#shut)" if shut else colours[round(float(np.clip(share, 0, 1)) * (len(colours) - 1))]
        shapes.append(
            f'<rect x="{left + c * unit:.2f}" y="{top + r * unit:.2f}" width="{unit - 1:.2f}" height="{unit - 1:.2f}" fill="{fill}"/>'
        )
    return _svg(*shapes)


def bars(
    values: Sequence[float] | np.ndarray, names: Sequence[str] = (), marked: int | None = None
) -> Thumbnail:
    """Draw values that are not negative, one bar each from the left, the `marked` one in ink; names at the left where given."""
    heights, top = np.asarray(values, float), (TALL - 2 * EDGE) / max(1, len(values))
    most, left = float(heights.max(initial=0)) or 1.0, 78 if names else EDGE
    shapes = []
    for i, value in enumerate(heights):
        y, long = EDGE + i * top, (WIDE - EDGE - left) * value / most
        fill = theme.PRIMARY if marked in (None, i) else theme.SEQUENTIAL[3]
        shapes.append(
            f'<rect x="{left}" y="{y + top * 0.14:.2f}" width="{max(1.0, long):.2f}" height="{top * 0.72:.2f}" rx="2" fill="{fill}"/>'
        )
        if names:
            fits = (left - 8) / (LETTER * max(1, len(names[i])))
            shapes.append(_word(left - 8, y + top * 0.72, names[i], "end", size=min(15.0, top * 0.8, fits)))
    return _svg(*shapes)


def curves(rows: Sequence[np.ndarray] | np.ndarray) -> Thumbnail:
    """Draw one smooth line for each row over its positions, all on one scale."""
    lines = [np.asarray(row, float) for row in rows]
    low, high = min(map(np.min, lines)), max(map(np.max, lines))
    span = (high - low) or 1.0
    shapes = []
    for n, line in enumerate(lines):
        x = np.linspace(EDGE, WIDE - EDGE, len(line))
        y = TALL - EDGE - (line - low) / span * (TALL - 2 * EDGE)
        points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True))
        colour = theme.CATEGORICAL[n % len(theme.CATEGORICAL)]
        shapes.append(
            f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2.5" stroke-linejoin="round"/>'
        )
    return _svg(*shapes)


def points(places: np.ndarray, marked: Sequence[int] = ()) -> Thumbnail:
    """Draw points in the plane (n, 2), the marked ones in ink."""
    places = np.asarray(places, float)
    low, span = places.min(0), np.ptp(places, 0)
    unit = (places - low) / np.where(span > 0, span, 1)
    x, y = 2 * EDGE + unit[:, 0] * (WIDE - 4 * EDGE), TALL - EDGE - 4 - unit[:, 1] * (TALL - 2 * EDGE - 8)
    shapes = [
        f'<circle cx="{a:.1f}" cy="{b:.1f}" r="{5 if i in marked else 4}" fill="{theme.PRIMARY if i in marked else theme.SEQUENTIAL[4]}"/>'
        for i, (a, b) in enumerate(zip(x, y, strict=True))
    ]
    return _svg(*shapes)


def links(weights: np.ndarray, above: Sequence[str], below: Sequence[str]) -> Thumbnail:
    """Draw words above and below with a line for each weight (below attends to above), as thick as it is large."""

    def middles(words: Sequence[str]) -> list[float]:
        ends = np.cumsum([0.0, *(len(word) + 1.5 for word in words)])
        return list(EDGE / 2 + (ends[:-1] + ends[1:]) / 2 / ends[-1] * (WIDE - EDGE))

    up, down = middles(above), middles(below)
    size = min(17.0, 1.75 * WIDE / max(sum(len(word) + 1.5 for word in words) for words in (above, below)))
    lines = [
        f'<path d="M{down[q]:.1f},{TALL - 34} C{down[q]:.1f},{TALL / 2} {up[k]:.1f},{TALL / 2} {up[k]:.1f},34" fill="none" '
        f'stroke="{theme.PRIMARY}" stroke-width="{4 * w:.2f}" stroke-opacity="{0.15 + 0.85 * w:.2f}"/>'
        for (q, k), w in np.ndenumerate(weights)
        if w > 0.05
    ]
    return _svg(
        *lines,
        *(_word(x, 26, word, size=size) for x, word in zip(up, above, strict=True)),
        *(_word(x, TALL - 18, word, size=size) for x, word in zip(down, below, strict=True)),
    )


def plain(sign: str) -> Thumbnail:
    """Draw a short symbol, such as a number, on paper, for an exhibit without data."""
    return _svg(_word(WIDE / 2, TALL / 2 + 16, sign, size=46, colour=theme.HATCH, serif=True))


def _word(
    x: float,
    y: float,
    word: str,
    anchor: str = "middle",
    *,
    size: float = 14,
    colour: str = theme.TEXT,
    serif: bool = False,
) -> str:
    family = "Georgia, serif" if serif else "Inter, system-ui, sans-serif"
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-family="{family}" font-size="{size:.1f}" fill="{colour}">{escape(word)}</text>'


def _svg(*shapes: str) -> Thumbnail:
    hatch = (
        f'<pattern id="shut" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
        f'<path d="M0,0 V6" stroke="{theme.HATCH}" stroke-width="1.4"/></pattern>'
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDE} {TALL}" width="{WIDE}" height="{TALL}"><defs>{hatch}</defs>'
        f"{''.join(shapes)}</svg>"
    )
