"""Curves over position and over distance: numbers and names in, an Altair chart out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import numpy as np

from viz import theme
from viz.charts.parts import panels, vega
from viz.charts.parts.figures import draw_once
from viz.languages import _, mark
from viz.number_text import number as number
from viz.number_text import signed

Array = np.ndarray[Any, np.dtype[Any]]
Band = tuple[Array, Array, Array, Array]
"""x, mean, low, high of one quantity; low and high equal mean where nothing varies."""
BELOW = 46
"""Pixels that the axis below takes."""


@draw_once
def lanes(
    samples: Array,
    names: Sequence[str],
    *,
    x: Array | None = None,
    smooth: Array | None = None,
    limit: float = 1.0,
    low: float | None = None,
    marked: int | None = None,
    hues: Sequence[int] | None = None,
    x_title: str = mark("position"),
    height: int | None = None,
    line: int = 22,
) -> alt.LayerChart:
    """Return one lane a curve, one below the other, over whole positions: a column through all lanes is one vector.

    Every lane reaches from -limit, or from `low`, to limit. `marked` draws one column and writes its values;
    `hues` gives each lane a categorical colour by number. A lane's name takes `line` pixels.
    Shapes: samples (lane, pos); x (point,) and smooth (lane, point) are the same curves between the positions.

    >>> [layer["mark"]["type"] for layer in lanes(np.zeros((2, 3)), ["a", "b"]).to_dict()["layer"]]
    ['line', 'circle', 'text']
    """
    n_lanes, n_positions = samples.shape
    points, along = (
        (np.arange(n_positions), samples) if x is None or smooth is None or not len(x) else (x, smooth)
    )
    whole = along is samples
    height = height or int(min(88 * n_lanes, 340 + 14 * n_lanes)) + 58
    low = -limit if low is None else low
    free, room = line / (height - BELOW), 0.09 * (limit - low)
    strips = panels.stacked([(low - room, limit + room)] * n_lanes, title=free)
    pairs = {str(lane): pair for lane, pair in enumerate(zip(strips, along, strict=True))}
    curve = [
        {"x": round(float(across), 3)}
        | {lane: strip.position(values[place]) for lane, (strip, values) in pairs.items()}
        for place, across in enumerate(points)
    ]
    dots = [
        {
            "x": place,
            "y": strip.position(value),
            "value": number(float(value), 4),
            "lane": str(lane),
            "name": names[lane],
            "marked": place == marked,
        }
        for lane, strip in enumerate(strips)
        for place, value in enumerate(samples[lane])
    ]
    tall = (1 / n_lanes - free) * (height - BELOW)
    places = 0 if float(limit).is_integer() and float(low).is_integer() else 2
    ticks = sorted({low, 0.0, limit}) if tall > 44 else [low, limit]
    if n_lanes == 1:
        ticks = panels.steps(low, limit, 6)
    up = panels.left_axis(
        {
            strip.position(value): number(value, places if n_lanes > 1 else 1)
            for strip in strips
            for value in ticks
        }
    )
    x_title = _(x_title)
    across = alt.X(
        "x:Q",
        title=x_title,
        scale=vega.exact_scale(-0.6, n_positions - 0.4),
        axis=_whole_numbers(),
    )
    ours = [theme.CATEGORICAL[of % len(theme.CATEGORICAL)] for of in hues or [0] * n_lanes]
    hue = vega.colour_channel("lane:N", dict(zip(pairs, ours, strict=False)))
    lines = vega.rows(curve).transform_fold(list(pairs), as_=["lane", "y"])
    told = vega.tooltip(("name:N", _("curve")), ("x:Q", x_title), "value:N")
    base = vega.rows(dots).encode(x=across, y=up, color=hue, tooltip=told)
    layers: list[alt.Chart] = [
        lines.mark_line(strokeWidth=0.8 if whole else 1.6).encode(x=across, y=up, color=hue),
        base.mark_circle(opacity=1, size=float(np.clip(250 / n_positions, 2.5, 6)) ** 2),
    ]
    if marked is not None:
        dot = base.transform_filter("datum.marked").mark_circle(
            opacity=1, size=90, stroke=theme.BACKGROUND, strokeWidth=1.5
        )
        said = [number(float(values[marked]), 4) for values in samples]
        said[0] = f"{x_title} {marked}: {said[0]}"
        notes = [(strip.top, text) for strip, text in zip(strips, said, strict=True)]
        layers = [vega.reference_line(across, marked), *layers, dot, panels.edge_labels(notes, right=True)]
    titles = panels.edge_labels([(strip.top, name) for strip, name in zip(strips, names, strict=True)])
    return vega.frame(*layers, titles, height=height)


def _whole_numbers() -> alt.Axis:
    return alt.Axis(grid=False, domain=False, ticks=False, tickCount=6, tickMinStep=1, format="d")


@draw_once
def profiles(
    upper: Mapping[str, Band],
    lower: Mapping[str, Band],
    *,
    titles: tuple[str, str],
    x_title: str = mark("distance k, in positions"),
    height: int = 470,
    line: int = 26,
) -> alt.LayerChart:
    """Return two panels over distance: a mean line with dots at the whole distances and the range over all positions behind.

    Each line is named at its right end; lines of one family (the first word of a name) share a colour. A title takes `line` pixels.
    Shapes: a band is (x, mean, low, high), each (point,).

    >>> k = np.arange(3.0)
    >>> [row["text"] for row in profiles({"a": (k, k, k, k)}, {}, titles=("p", "q")).to_dict()["layer"][3]["data"]["values"]]
    ['a']
    """
    both = (upper, lower)
    families = {name: hue for hue, name in enumerate(upper)}
    for name in lower:
        families.setdefault(name.split()[0], len(families))
    colours = {
        name: theme.CATEGORICAL[families[name if name in upper else name.split()[0]] % len(theme.CATEGORICAL)]
        for name in (*upper, *lower)
    }
    ends = [
        [float(v) for _k, mean, least, most in bands.values() for v in (least.min(), most.max(), mean[-1])]
        or [0.0, 1.0]
        for bands in both
    ]
    ranges = [
        (min(found) - 0.05 * span, max(found) + 0.05 * span)
        for found in ends
        for span in [(max(found) - min(found)) or 1.0]
    ]
    strips = panels.stacked(ranges, title=line / (height - BELOW), gap=0.02)
    ticks = {
        strip.position(value): signed(value, "g")
        for strip, found in zip(strips, ends, strict=True)
        for value in panels.steps(min(found), max(found))
    }
    farthest = max([float(x[-1]) for bands in both for x, *_rest in bands.values()] + [1.0])
    ribbons, means, named = [], [], []
    for strip, bands in zip(strips, both, strict=True):
        heights = [strip.position(mean[-1]) for _k, mean, *_range in bands.values()]
        # what is written 13 px high needs 17
        for (name, (x, mean, least, most)), place in zip(
            bands.items(),
            spread_labels(heights, (0.65 * line + 1) / (height - BELOW) * panels.EXTENT),
            strict=True,
        ):
            key = f"{name} {strip.top:.0f}"
            if not np.allclose(least, most, atol=1e-9):
                ribbons += [
                    {"x": float(k), "y": strip.position(a), "y2": strip.position(b), "line": name, "key": key}
                    for k, a, b in zip(x, least, most, strict=True)
                ]
            means += [
                {
                    "x": round(float(k), 4),
                    "y": strip.position(m),
                    "line": name,
                    "key": key,
                    "whole": bool(np.isclose(k, round(k))),
                    "mean": number(m, 3),
                    "range": _("{a} to {b}", a=number(a, 3), b=number(b, 3)),
                }
                for k, m, a, b in zip(x, mean, least, most, strict=True)
            ]
            named.append({"y": place, "text": name, "line": name})
    across = alt.X(
        "x:Q",
        title=_(x_title),
        scale=vega.exact_scale(-0.01 * farthest - 0.3, farthest + 0.3),
        axis=_whole_numbers(),
    )
    hue = vega.colour_channel("line:N", colours)
    of = {"x": across, "y": panels.left_axis(ticks), "color": hue, "detail": "key:N"}
    ribbon = vega.rows(ribbons).mark_area(opacity=0.22).encode(**of, y2="y2:Q")
    base = vega.rows(means).encode(**of)
    told = vega.tooltip("line:N", ("x:Q", _("distance")), "mean:N", ("range:N", _("over all positions")))
    dots = base.transform_filter("datum.whole").mark_circle(opacity=1, size=14).encode(tooltip=told)
    names = (
        vega.rows(named)
        .mark_text(align="left", baseline="middle", dx=7, fontSize=13)
        .encode(x=alt.value("width"), y="y:Q", text="text:N", color=hue)
    )
    above = panels.edge_labels(
        [(strip.top, title) for strip, title in zip(strips, titles, strict=True)], size=14
    )
    return vega.frame(ribbon, base.mark_line(strokeWidth=1.8), dots, names, above, height=height)


def spread_labels(heights: Sequence[float], least: float) -> list[float]:
    """Return heights for labels as near as possible to the wanted ones, at least `least` apart, in the same order.

    >>> spread_labels([0.0, 0.1, 5.0], 1.0)
    [-0.45, 0.55, 5.0]
    """
    order = sorted(range(len(heights)), key=lambda i: heights[i])
    groups: list[tuple[list[int], float]] = []  # the labels that touch, and the centre they share
    for i in order:
        members, centre = [i], float(heights[i])
        while groups:
            before, other = groups[-1]
            if centre - other >= least * (len(members) + len(before)) / 2:
                break
            groups.pop()
            members = before + members
            centre = sum(float(heights[m]) for m in members) / len(members)
        groups.append((members, centre))
    places = [0.0] * len(heights)
    for members, centre in groups:
        for rank, member in enumerate(members):
            places[member] = round(centre + (rank - (len(members) - 1) / 2) * least, 9)
    return places
