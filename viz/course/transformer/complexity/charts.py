"""What grows how fast: costs over the length on logarithmic axes, the rows of a table as bars, the way between two words.

Numbers and words in, an Altair chart out.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import altair as alt
import numpy as np

from viz import theme
from viz.charts.parts import panels, vega
from viz.charts.parts.kept import kept
from viz.labels import phrase

HUES = {
    "self-attention": theme.CATEGORICAL[0],
    "recurrence": theme.CATEGORICAL[1],
    "LSTM": theme.CATEGORICAL[1],
}
DRAWN = 13
"""Words of a chain that are drawn; of a longer one the first and the last."""
UNITS = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


def short(value: float) -> str:
    """A large number in three digits.

    >>> short(1_280_000), short(13_107_200), short(8_589_934_592), short(512)
    ('1.28 M', '13.1 M', '8.59 G', '512')
    """
    size, unit = next(((size, unit) for size, unit in UNITS if value >= size), (1.0, ""))
    return f"{value / size:.3g} {unit}".strip()


COUNTS = ((12, "trillion"), (9, "billion"), (6, "million"))
BYTES = ((12, "TB"), (9, "GB"), (6, "MB"), (3, "kB"))


def decade(power: int, unit: str = "") -> str:
    """A power of ten in words, which are read from afar where an exponent is not.

    >>> decade(4), decade(8), decade(4, "bytes"), decade(-1, "ms")
    ('10,000', '100 million', '10 kB', '0.1')
    """
    size, name = next(
        ((size, name) for size, name in (BYTES if unit == "bytes" else COUNTS) if power >= size), (0, "")
    )
    return f"{10.0 ** (power - size):,g} {name}".strip()


@kept
def over_length(
    lines: Mapping[str, tuple[Sequence[float], Sequence[float]]],
    *,
    at: float | None,
    crossing: float | None,
    y_title: str,
    dots: bool = False,
    said: str = "n = p",
    unit: str = "",
    covered: bool = False,
    hues: Mapping[str, str] = HUES,
    height: int = 330,
) -> vega.Layers:
    """A line each over n, both axes logarithmic; `at` is the visitor's n, `crossing` where the lines meet (marked and named).

    lines: name to (n, value). `covered`: the axes and the visitor's n alone.

    >>> drawn = over_length({"recurrence": ([1, 10], [4, 40])}, at=10, crossing=None, y_title="t").to_dict()["layer"][0]
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
        title="n, words",
        scale=vega.span(first / 1.07, last * 1.07, type="log"),
        axis=alt.Axis(values=[10**power for power in range(7)], format=",", grid=False, **quiet),
    )
    up = alt.Y(
        "value:Q",
        title=y_title,
        scale=vega.span(low / 10**0.15, high * 10 ** (0.12 * wide), type="log"),
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
    hue = vega.hue("line:N", {phrase(name): hues.get(name, theme.MUTED) for name in lines})
    base = vega.rows(rows, x=across, y=up, color=hue)
    told = vega.told("line:N", ("n:Q", "", ","), ("value:Q", unit or y_title, ",.4~g" if dots else ","))
    named = vega.rows(ends, x=across, y=up, text="line:N")
    layers: list[alt.Chart] = [
        base.mark_line(strokeWidth=3),
        base.mark_circle(size=64 if dots else 130, opacity=1 if dots else 0).encode(tooltip=told),
    ]
    if at is not None:
        left = crossing is not None and 1 <= crossing / at < 10
        put: dict[str, Any] = {"align": "right", "dx": -5} if left else {"align": "left", "dx": 5}
        layers += _upright(
            at, f"n = {at:,.0f}", across, [2, 3], theme.TEXT, "height", baseline="bottom", dy=-2, **put
        )
    if crossing is not None and first < crossing < last and not covered:
        place = np.log10(crossing / first) / np.log10(last / first)
        align = "left" if place < 0.25 else "right" if place > 0.75 else "center"
        text = f"{said} = {crossing:,.0f}"
        layers += _upright(
            crossing, text, across, [5, 4], theme.MUTED, 0, align=align, baseline="bottom", dy=-4
        )
    for which, baseline, dy in (("datum.upper", "bottom", -7), ("!datum.upper", "top", 12)):
        ends_here = named.transform_filter(which)
        put = {"align": "right", "baseline": baseline, "dy": dy, "fontSize": 14}
        ground = {"stroke": theme.BACKGROUND, "strokeWidth": 5, "strokeJoin": "round"}
        layers += [
            ends_here.mark_text(**put, **ground, color=theme.BACKGROUND),
            ends_here.mark_text(**put).encode(color=hue),
        ]
    if covered:
        layers.append(vega.question())
    return vega.framed(*layers, height=height, top=24)


def _upright(
    n: float, text: str, across: alt.X, dash: list[int], colour: str, y: Any, **put: Any
) -> list[alt.Chart]:
    """A line across the lines at one n, named at its upper or lower end."""
    base = vega.rows([{"n": n, "text": text}], x=across)
    return [
        base.mark_rule(strokeWidth=1.5, strokeDash=dash, color=colour),
        base.mark_text(**put, fontSize=14, color=theme.TEXT).encode(y=alt.value(y), text="text:N"),
    ]


@kept
def table(rows: Sequence[tuple[str, Mapping[str, tuple[str, float]]]]) -> vega.Layers:
    """The rows of a table as bars on one logarithmic scale each: a title, then by name (formula, value); the formula before, the number behind.

    >>> [row["text"] for row in table([("steps", {"self-attention": ("O(1)", 1.0), "recurrence": ("O(n)", 50.0)})]).to_dict()["layer"][0]["data"]["values"]]
    ['1', '50']
    """
    bars, heads, left, y = [], [], {}, 0.0
    unit = panels.WHOLE / (len(rows) * 2.55 - 0.15)
    for title, cells in rows:
        heads.append({"y": (y + 0.48) * unit, "text": phrase(title)})
        most = np.log10(max(value for _, value in cells.values())) + 1
        for place, (name, (formula, value)) in enumerate(cells.items()):
            middle = (y + 0.96 + 0.78 * place) * unit
            left[middle] = formula
            bars.append(
                {
                    "name": name,
                    "y": middle - 0.3 * unit,
                    "y2": middle + 0.3 * unit,
                    "middle": middle,
                    "x": 0,
                    "x2": float((np.log10(value) + 0.25) / most),
                    "text": f"{value:,.0f}",
                    "formula": formula,
                    "row": phrase(title),
                }
            )
        y += 2.55
    across = alt.X("x:Q", axis=None, scale=vega.span(0, 1.5))
    hues = {name: HUES[name] for name in ("self-attention", "recurrence")}
    up = panels.up(left, grid=False, size=14, colour=theme.TEXT)
    base = vega.rows(bars)
    drawn = base.mark_rect().encode(
        x=across,
        x2="x2:Q",
        y=up,
        y2="y2:Q",
        color=vega.hue("name:N", hues, vega.legend(offset=4, symbolType="square")),
        tooltip=vega.told(("row:N", "of"), ("name:N", "layer"), "formula:N", ("text:N", "in numbers")),
    )
    numbers = base.mark_text(align="left", dx=6, fontSize=15, fontWeight=600, color=theme.TEXT).encode(
        x=panels.on(across, "x2:Q"), y=panels.on(up, "middle:Q"), text="text:N"
    )
    titles = vega.rows(heads, x=alt.value(0), y="y:Q", text="text:N").mark_text(
        align="left", baseline="bottom", fontSize=14, color=theme.MUTED
    )
    return vega.framed(drawn, numbers, titles, height=330)


@kept
def reach(n: int) -> vega.Layers:
    """The way from the first of n words to the last: state after state above, one step below.

    >>> [row["x"] for row in reach(3).to_dict()["layer"][0]["data"]["values"]]
    [0, 1]
    """
    whole = n <= DRAWN
    places = list(range(n)) if whole else [*range(DRAWN // 2), *range(n - DRAWN // 2, n)]
    xs = list(range(n)) if whole else [*range(DRAWN // 2), *range(DRAWN // 2 + 1, DRAWN)]
    width = n if whole else DRAWN
    far = f"min(15, 0.37 * width / {width})"  # pixels from the middle of a word to its rim
    arrows = [{"x": left, "x2": right, "y": 0} for left, right in pairwise(xs) if right - left == 1]
    words = [
        {"x": x, "y": y, "text": f"{place + 1}", "hue": HUES[name] if i in (0, len(xs) - 1) else theme.HATCH}
        for y, name in ((0, "recurrence"), (2, "self-attention"))
        for i, (x, place) in enumerate(zip(xs, places, strict=True))
    ]
    end = float(xs[-1])
    bow = [
        {"x": end * t, "y": 1.66 - 1.17 * 2 * t * (1 - t), "order": i}
        for i, t in enumerate(np.linspace(0, 1, 41).tolist())
    ]
    heads = [
        {"y": -0.68, "text": f"recurrence: {n - 1:,} steps, one after the other", "hue": HUES["recurrence"]},
        {"y": 2.72, "text": "self-attention: 1 step between any two words", "hue": HUES["self-attention"]},
    ]
    across, up = vega.plane((-0.6, width - 0.4), (2.95, -1.05))
    way, node, arch, said = (vega.rows(rows, x=across, y=up) for rows in (arrows, words, bow, heads))
    done = alt.value(HUES["recurrence"])
    begin, stop, rim = (alt.ExprRef(each) for each in (f"{far} + 3", f"-{far} - 5", f"3.14 * pow({far}, 2)"))
    head = {"shape": "triangle-right", "size": alt.ExprRef(f"6.5 * {far}"), "xOffset": stop}
    dot = {"filled": True, "opacity": 1}
    layers = [
        way.mark_rule(strokeWidth=2.5, xOffset=begin, x2Offset=stop).encode(x2="x2:Q", color=done),
        way.mark_point(**dot, **head).encode(x=panels.on(across, "x2:Q"), color=done),
        arch.mark_line(strokeWidth=3, color=HUES["self-attention"]).encode(order="order:Q"),
        node.mark_point(**dot, fill=theme.BACKGROUND, strokeWidth=2.5, size=rim).encode(
            stroke=vega.own("hue:N", alt.Stroke)
        ),
        node.mark_text(fontSize=12 if width > 9 else 13, color=theme.TEXT).encode(text="text:N"),
        said.mark_text(align="left", fontSize=15).encode(
            x=alt.value(4), text="text:N", color=vega.own("hue:N")
        ),
    ]
    if not whole:
        gaps = vega.rows([{"x": DRAWN // 2, "y": y} for y in (0, 2)], x=across, y=up)
        layers.append(gaps.mark_text(text="…", fontSize=22, color=theme.MUTED))
    return vega.framed(*layers, height=260)
