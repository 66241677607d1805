"""Bars in lanes, one lane below the other: the numbers of one word, or one number for each word."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import numpy as np

from viz import theme
from viz.charts.parts import panels, vega
from viz.charts.parts.figures import draw_once
from viz.labels import phrase, shorten, visible
from viz.languages import write_number
from viz.number_text import signed

Array = np.ndarray[Any, np.dtype[Any]]
LETTERS = 10
TITLE = 34
"""Pixels above a lane for its name, in the type of a room, and for the number at the foot of the lane before."""
BETWEEN = 0.16
"""Lanes side by side stand this share of their width apart: their numbers have room there."""


@dataclass(frozen=True)
class Lane:
    """A name above the lane and its values (place,), None while they are covered; a colour by number.

    `limits` are the ends of the lane's axis, None for those of all lanes without; `band` is shaded (from, to);
    `marked` bars are strong and the others pale, None: all strong. `places` are the decimals under the pointer.
    """

    name: str
    values: Array | None
    hue: int = 0
    limits: tuple[float, float] | None = None
    band: tuple[float, float] | None = None
    marked: frozenset[int] | None = None
    places: int = 3


@draw_once
def bar_lanes(
    lanes: Sequence[Lane],
    *,
    labels: Sequence[str] = (),
    x_title: str = "",
    across: bool = False,
    height: int = 340,
) -> vega.Layers:
    """Return the lanes over the same positions: `labels` name them, without labels they are counted from 1. `across`: side by side.

    >>> chart = bar_lanes([Lane("x", np.array([1.0, -2.0])), Lane("?", None)]).to_dict()
    >>> [bar["value"] for bar in chart["layer"][3]["data"]["values"]], [cover["text"] for cover in chart["layer"][4]["data"]["values"]]
    (['1.000', '-2.000'], ['?'])
    """
    known = [lane.values for lane in lanes if lane.values is not None]
    n = max([len(values) for values in known] + [len(labels), 1])
    free = [lane.values for lane in lanes if lane.values is not None and lane.limits is None]
    shared = max([float(np.abs(values).max(initial=0)) for values in free] + [1e-9])
    low = -shared if any((values < 0).any() for values in free) else 0.0
    ranges = [lane.limits or (1.1 * low, 1.1 * shared) for lane in lanes]
    words = [visible(shorten(label, LETTERS)) for label in labels]
    slanted = bool(words) and max(map(len, words)) > 2 and (n > 8 or max(map(len, words)) > 7)
    inner = height - 30 - (44 if slanted else 0) - (22 if x_title else 0)
    title = TITLE / inner
    strips = (
        [panels.stacked([ends], title=title)[0] for ends in ranges]
        if across
        else panels.stacked(ranges, title=title, gap=0.01)
    )
    begins = [place * n * (1 + BETWEEN) if across else 0.0 for place in range(len(lanes))]
    last = begins[-1] + n
    at_x = alt.X(
        "x:Q",
        title=phrase(x_title) if x_title else None,
        axis=_places(begins if across else begins[:1], n, words, slanted, few=across and len(lanes) > 2),
        scale=vega.exact_scale(-0.6, last - 0.4),
    )
    at_y = alt.Y("y:Q", axis=None, scale=vega.exact_scale(panels.EXTENT, 0))
    around, lines, bars, covers, names, widest = [], [], [], [], [], 1
    for lane, strip, begin, ends in zip(lanes, strips, begins, ranges, strict=True):
        edges = {"x": begin - 0.6, "x2": begin + n - 0.4}
        if lane.band:
            around.append(edges | {"y": strip.position(lane.band[0]), "y2": strip.position(lane.band[1])})
        for value in panels.steps(*ends, 4) if free or lane.limits else (0.0,):
            text = signed(value, ",g")
            widest = max(widest, len(text)) if begin == 0 else widest
            lines.append(edges | {"y": strip.position(value), "text": text, "zero": value == 0})
        of_lane = {"colour": theme.CATEGORICAL[lane.hue]}
        names.append({"x": begin - 0.6, "y": strip.top, "text": phrase(lane.name)} | of_lane)
        if lane.values is None:
            covers.append({"x": begin + n / 2 - 0.5, "y": (strip.top + strip.bottom) / 2, "text": "?"})
            continue
        for place, value in enumerate(lane.values.astype(np.float64)):
            bars.append(
                of_lane
                | {
                    "x": begin + place - 0.38,
                    "x2": begin + place + 0.38,
                    "y": strip.position(min(max(0.0, ends[0]), ends[1])),
                    "y2": strip.position(value),
                    "shade": 1.0 if lane.marked is None or place in lane.marked else 0.5,
                    "value": write_number(f"{value:,.{lane.places}f}"),
                    "name": visible(labels[place]) if place < len(labels) else f"number {place + 1}",
                }
            )

    def chart_of(rows: list[dict[str, Any]]) -> alt.Chart:
        return vega.rows(rows).encode(x=at_x, y=at_y)

    shade = chart_of(around).mark_rect(color=theme.SURFACE).encode(x2="x2:Q", y2="y2:Q")
    zero = alt.condition("datum.zero", alt.value(theme.HATCH), alt.value(theme.LINE))
    rules = chart_of(lines).mark_rule().encode(x2="x2:Q", color=zero)
    ticks = (
        chart_of(lines).mark_text(align="right", dx=-5, fontSize=12, color=theme.MUTED).encode(text="text:N")
    )
    bar = (
        chart_of(bars)
        .mark_rect()
        .encode(
            x2="x2:Q",
            y2="y2:Q",
            color=vega.raw_channel(),
            fillOpacity=alt.FillOpacity("shade:Q", scale=None),
            tooltip=vega.tooltip(("name:N", " "), "value:N"),
        )
    )
    cover = chart_of(covers).mark_text(fontSize=30, color=theme.MUTED).encode(text="text:N")
    above = (
        chart_of(names)
        .mark_text(align="left", baseline="bottom", fontSize=14, dy=-4)
        .encode(text="text:N", color=vega.raw_channel())
    )
    return alt.layer(shade, rules, ticks, bar, cover, above).properties(
        width="container", height=inner, padding=vega.AROUND | {"left": 10 + 7 * widest}, view=vega.BARE
    )


def _places(begins: Sequence[float], n: int, words: Sequence[str], slanted: bool, *, few: bool) -> alt.Axis:
    """Return the axis below the bars: the words, or a number at regular intervals (about 8 in all, 4 for `few`)."""
    step = 1 if words else max(1, round(n / (4 if few else 8)))
    said = {
        round(begin + place, 2): (words[place] if place < len(words) else str(place + 1))
        for begin in begins
        for place in range(0 if words else step - 1, n, step)
    }
    told = {f"{x:.2f}": text for x, text in said.items()}
    return vega.bare_axis(
        values=list(said),
        labelExpr=f"({json.dumps(told)})[format(datum.value, '.2f')]",
        labelPadding=5,
        labelFontSize=13,
        labelColor=theme.MUTED,
        labelAngle=-50 if slanted else 0,
        labelAlign="right" if slanted else "center",
        labelOverlap=not words,
        labelLimit=90,
        titleFontSize=13,
        titleFontWeight="normal",
    )
