"""Scores with and without 1/sqrt(d_k): histograms, a row of weights, measures by width, layers, and where exp ends.

Numbers in, an Altair chart out.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import numpy as np
import plotly.graph_objects as go

from viz import theme
from viz.charts.curves import BELOW, number, power_of_ten, spread_labels
from viz.charts.parts import panels as strips_of
from viz.charts.parts.kept import kept
from viz.labels import phrase

Array = np.ndarray[Any, np.dtype[Any]]
HUES = {"raw": theme.CATEGORICAL[1], "scaled": theme.CATEGORICAL[0]}
NAMES = {"raw": "q · k", "scaled": "q · k / √d"}
BINS = 48
ROOM_HEIGHT = 370
LINE = 26
"""Pixels that the title of a lane takes."""
CROSS = "M-1,-0.6L-0.6,-1L0,-0.4L0.6,-1L1,-0.6L0.4,0L1,0.6L0.6,1L0,0.4L-0.6,1L-1,0.6L-0.4,0Z"


@kept
def histograms(
    values: Mapping[str, Array],
    bells: Mapping[str, tuple[Array, Array]],
    titles: Mapping[str, str],
    *,
    line: int = LINE,
    height: int = 330,
) -> strips_of.Layers:
    """One lane a table of scores, on one axis: how often each score came up, and the closed form's curve over it.

    Names are those of `NAMES`; a title takes `line` pixels. Shapes: values (any), a bell is x (point,) and its density (point,).

    >>> x = np.linspace(-1.0, 1.0, 5)
    >>> [row["text"] for row in histograms({"raw": x}, {"raw": (x, x)}, {"raw": "q · k"}).to_dict()["layer"][-1]["data"]["values"]]
    ['q · k']
    """
    limit = max(float(np.abs(v).max()) for v in values.values()) * 1.04
    counted = {
        name: np.histogram(found, bins=BINS, range=(-end, end), density=True)
        for name, found in values.items()
        for end in [float(np.abs(found).max())]
    }
    strips = strips_of.stacked(
        [(0, 1.05 * max(float(counted[name][0].max()), float(bells[name][1].max()))) for name in values],
        title=line / (height - BELOW),
        gap=0.02,
    )
    bars: list[dict[str, Any]] = []
    curves: list[dict[str, Any]] = []
    for strip, (name, (heights, edges)) in zip(strips, counted.items(), strict=True):
        bars += [
            {
                "left": float(a),
                "right": float(b),
                "top": strip.at(high),
                "bottom": strip.bottom,
                "colour": HUES[name],
                "score": number((a + b) / 2, 1),
                "density": f"{high:.4f}",
            }
            for a, b, high in zip(edges[:-1], edges[1:], heights, strict=True)
        ]
        curves += [{"x": float(x), "y": strip.at(y), "lane": name} for x, y in zip(*bells[name], strict=True)]
    across = alt.X(
        "x:Q", title="score", scale=alt.Scale(domain=[-limit, limit], nice=False), axis=_quiet(tickCount=8)
    )
    up = _bare_up()
    drawn = (
        _rows(bars)
        .mark_rect(opacity=0.55)
        .encode(
            x=strips_of.on(across, "left:Q"),
            x2="right:Q",
            y=strips_of.on(up, "top:Q"),
            y2="bottom:Q",
            color=alt.Color("colour:N", scale=None),
            tooltip=[alt.Tooltip("score:N"), alt.Tooltip("density:N")],
        )
    )
    bell = _rows(curves).mark_line(strokeWidth=1.6, color=theme.TEXT).encode(x=across, y=up, detail="lane:N")
    ground = _rows([{"y": strip.bottom} for strip in strips]).mark_rule(color=theme.LINE).encode(y=up)
    middle = (
        _rows([{"x": 0, "y": strip.top, "y2": strip.bottom} for strip in strips])
        .mark_rule(color=theme.LINE)
        .encode(x=across, y=up, y2="y2:Q")
    )
    return _dressed(
        height,
        ground,
        middle,
        drawn,
        bell,
        _titles([(strip.top, titles[name], HUES[name]) for strip, name in zip(strips, values, strict=True)]),
    )


@kept
def weights(
    rows: Mapping[str, Array], titles: Mapping[str, str], *, line: int = LINE, height: int = 340
) -> strips_of.Layers:
    """One row of softmax weights a lane, the same keys in the same order, on one scale from 0 to 1.

    A title takes `line` pixels. Shapes: each row (key,).

    >>> [row["weight"] for row in weights({"raw": np.array([0.9, 0.1])}, {"raw": "q · k"}).to_dict()["layer"][0]["data"]["values"]]
    ['0.9000', '0.1000']
    """
    strips = strips_of.stacked([(0, 1.02)] * len(rows), title=line / (height - BELOW), gap=0.035)
    bars = [
        {
            "left": key + 0.65,
            "right": key + 1.35,
            "top": strip.at(value),
            "bottom": strip.bottom,
            "colour": HUES[name],
            "key": key + 1,
            "weight": f"{value:.4f}",
        }
        for strip, (name, values) in zip(strips, rows.items(), strict=True)
        for key, value in enumerate(values)
    ]
    most = max(len(v) for v in rows.values())
    across = alt.X(
        "left:Q",
        title="the keys, best score first",
        scale=alt.Scale(domain=[0.3, most + 0.7], nice=False),
        axis=_quiet(values=[1, *range(5, most + 1, 5)], format="d"),
    )
    up = strips_of.on(
        strips_of.up({strip.at(value): f"{value:g}" for strip in strips for value in (0, 0.5, 1)}), "top:Q"
    )
    drawn = (
        _rows(bars)
        .mark_rect()
        .encode(
            x=across,
            x2="right:Q",
            y=up,
            y2="bottom:Q",
            color=alt.Color("colour:N", scale=None),
            tooltip=[alt.Tooltip("key:Q"), alt.Tooltip("weight:N")],
        )
    )
    return _dressed(
        height,
        drawn,
        _titles([(strip.top, titles[name], HUES[name]) for strip, name in zip(strips, rows, strict=True)]),
    )


@kept
def by_width(
    widths: Sequence[int],
    panels: Sequence[tuple[str, Mapping[str, Sequence[float]], tuple[float, str]]],
    *,
    marked: int,
    line: int = LINE,
    height: int = 400,
) -> strips_of.Layers:
    """One panel a measure over d_k, both tables as lines named at their ends; the dotted line is the limit of an even look.

    panels: title, values by name, (limit, its words). The axis grows by equal factors. A title takes `line` pixels.
    Errors: ValueError when a line has another number of points than there are widths.

    >>> chart = by_width([1, 2], [("t", {"raw": [1, 2]}, (3.0, "even"))], marked=2).to_dict()
    >>> [(row["x"], row["value"]) for row in chart["layer"][2]["data"]["values"]], [row["text"] for row in chart["layer"][4]["data"]["values"]]
    ([(1, 1.0), (2, 2.0)], ['q · k', 'even'])
    """
    strips = strips_of.stacked(
        [(0, 1.06 * limit) for _, _, (limit, _) in panels], title=line / (height - BELOW), gap=0.025
    )
    dots, ends = [], []
    for strip, (title, lines, (limit, words)) in zip(strips, panels, strict=True):
        for name, values in lines.items():
            if len(values) != len(widths):
                raise ValueError(f"{name} has {len(values)} points for {len(widths)} widths")
            dots += [
                {
                    "x": int(x),
                    "y": strip.at(value),
                    "line": NAMES[name],
                    "key": f"{title} {name}",
                    "colour": HUES[name],
                    "value": float(value),
                }
                for x, value in zip(widths, values, strict=True)
            ]
        *places, even = spread_labels([*(float(values[-1]) for values in lines.values()), limit], limit * 0.2)
        ends += [
            {"y": strip.at(place), "text": NAMES[name], "colour": HUES[name]}
            for name, place in zip(lines, places, strict=True)
        ]
        ends.append({"y": strip.at(even), "text": phrase(words), "colour": theme.MUTED})
    ticks = [w for w in widths if w in (1, 4, 16, 64, 256, 1024)]
    across = alt.X(
        "x:Q",
        title="dₖ, the numbers in a query and a key",
        scale=alt.Scale(type="log", base=2, domain=[min(widths) * 0.9, max(widths) * 1.1], nice=False),
        axis=_quiet(values=ticks, format="d"),
    )
    up = strips_of.up(
        {
            strip.at(value): f"{value:g}"
            for strip, (_, _, (limit, _)) in zip(strips, panels, strict=True)
            for value in strips_of.steps(0, limit, 4)
        }
    )
    hue = alt.Color("colour:N", scale=None)
    base = _rows(dots).encode(x=across, y=up, color=hue, detail="key:N")
    return _dressed(
        height,
        _rows([{"x": marked, "y": strip.top, "y2": strip.bottom} for strip in strips])
        .mark_rule(strokeDash=[2, 3], color=theme.MUTED)
        .encode(x=across, y=up, y2="y2:Q"),
        _rows([{"y": strip.at(limit)} for strip, (_, _, (limit, _)) in zip(strips, panels, strict=True)])
        .mark_rule(strokeDash=[2, 3], color=theme.MUTED)
        .encode(y=up),
        base.mark_line(strokeWidth=2.4),
        base.mark_circle(size=40, opacity=1).encode(
            tooltip=[
                alt.Tooltip("line:N"),
                alt.Tooltip("x:Q", title="dₖ"),
                alt.Tooltip("value:Q", format=".3f"),
            ]
        ),
        _rows(ends)
        .mark_text(align="left", baseline="middle", dx=8, fontSize=13)
        .encode(x=alt.value("width"), y=up, text="text:N", color=hue),
        _titles(
            [(strip.top, title, theme.TEXT) for strip, (title, _, _) in zip(strips, panels, strict=True)]
        ),
    )


@kept
def layers(heads: Mapping[str, Array], *, height: int = 360) -> strips_of.Layers:
    """How even each head looks (0 to 1), a dot a head over the layers, a line through their means.

    Shapes: each table (layer head).

    >>> [len(layer["data"]["values"]) for layer in layers({"raw": np.zeros((2, 3))}).to_dict()["layer"][:2]]
    [6, 2]
    """
    kinds = {name: {"raw": "without", "scaled": "with 1/√d, as trained"}[name] for name in heads}
    dots = [
        {
            "x": layer + 0.09 * (2 * side - 1),
            "y": float(value),
            "line": kinds[name],
            "layer": layer,
            "head": head,
        }
        for side, (name, table) in enumerate(heads.items())
        for layer, row in enumerate(table)
        for head, value in enumerate(row)
    ]
    means = [
        {"x": layer, "y": float(value), "line": kinds[name]}
        for name, table in heads.items()
        for layer, value in enumerate(table.mean(1))
    ]
    n_layers = max(len(table) for table in heads.values())
    across = alt.X(
        "x:Q",
        title="layer",
        scale=alt.Scale(domain=[-0.4, n_layers - 0.6], nice=False),
        axis=_quiet(values=list(range(n_layers)), format="d"),
    )
    up = alt.Y(
        "y:Q",
        title="normalised entropy",
        scale=alt.Scale(domain=[-0.02, 1.04], nice=False),
        axis=_quiet(values=[0, 0.25, 0.5, 0.75, 1], format=".0%", grid=True),
    )
    hue = alt.Color(
        "line:N",
        scale=alt.Scale(domain=list(kinds.values()), range=[HUES[name] for name in kinds]),
        legend=alt.Legend(
            orient="top", title=None, symbolType="circle", symbolSize=100, symbolOpacity=1, labelLimit=320
        ),
    )
    head, mean = (_rows(rows).encode(x=across, y=up, color=hue) for rows in (dots, means))
    told = [
        alt.Tooltip("line:N"),
        alt.Tooltip("x:Q", title="layer"),
        alt.Tooltip("y:Q", title="mean of the heads", format=".1%"),
    ]
    return _dressed(
        height,
        head.mark_circle(size=50, opacity=0.45).encode(
            tooltip=[
                alt.Tooltip("line:N"),
                alt.Tooltip("layer:Q"),
                alt.Tooltip("head:Q"),
                alt.Tooltip("y:Q", title="normalised entropy", format=".1%"),
            ]
        ),
        mean.mark_line(strokeWidth=2.6),
        mean.mark_circle(size=80, opacity=1).encode(tooltip=told),
    )


@kept
def exponentials(
    points: Sequence[tuple[str, float, float]],
    line: tuple[Array, Array],
    *,
    top: float,
    smallest: float,
    height: int = 380,
) -> strips_of.Layers:
    """e^s over s, the axis in equal factors, up to the largest number of float32; beyond it the hatched part has no number.

    points: (name, what goes into exp, its exponential, which may be infinite). line: s and log10(e^s), (point,) each.
    top, smallest: log10 of the largest and of the smallest number above zero.

    >>> x = np.array([0.0, 100.0])
    >>> chart = exponentials([("a", 100.0, np.inf)], (x, x / 2.3), top=38.5, smallest=-45).to_dict()
    >>> [row["text"] for row in chart["layer"][-1]["data"]["values"]]
    ['a: ∞']
    """
    x, y = line
    left, right, high, low = float(x[0]), float(x[-1]), max(float(y.max()), top) + 6, smallest - 8
    across = alt.X(
        "x:Q",
        title="s, what goes into exp",
        scale=alt.Scale(domain=[left, right], nice=False),
        axis=_quiet(tickCount=5),
    )
    ticks = {
        power: "1" if power == 0 else power_of_ten(power)
        for power in range(-40, int(high) + 1, 20)
        if low < power < high
    }
    up = alt.Y(
        "y:Q",
        title="e to the power s",
        scale=alt.Scale(domain=[low, high], nice=False),
        axis=_quiet(
            values=list(ticks),
            labelExpr=f"({json.dumps({str(power): text for power, text in ticks.items()})})[datum.value]",
            grid=True,
        ),
    )

    def drawn(rows: list[dict[str, Any]]) -> alt.Chart:
        return _rows(rows).encode(x=across, y=up)

    inside, beyond = (
        [{"x": float(a), "y": float(b)} for a, b in zip(x[kept], y[kept], strict=True)]
        for kept in ((y <= top) & (y >= smallest), y > top)
    )
    rise = high - top
    hatch = [
        {
            "x": max(at, left),
            "y": top + max(left - at, 0),
            "x2": min(at + rise, right),
            "y2": top + min(rise, right - at),
        }
        for at in np.arange(left - rise + 3, right, 6).tolist()
    ]
    marks = [_mark(turn, point, left, right, smallest) for turn, point in enumerate(points)]
    dots, hue = drawn(marks), alt.Color("colour:N", scale=None)
    name = dots.encode(text="text:N")
    beside: dict[str, Any] = {
        "fontSize": 14,
        "align": alt.ExprRef("datum.align"),
        "baseline": alt.ExprRef("datum.baseline"),
        "dx": alt.ExprRef("datum.dx"),
        "dy": alt.ExprRef("datum.dy"),
    }
    end: dict[str, Any] = {
        "text": "float32 ends here: above is ∞",
        "align": "left",
        "baseline": "bottom",
        "dx": 4,
        "dy": -5,
        "fontSize": 13,
    }
    halo: dict[str, Any] = {
        "color": theme.BACKGROUND,
        "stroke": theme.BACKGROUND,
        "strokeWidth": 6,
        "strokeJoin": "round",
    }
    edge = drawn([{"x": left, "y": top}])
    return _dressed(
        height,
        drawn(hatch).mark_rule(color=theme.HATCH, strokeWidth=1, opacity=0.6).encode(x2="x2:Q", y2="y2:Q"),
        drawn(inside).mark_line(strokeWidth=2, color=theme.MUTED),
        drawn(beyond).mark_line(strokeWidth=1.4, strokeDash=[2, 3], color=theme.MUTED),
        _rows([{"y": top}]).mark_rule(strokeWidth=1.4, color=theme.CATEGORICAL[3]).encode(y=up),
        edge.mark_text(**end, **halo),
        edge.mark_text(**end, color=theme.CATEGORICAL[3]),
        dots.mark_point(filled=True, opacity=1, size=150).encode(
            color=hue, shape=alt.Shape("form:N", scale=None)
        ),
        name.mark_text(**beside, **halo),
        name.mark_text(**beside).encode(color=hue),
    )


def _mark(
    turn: int, point: tuple[str, float, float], left: float, right: float, smallest: float
) -> dict[str, Any]:
    """Where an exponential stands, its form, and at which side its name is."""
    name, score, value = point
    lost = not np.isfinite(value)
    place = (
        float(np.log10(value)) if value > 0 and not lost else float(score / np.log(10)) if lost else smallest
    )
    side = "left" if score > 0.6 * right else "right"
    above, side = ((True, "left"), (False, side), (score <= left / 2, "right"))[turn % 3]
    return {
        "x": float(score),
        "y": place,
        "colour": theme.CATEGORICAL[3 if lost else 0],
        "form": CROSS if lost else "circle",
        "text": f"{phrase(name)}: {_power(value)}",
        "align": "right" if side == "left" else "left",
        "baseline": "bottom" if above else "top",
        "dx": -8 if side == "left" else 8,
        "dy": -5 if above else 6,
    }


def fitted(figure: go.Figure, room: bool) -> go.Figure:
    """The figure as it is, or before a room so low that picture, sentence and control fit on one screen of 720 pixels; names at its right keep their place.

    >>> fitted(go.Figure(layout={"height": 400}), room=True).layout.height
    370
    """
    if not room:
        return figure
    margin = figure.layout.margin.r or 0
    return go.Figure(figure).update_layout(
        height=ROOM_HEIGHT, margin={"r": 1.6 * margin if margin > 40 else margin}
    )


def _power(value: float) -> str:
    if not np.isfinite(value):
        return "∞"
    head, _, tail = f"{value:.2g}".partition("e")
    return (f"{head} · {power_of_ten(int(tail))}" if tail else head).replace("-", "−")


def _rows(rows: list[dict[str, Any]]) -> alt.Chart:
    return alt.Chart(alt.Data(values=rows))


def _quiet(**more: Any) -> alt.Axis:
    return alt.Axis(**{"grid": False, "domain": False, "ticks": False, "labelPadding": 7} | more)


def _bare_up() -> alt.Y:
    return alt.Y("y:Q", axis=None, scale=alt.Scale(domain=[strips_of.WHOLE, 0], nice=False))


def _titles(rows: Sequence[tuple[float, str, str]]) -> alt.Chart:
    """Titles at the left edge, each (height, text, colour)."""
    drawn = _rows([{"y": y, "text": phrase(text), "colour": colour} for y, text, colour in rows])
    return drawn.mark_text(align="left", baseline="bottom", dy=-5, fontSize=14).encode(
        x=alt.value(0), y="y:Q", text="text:N", color=alt.Color("colour:N", scale=None)
    )


def _dressed(height: int, *drawn: alt.Chart) -> strips_of.Layers:
    return alt.layer(*drawn).properties(
        width="container", height=height, padding=strips_of.AROUND | {"right": 10}, view=strips_of.BARE
    )
