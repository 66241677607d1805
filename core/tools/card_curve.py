"""The course of a training as an SVG: a line a quantity over steps, readable on white and on black."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

Points = Sequence[tuple[float, float]]

WIDTH, HEIGHT = 720, 300
LEFT, RIGHT, TOP, BOTTOM = 52, 16, 34, 40
HUES = (("#3f51b5", "#8b99f9"), ("#c9741c", "#f0a45c"), ("#2a9d8f", "#53c4b5"))
"""Each line's colour on light and on dark: the first kinds of the app's two palettes."""
TEXT, GRID = ("#1c1b22", "#ecebe6"), ("#e0dccf", "#33353f")


def draw_svg(lines: Mapping[str, Points], title: str) -> str:
    """Return a line chart as SVG: lines by name, each of (step, value) points. It has no background, so that it takes that of its page.

    >>> draw_svg({"loss": [(0, 4.0), (10, 2.0)]}, "Loss").count("<polyline")
    1
    """
    steps = [x for points in lines.values() for x, _ in points]
    values = [y for points in lines.values() for _, y in points]
    across, up = ticks(0, max(steps)), ticks(min(values), max(values))
    low, high = min(up[0], min(values)), max(up[-1], max(values))
    last = max(across[-1], max(steps))

    def to_pixels(step: float, value: float) -> tuple[float, float]:
        x = LEFT + (WIDTH - LEFT - RIGHT) * step / last
        return round(x, 1), round(HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (value - low) / (high - low), 1)

    said = "; ".join(
        f"{name} from {points[0][1]:.2f} to {points[-1][1]:.2f}" for name, points in lines.items()
    )
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{title}: {said}">',
        f"<title>{title}: {said}</title>",
        f"<style>{_style()}</style>",
    ]
    for value in up:
        y = to_pixels(0, value)[1]
        parts.append(
            f'<path class="grid" d="M{LEFT} {y}H{WIDTH - RIGHT}"/><text x="{LEFT - 8}" y="{y + 4.5}" text-anchor="end">{value:g}</text>'
        )
    for step in across:
        parts.append(
            f'<text x="{to_pixels(step, low)[0]}" y="{HEIGHT - BOTTOM + 20}" text-anchor="middle">{step:,.0f}</text>'
        )
    parts.append(f'<text x="{WIDTH - RIGHT}" y="{HEIGHT - 4}" text-anchor="end">steps</text>')
    begin = LEFT
    for number, (name, points) in enumerate(lines.items()):
        where = [to_pixels(*point) for point in points]
        parts.append(
            f'<polyline class="line hue{number}" points="{" ".join(f"{x},{y}" for x, y in where)}"/>'
        )
        parts += [f'<circle class="dot hue{number}" cx="{x}" cy="{y}" r="3"/>' for x, y in where]
        parts.append(
            f'<circle class="dot hue{number}" cx="{begin + 5}" cy="14" r="5"/><text x="{begin + 16}" y="19">{name}</text>'
        )
        begin += 40 + 8 * len(name)
    return "\n".join([*parts, "</svg>\n"])


def ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Return round numbers from at or below `low` to at or above `high`, `most` at the most.

    >>> ticks(0, 4000), ticks(0.96, 2.96)
    ([0, 1000, 2000, 3000, 4000], [0.5, 1.0, 1.5, 2.0, 2.5, 3.0])
    """
    room = (high - low) or abs(high) or 1.0
    power = 10.0 ** math.floor(math.log10(room / most))
    steps = [power * factor for factor in (1, 2, 5, 10, 20, 50)]

    def ends(step: float) -> tuple[int, int]:
        return math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)

    step = next((step for step in steps if ends(step)[1] - ends(step)[0] < most), steps[-1])
    first, last = ends(step)
    whole = step >= 1
    return [int(i * step) if whole else round(i * step, 10) for i in range(first, last + 1)]


def _style() -> str:
    def rules(theme: int) -> str:
        hues = "".join(
            f".line.hue{i}{{stroke:{hue[theme]}}}.dot.hue{i}{{fill:{hue[theme]}}}"
            for i, hue in enumerate(HUES)
        )
        return f"text{{fill:{TEXT[theme]}}}.grid{{stroke:{GRID[theme]}}}{hues}"

    still = "text{font:14px system-ui,sans-serif}.line{fill:none;stroke-width:2}.grid{stroke-width:1}"
    return f"{still}{rules(0)}@media (prefers-color-scheme:dark){{{rules(1)}}}"
