"""Growth of costs: lines over the length of a text, both axes logarithmic."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import numpy as np

from viz import theme
from viz.charts.parts import vega
from viz.charts.parts.figures import draw_once
from viz.labels import phrase
from viz.number_text import decade


@draw_once
def over_length(
    lines: Mapping[str, tuple[Sequence[float], Sequence[float]]],
    *,
    marked_length: float | None,
    crossing: float | None,
    y_title: str,
    dots: bool = False,
    mark_label: str = "n = p",
    unit: str = "",
    covered: bool = False,
    hues: Mapping[str, str],
    x_title: str = "n, words",
    ticks: Sequence[int] = tuple(10**power for power in range(7)),
    height: int = 330,
) -> vega.Layers:
    """Return one line each over n, both axes logarithmic; `marked_length` is the visitor's n, `crossing` the n where the lines meet (marked and named).

    lines: name to (n, value). `covered`: the axes and the visitor's n alone.

    >>> drawn = over_length({"recurrence": ([1, 10], [4, 40])}, marked_length=10, crossing=None, y_title="t", hues={}).to_dict()["layer"][0]
    >>> drawn["data"]["values"][1], drawn["encoding"]["x"]["scale"]["type"]
    ({'line': 'recurrence', 'n': 10, 'value': 40}, 'log')
    """
    low = min(min(values) for _, values in lines.values())
    high = max(max(values) for _, values in lines.values())
    first, last = (edge(edge(n) for n, _ in lines.values()) for edge in (min, max))
    wide = float(np.log10(high / low)) or 1.0
    upper = max(lines, key=lambda name: lines[name][1][-1])
    begin, step = int(np.ceil(np.log10(low) - 0.15)), max(1, round(wide / 5))
    powers = range(begin, int(np.floor(np.log10(high) + 0.12 * wide)) + 1, step)
    names = (
        json.dumps([decade(power, unit) for power in powers])
        + f"[round((log(datum.value) / LN10 - {begin}) / {step})]"
    )
    quiet: dict[str, Any] = {"domain": False, "ticks": False, "labelPadding": 7}
    across = alt.X(
        "n:Q",
        title=x_title,
        scale=vega.exact_scale(first / 1.07, last * 1.07, type="log"),
        axis=alt.Axis(values=list(ticks), format=",", grid=False, **quiet),
    )
    up = alt.Y(
        "value:Q",
        title=y_title,
        scale=vega.exact_scale(low / 10**0.15, high * 10 ** (0.12 * wide), type="log"),
        axis=alt.Axis(values=[10.0**power for power in powers], labelExpr=names, **quiet),
    )
    drawn = {} if covered else lines
    rows = [
        {"line": phrase(name), "n": n, "value": value}
        for name, (ns, values) in drawn.items()
        for n, value in zip(ns, values, strict=True)
    ]
    ends = [
        {"line": phrase(name), "n": last, "value": values[-1], "upper": name == upper}
        for name, (_, values) in drawn.items()
    ]
    hue = vega.colour_channel("line:N", {phrase(name): hues.get(name, theme.MUTED) for name in lines})
    base = vega.rows(rows, x=across, y=up, color=hue)
    told = vega.tooltip("line:N", ("n:Q", "", ","), ("value:Q", unit or y_title, ",.4~g" if dots else ","))
    named = vega.rows(ends, x=across, y=up, text="line:N")
    layers: list[alt.Chart] = [
        base.mark_line(strokeWidth=3),
        base.mark_circle(size=64 if dots else 130, opacity=1 if dots else 0).encode(tooltip=told),
    ]
    if marked_length is not None:
        left = crossing is not None and 1 <= crossing / marked_length < 10
        put: dict[str, Any] = {"align": "right", "dx": -5} if left else {"align": "left", "dx": 5}
        layers += _upright(
            marked_length,
            f"n = {marked_length:,.0f}",
            across,
            [2, 3],
            theme.TEXT,
            "height",
            baseline="bottom",
            dy=-2,
            **put,
        )
    if crossing is not None and first < crossing < last and not covered:
        place = np.log10(crossing / first) / np.log10(last / first)
        align = "left" if place < 0.25 else "right" if place > 0.75 else "center"
        text = f"{mark_label} = {crossing:,.0f}"
        layers += _upright(
            crossing, text, across, [5, 4], theme.MUTED, 0, align=align, baseline="bottom", dy=-4
        )
    for which, baseline, dy in (("datum.upper", "bottom", -7), ("!datum.upper", "top", 12)):
        ends_here = named.transform_filter(which)
        put: dict[str, Any] = {"align": "right", "baseline": baseline, "dy": dy, "fontSize": 14}
        ground: dict[str, Any] = {"stroke": theme.BACKGROUND, "strokeWidth": 5, "strokeJoin": "round"}
        layers += [
            ends_here.mark_text(**put, **ground, color=theme.BACKGROUND),
            ends_here.mark_text(**put).encode(color=hue),
        ]
    if covered:
        layers.append(vega.question_mark())
    return vega.frame(*layers, height=height, top=24)


def _upright(
    n: float, text: str, across: alt.X, dash: list[int], colour: str, y: Any, **put: Any
) -> list[alt.Chart]:
    """Return a vertical line at one n, named at its upper or lower end."""
    base = vega.rows([{"n": n, "text": text}], x=across)
    return [
        base.mark_rule(strokeWidth=1.5, strokeDash=dash, color=colour),
        base.mark_text(**put, fontSize=14, color=theme.TEXT).encode(y=alt.value(y), text="text:N"),
    ]
