"""A recurrent network unrolled: each state is a tile of its numbers, lane below lane, arrows from each state to the next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import numpy as np

from viz import theme
from viz.charts.parts import panels, vega
from viz.charts.parts.figures import draw_once
from viz.labels import phrase

GAP = 0.14
"""Of a tile's width, between two tiles."""
ABOVE = 27
"""Pixels above a lane, for its name and the labels of its tiles."""


@dataclass(frozen=True)
class Lane:
    """States (step, d), each drawn as a tile of `rows` rows; `until` counts those that are there (`back`: from the right).

    `labels` stand above the tiles, `start` is the place of the first tile, `marked` frames one.
    """

    name: str
    values: np.ndarray
    labels: Sequence[str] = ()
    rows: int = 4
    until: int | None = None
    back: bool = False
    start: float = 0.0
    marked: int | None = None
    arrows: bool = True

    def places(self) -> range:
        """Return the positions whose states are drawn.

        >>> Lane("h", np.zeros((4, 2)), until=1, back=True).places()
        range(3, 4)
        """
        n = len(self.values)
        seen = n if self.until is None else max(0, min(self.until, n))
        return range(n - seen, n) if self.back else range(seen)


@draw_once
def unrolled(
    lanes: Sequence[Lane],
    *,
    limit: float = 1.0,
    pixels: float = 9.0,
    hands: Sequence[tuple[int, float, int, float]] = (),
    large: float = 1.0,
) -> vega.Layers:
    """Draw the lanes of a recurrent network from top to bottom, a tile for each state, all numbers on one colour scale from -limit to limit.

    `pixels` is the height of one row of numbers; `large` how much larger than usual names and labels will be drawn; `hands` are arrows (lane,
    position, lane, position) from the foot of one tile to the head of another. A tile lists its numbers row by row.

    >>> tiles = unrolled([Lane("h", np.zeros((3, 8)), "abc"), Lane("c", np.ones((1, 8)), start=1)]).to_dict()["layer"][0]["data"]["values"]
    >>> [(tile["lane"], tile["place"], tile["columns"], tile["value"][0]) for tile in tiles]
    [(0, 0, 2, 0.0), (0, 1, 2, 0.0), (0, 2, 2, 0.0), (1, 0, 2, 1.0)]
    """
    top, tops, longest = 0.0, [], max([1.0, *(lane.start + len(lane.values) for lane in lanes)])
    tiles: list[dict[str, Any]] = []
    frames: list[dict[str, Any]] = []
    steps: list[dict[str, Any]] = []
    words: list[dict[str, Any]] = []
    for at, lane in enumerate(lanes):
        top += large * (ABOVE + (20 if lane.name and len(lane.labels) else 0))
        tops.append(top)
        foot, n, there = top + lane.rows * pixels, len(lane.values), lane.places()
        if lane.name:
            words.append(
                {
                    "x": -0.5,
                    "y": top - (24 * large if len(lane.labels) else 7 * large),
                    "text": phrase(lane.name),
                    "fontSize": 14,
                    "name": True,
                    "wide": 0.0,
                }
            )
        for place, state in enumerate(lane.values):
            left = lane.start + place - 0.5 + GAP / 2
            edges = {"left": left, "right": left + 1 - GAP, "top": top, "bottom": foot}
            frames.append(edges | {"framed": place == lane.marked})
            if place in there:
                tiles.append(
                    edges
                    | {
                        "lane": at,
                        "place": place,
                        "name": phrase(lane.name),
                        "rows": lane.rows,
                        "columns": -(-len(state) // lane.rows),
                        "value": [round(float(value), 4) for value in state],
                    }
                )
            if place < len(lane.labels) and lane.labels[place]:
                words.append(
                    {
                        "x": lane.start + place,
                        "y": top - 2,
                        "text": phrase(lane.labels[place]),
                        "fontSize": 14 if n <= 16 else 12 if n <= 24 else 11,
                        "name": False,
                        "wide": 1.0 if n > 1 else 0.0,
                    }
                )
            if lane.arrows and place in there and place + 1 in there:
                ends = (lane.start + place + 0.5 - GAP / 2, lane.start + place + 0.5 + GAP / 2)[
                    :: -1 if lane.back else 1
                ]
                steps.append({"x": ends[0], "x2": ends[1], "y": (top + foot) / 2, "y2": (top + foot) / 2})
        top = foot + 6
    handed = [
        {
            "x": here,
            "x2": there,
            "y": tops[first] + lanes[first].rows * pixels + 2,
            "y2": tops[second] - (4 if not len(lanes[second].labels) else 20 * large),
        }
        for first, here, second, there in hands
    ]
    across = alt.X("x:Q", axis=None, scale=alt.Scale(domain=[-0.52, longest - 0.48], nice=False))
    down = alt.Y("y:Q", axis=None, scale=alt.Scale(domain=[top, 0], nice=False))
    cell = cells(tiles, across, down, limit)
    framed = (
        vega.rows(frames)
        .mark_rect(filled=False)
        .encode(
            x=panels.with_field(across, "left:Q"),
            x2="right:Q",
            y=panels.with_field(down, "top:Q"),
            y2="bottom:Q",
            stroke=alt.condition("datum.framed", alt.value(theme.TEXT), alt.value(theme.LINE)),
            strokeWidth=alt.condition("datum.framed", alt.value(2.5), alt.value(1)),
        )
    )
    tile = f"width / {longest}"
    fitted = alt.ExprRef(
        f"datum.wide ? min(datum.fontSize, max(10, 1.75 * {tile} / length(datum.text))) : datum.fontSize"
    )
    said: dict[str, Any] = {
        "fontSize": fitted,
        "limit": alt.ExprRef(f"datum.wide * {tile}"),
        "align": alt.ExprRef("datum.name ? 'left' : 'center'"),
        "baseline": "bottom",
    }
    word = vega.rows(words).encode(x=across, y=down, text="text:N")
    halo = word.transform_filter("datum.name").mark_text(
        **said, stroke=theme.BACKGROUND, strokeWidth=9 * large, strokeJoin="round", color=theme.BACKGROUND
    )
    text = word.mark_text(**said).encode(
        color=alt.condition("datum.name", alt.value(theme.MUTED), alt.value(theme.TEXT))
    )
    small = f"min(7, {0.8 * GAP} * {tile})"
    arrows = [
        *_arrows(steps, across, down, longest, top, 1.2, small),
        *_arrows(handed, across, down, longest, top, 1.6, "9"),
    ]
    return alt.layer(cell, framed, *arrows, halo, text).properties(
        width="container",
        height=int(top) + 4,
        padding=vega.AROUND | {"left": 0, "right": 0, "top": 2, "bottom": 2},
        view=vega.BARE,
    )


def cells(tiles: Sequence[Mapping[str, Any]], across: alt.X, down: alt.Y, limit: float) -> alt.Chart:
    """Draw the numbers of tiles row by row, coloured from -limit to limit; a tile has edges, `rows`, `columns`, a `name` and the list `value`."""
    hue = alt.Color(
        "value:Q",
        legend=None,
        scale=alt.Scale(domain=[-limit, limit], range=theme.DIVERGING, interpolate="rgb", clamp=True),
    )
    return (
        vega.rows(tiles)
        .transform_calculate(number="sequence(length(datum.value))")
        .transform_flatten(["value", "number"])
        .transform_calculate(
            wide="(datum.right - datum.left) / datum.columns", high="(datum.bottom - datum.top) / datum.rows"
        )
        .transform_calculate(
            x="datum.left + datum.number % datum.columns * datum.wide",
            y="datum.top + floor(datum.number / datum.columns) * datum.high",
        )
        .transform_calculate(x2="datum.x + datum.wide", y2="datum.y + datum.high")
        .mark_rect(x2Offset=0.7, y2Offset=0.5)
        .encode(
            x=across,
            x2="x2:Q",
            y=down,
            y2="y2:Q",
            color=hue,
            tooltip=[
                alt.Tooltip("name:N", title=" "),
                alt.Tooltip("number:Q", title="no."),
                alt.Tooltip("value:Q", format=".3f"),
            ],
        )
    )


def _arrows(
    rows: Sequence[Mapping[str, float]],
    across: alt.X,
    down: alt.Y,
    longest: float,
    top: float,
    thick: float,
    head: str,
) -> tuple[alt.Chart, alt.Chart]:
    """Draw lines from (x, y) to (x2, y2) and their heads, which turn with them; `head` is the size of a head in pixels."""
    dx, dy = f"((datum.x2 - datum.x) * width / {longest})", f"((datum.y2 - datum.y) * height / {top})"
    back = f"{head} / 2 / max(1, sqrt({dx} * {dx} + {dy} * {dy}))"
    line = (
        vega.rows(rows)
        .mark_rule(
            strokeWidth=thick,
            color=theme.MUTED,
            x2Offset=alt.ExprRef(f"-{dx} * {back}"),
            y2Offset=alt.ExprRef(f"-{dy} * {back}"),
        )
        .encode(x=across, x2="x2:Q", y=down, y2="y2:Q")
    )
    point = (
        vega.rows(rows)
        .mark_point(
            shape="M-0.5,-0.45L0.5,0L-0.5,0.45Z",
            filled=True,
            opacity=1,
            color=theme.MUTED,
            size=alt.ExprRef(f"4 * pow({head}, 2)"),
            angle=alt.ExprRef(f"atan2({dy}, {dx}) * 180 / PI"),
            xOffset=alt.ExprRef(f"-{dx} * {back}"),
            yOffset=alt.ExprRef(f"-{dy} * {back}"),
        )
        .encode(x=panels.with_field(across, "x2:Q"), y=panels.with_field(down, "y2:Q"))
    )
    return line, point
