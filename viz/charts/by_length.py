"""Charts of quality and slopes over the length of a text, one colour for each kind of cell."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import altair as alt
import pandas as pd

from viz import theme
from viz.charts import marks
from viz.charts.parts import keys, panels, vega
from viz.charts.parts.figures import draw_once
from viz.labels import phrase, visible
from viz.languages import _, mark, ngettext
from viz.number_text import power_of_ten

Points = Sequence[tuple[float, float]]
LEAST = -8.3
"""The power of ten at which the upper picture of slopes ends."""


@dataclass(frozen=True)
class Curve:
    """(length, value) points of one model: a colour by number, dashed or not, strong or pale."""

    name: str
    points: Points
    hue: int
    dashed: bool = False
    strong: bool = True


@draw_once
def quality(
    curves: Sequence[Curve],
    *,
    trained: int,
    user_points: Mapping[str, tuple[float, float]] | None = None,
    longest: float | None = None,
    titles: tuple[str, str] = (mark("letters in the word"), mark("letters right")),
    height: int = 370,
) -> vega.Layers:
    """Return a chart of the share of correct letters over length, with a dotted line at the longest text in training and diamonds for the visitor's own texts (`user_points`).

    `longest` is where the lengths end, `titles` name the axes.

    >>> drawn = quality([Curve("a", [(1, 1.0), (20, 0.4)], 0)], trained=20, user_points={"a": (16, 0.5)}).to_dict()["layer"]
    >>> [row["y"] for row in drawn[-1]["data"]["values"]]
    [0.5]
    """
    own = [(name, x, y) for name, (x, y) in (user_points or {}).items()]
    return marks.lines(
        pd.DataFrame({curve.name: dict(curve.points) for curve in curves}).sort_index(),
        x=_(titles[0]),
        title=_(titles[1]),
        form=".0%",
        ends=(-0.02, 1.25),
        end=longest or 1.055 * max(trained, *(x for curve in curves for x, _y in curve.points)),
        hues=[curve.hue for curve in curves],
        highlighted=[curve.name for curve in curves if curve.strong],
        dashed=[curve.name for curve in curves if curve.dashed],
        overlay=[
            *marks.rules({_("longest in training"): trained}),
            *marks.dots(own, shape="diamond", size=290),
        ],
        height=height,
    )


@draw_once
def slopes(
    over: Sequence[Curve],
    places: Sequence[Curve],
    letters: Sequence[str],
    *,
    titles: tuple[str, str],
    height: int = 460,
) -> alt.LayerChart:
    """Return a chart of two panels. Above: |d c / d x_1| over length, on a logarithmic axis. Below: |d c / d x_i| at each letter of one word.

    >>> drawn = slopes([Curve("a", [(1, 10.0), (5, 0.01)], 0)], [Curve("a", [(0, 0.8), (1, 0.2)], 0)], "hi", titles=("p", "q")).to_dict()["layer"]
    >>> [row["value"] for row in drawn[1]["data"]["values"]], [row["text"] for row in drawn[2]["data"]["values"]][-2:]
    ([10.0, 0.01, 0.8, 0.2], ['h', 'i'])
    """
    n, whole = len(letters), panels.EXTENT
    longest = 1.055 * max([x for curve in over for x, _y in curve.points] + [1.0])
    most = max([value for curve in places for _x, value in curve.points] + [1e-9])
    high = max([1.0, *(value for curve in over for _x, value in curve.points)])
    upper = panels.Panel(0.075 * whole, 0.45 * whole, LEAST, math.log10(high) + 0.3)
    lower = panels.Panel(0.665 * whole, 0.91 * whole, 0.0, 1.06 * most)
    lines: list[dict[str, Any]] = []
    dots: list[dict[str, Any]] = []
    for curve in over:
        powers = [(x, math.log10(max(value, 1e-300))) for x, value in curve.points]
        lines += [
            _tooltip_fields(curve)
            | {"part": f"{curve.name} {part}", "x": x / longest, "y": upper.position(power)}
            for part, piece in enumerate(_above(powers, LEAST))
            for x, power in piece
        ]
        dots += [
            _tooltip_fields(curve)
            | {
                "x": x / longest,
                "y": upper.position(power),
                "at": ngettext("{n} letter", "{n} letters", int(x)),
            }
            | {"value": value, "said": f"{value:.2g}"}
            for (x, value), (_x, power) in zip(curve.points, powers, strict=True)
            if power >= LEAST
        ]
    for curve in places:
        here = [
            _tooltip_fields(curve)
            | {
                "part": f"{curve.name} below",
                "x": (x + 0.6) / (n + 0.2),
                "y": lower.position(value),
                "at": _("letter {n:g}, {letter}", n=x + 1, letter=visible(letters[int(x)])),
                "value": value,
                "said": f"{value:.2f}",
            }
            for x, value in curve.points
        ]
        lines, dots = lines + here, dots + here
    marks = [
        {"x": x / longest, "y": upper.bottom, "text": f"{x:g}", "fontSize": 13, "wide": 1.0}
        for x in panels.steps(0, longest, 9)
    ]
    marks += [
        {
            "x": (i + 0.6) / (n + 0.2),
            "y": lower.bottom,
            "text": visible(letter),
            "fontSize": 14,
            "wide": 1 / n,
        }
        for i, letter in enumerate(letters)
    ]
    ticks = {
        upper.position(power): power_of_ten(power) if power else "1"
        for power in range(-8, math.floor(upper.high) + 1, 2)
    }
    across = alt.X("x:Q", axis=None, scale=vega.exact_scale(0, 1))
    up = panels.left_axis(
        ticks | {lower.position(value): f"{value:g}" for value in panels.steps(0, lower.high, 4)}
    )
    hue, shape = _key(over)
    key = vega.rows([]).mark_point(filled=True).encode(x=across, y=up, color=hue, shape=shape)
    line = _lines(vega.rows(lines).encode(x=across, y=up, color=hue, detail="part:N"), [])[0]
    told = vega.tooltip(("name:N", " "), ("at:N", " "), ("said:N", _("slope")))
    dot = _lines(vega.rows(dots).encode(x=across, y=up, color=hue), told)[1]
    fitted = alt.ExprRef("min(datum.fontSize, 1.6 * datum.wide * width)")
    below = (
        vega.rows(marks)
        .mark_text(baseline="top", dy=6, fontSize=fitted, color=theme.MUTED)
        .encode(x=across, y=up, text="text:N")
    )
    title = (
        vega.rows([{"x": 0.5, "y": 0.53 * whole, "text": _("letters read")}])
        .mark_text(baseline="top", fontSize=13, color=theme.MUTED)
        .encode(x=across, y=up, text="text:N")
    )
    heads = panels.edge_labels([(upper.top, phrase(titles[0])), (lower.top, phrase(titles[1]))], size=14)
    return vega.frame(line, dot, below, title, heads, key, height=height)


def _above(points: Points, low: float) -> list[list[tuple[float, float]]]:
    """Return the pieces of a line of points that are not below `low`, each cut off where it crosses.

    >>> _above([(0, 1.0), (1, -1.0), (2, -1.0), (3, 1.0)], 0.0)
    [[(0, 1.0), (0.5, 0.0)], [(2.5, 0.0), (3, 1.0)]]
    """
    pieces = [[points[0]]] if points and points[0][1] >= low else []
    for (x, y), (x2, y2) in pairwise(points):
        crossed = (x + (x2 - x) * (low - y) / (y2 - y), low) if (y < low) != (y2 < low) else None
        if crossed and y < low:
            pieces.append([crossed])
        if y2 >= low:
            pieces[-1].append((x2, y2))
        elif crossed:
            pieces[-1].append(crossed)
    return pieces


def _tooltip_fields(curve: Curve) -> dict[str, Any]:
    return {"name": phrase(curve.name), "dashed": curve.dashed, "strong": curve.strong}


def _key(curves: Sequence[Curve]) -> tuple[alt.Color, alt.Shape]:
    colours = [theme.CATEGORICAL[curve.hue % len(theme.CATEGORICAL)] for curve in curves]
    return keys.colour_and_shape(
        "name:N",
        [phrase(curve.name) for curve in curves],
        colours,
        [keys.DOTTED if curve.dashed else keys.LINE for curve in curves],
        orient="bottom",
    )


def _lines(base: alt.Chart, tooltip: list[alt.Tooltip]) -> tuple[alt.Chart, alt.Chart]:
    """Return one line a name and its dots: strong or pale, dashed or not."""

    def either(no: Any, yes: Any) -> dict[str, Any]:
        return {"legend": None, "scale": alt.Scale(domain=[False, True], range=[no, yes])}

    line = base.mark_line().encode(
        strokeDash=alt.StrokeDash("dashed:O", **either([1, 0], [3, 4])),
        strokeWidth=alt.StrokeWidth("strong:O", **either(1.4, 3)),
        opacity=alt.Opacity("strong:O", **either(0.4, 1.0)),
    )
    pale, small = (
        alt.condition("datum.strong", alt.value(yes), alt.value(no)) for yes, no in ((1.0, 0.4), (44, 20))
    )
    return line, base.mark_circle().encode(opacity=pale, size=small, tooltip=tooltip)
