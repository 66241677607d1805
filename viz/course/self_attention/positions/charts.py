"""How a model learns where a word stands: two first ideas, criteria with ticks, the wave as clocks, a table as a path, a word said twice.

Numbers and words in, an Altair chart out.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import numpy as np

from viz import theme
from viz.charts.curves import spread_labels
from viz.charts.parts import panels
from viz.charts.parts.kept import kept
from viz.labels import phrase

Array = np.ndarray[Any, np.dtype[Any]]
GOOD, BAD = theme.PRIMARY, theme.CATEGORICAL[1]
BARE = panels.BARE


@kept
def by_layer(lines: Mapping[str, Array], *, top: float, height: int = 300) -> alt.LayerChart:
    """How far apart two vectors are, layer by layer; each line (layer + 1,) is named at its end.

    >>> [row["y"] for row in by_layer({"a b": np.zeros(3)}, top=1.0).to_dict()["layer"][0]["data"]["values"]]
    [0.0, 0.0, 0.0]
    """
    names, last = [phrase(name) for name in lines], max(len(line) for line in lines.values()) - 1
    rows = [
        {"line": name, "x": layer, "y": float(value)}
        for name, line in zip(names, lines.values(), strict=True)
        for layer, value in enumerate(line)
    ]
    places = spread_labels([float(line[-1]) for line in lines.values()], 0.28 * top)
    ends = [
        {"line": name, "x": last, "y": place, "text": name.replace(" ", "\n", 1)}
        for name, place in zip(names, places, strict=True)
    ]
    hue = alt.Color(
        "line:N", legend=None, scale=alt.Scale(domain=names, range=theme.CATEGORICAL[: len(names)])
    )
    across = alt.X(
        "x:Q",
        title="after layer",
        scale=alt.Scale(domain=[-0.3, 1.5 * last], nice=False),
        axis=alt.Axis(
            values=list(range(last + 1)),
            labelExpr="datum.value ? datum.label : 'input'",
            format="d",
            grid=False,
            domain=False,
            ticks=False,
            labelPadding=7,
        ),
    )
    up = alt.Y(
        "y:Q",
        title="distance / length",
        scale=alt.Scale(domain=[-0.05 * top, 1.16 * top], nice=False),
        axis=alt.Axis(tickCount=4, format="~g", domain=False, ticks=False, labelPadding=7),
    )
    base = alt.Chart(alt.Data(values=rows)).encode(x=across, y=up, color=hue)
    told = [
        alt.Tooltip("line:N"),
        alt.Tooltip("x:Q", title="after layer"),
        alt.Tooltip("y:Q", title="distance / length", format=".3f"),
    ]
    named = (
        alt.Chart(alt.Data(values=ends))
        .mark_text(align="left", baseline="bottom", dx=11, dy=2, fontSize=13, lineBreak="\n")
        .encode(x=across, y=up, text="text:N", color=hue)
    )
    return alt.LayerChart(
        layer=[
            base.mark_line(strokeWidth=2.4),
            base.mark_circle(size=50, opacity=1).encode(tooltip=told),
            named,
        ]
    ).properties(
        width="container",
        height=height,
        padding=panels.AROUND,
        view=BARE,
    )


@kept
def ideas(short: int, long: int, *, covered: bool = False, height: int = 300) -> alt.LayerChart:
    """Two sentences, one dot a word, at the number that the word gets: above as a fraction of the way, below counted.

    `covered` leaves out the fractions of the long sentence.

    >>> dots = ideas(3, 5).to_dict()["layer"][2]["data"]["values"]
    >>> [row["gets"] for row in dots][:4], len(dots)
    (['0', '0.5', '1', '0'], 16)
    """
    titles = ("First idea: how much of the way, t / (n − 1)", "Second idea: count, t")
    dots: list[dict[str, Any]] = []
    ways: list[dict[str, Any]] = []
    grid: list[dict[str, Any]] = []
    heads: list[tuple[float, str]] = []
    left: dict[float, str] = {}
    whole = panels.WHOLE
    for panel, title in enumerate(titles):
        top, end = panel * 0.54 * whole, (1.0, long - 1.0)[panel]
        heads.append((top + 0.1 * whole, title))
        grid += [
            {"x": value / end, "y": top + 0.11 * whole, "y2": top + 0.37 * whole, "text": f"{value:g}"}
            for value in panels.steps(0, end, 6)
        ]
        for row, n in enumerate((short, long)):
            y, last = top + (0.16, 0.31)[row] * whole, (1.0, n - 1.0)[panel] / end
            left[y] = f"{n} words"
            if not (covered and row == 1 and panel == 0):
                ways.append({"x": 0, "x2": last, "y": y})
                dots += [
                    {
                        "x": last * t / (n - 1),
                        "y": y,
                        "sentence": f"{n} words",
                        "row": str(row),
                        "word": t + 1,
                        "gets": f"{last * t / (n - 1) * end:.4g}",
                    }
                    for t in range(n)
                ]
    across = alt.X("x:Q", axis=None, scale=alt.Scale(domain=[-0.03, 1.03], nice=False))
    up = panels.up(left, grid=False, size=14, colour=theme.TEXT)
    lines = alt.Chart(alt.Data(values=grid)).encode(x=across)
    numbers = lines.mark_text(baseline="top", dy=4, fontSize=13, color=theme.MUTED).encode(
        y=panels.on(up, "y2:Q"), text="text:N"
    )
    way = (
        alt.Chart(alt.Data(values=ways))
        .mark_rule(strokeWidth=2, color=theme.HATCH)
        .encode(x=across, x2="x2:Q", y=up)
    )
    drawn = (
        alt.Chart(alt.Data(values=dots))
        .mark_circle(size=80, opacity=1)
        .encode(
            x=across,
            y=up,
            color=alt.Color(
                "row:N", legend=None, scale=alt.Scale(domain=["0", "1"], range=theme.CATEGORICAL[:2])
            ),
            tooltip=[
                alt.Tooltip("sentence:N"),
                alt.Tooltip("word:Q"),
                alt.Tooltip("gets:N", title="gets the number"),
            ],
        )
    )
    layers: list[alt.Chart] = [
        lines.mark_rule(strokeWidth=1, color=theme.LINE).encode(y=up, y2="y2:Q"),
        way,
        drawn,
        numbers,
        panels.notes(heads, size=14),
    ]
    if covered:
        layers.append(
            alt.Chart(alt.Data(values=[{"x": 0.5, "y": 0.31 * whole}]))
            .mark_text(text="?", fontSize=26, color=theme.MUTED)
            .encode(x=across, y=up)
        )
    return alt.LayerChart(layer=layers).properties(
        width="container", height=height, padding=panels.AROUND, view=BARE
    )


@kept
def ticks(
    names: Sequence[str],
    columns: Sequence[str],
    kept: Array,
    grounds: Sequence[Sequence[str]],
    *,
    chosen: int,
    height: int = 330,
) -> alt.LayerChart:
    """A table of ticks and crosses; what each rests on is told on touching it. The chosen row is framed.

    Shapes: kept (name, column), boolean.

    >>> [row["mark"] for row in ticks(["a"], ["u", "v"], np.array([[True, False]]), [["1", "2"]], chosen=0).to_dict()["layer"][0]["data"]["values"]]
    ['✓', '✗']
    """
    n = len(names)
    cells = [
        {
            "x": j - 0.48,
            "x2": j + 0.48,
            "middle": j,
            "y": i - 0.45,
            "y2": i + 0.45,
            "row": i,
            "good": bool(kept[i, j]),
            "mark": "✓" if kept[i, j] else "✗",
            "code": phrase(names[i]),
            "criterion": phrase(columns[j]),
            "rests": phrase(grounds[i][j]),
        }
        for i in range(n)
        for j in range(len(columns))
    ]
    heads = [
        {"x": j, "y": -0.74 - 0.46 * (len(parts) - 1 - line), "text": part}
        for j, name in enumerate(columns)
        for parts in [phrase(name).split(" / ")]
        for line, part in enumerate(parts)
    ]
    told = [alt.Tooltip("code:N"), alt.Tooltip("criterion:N"), alt.Tooltip("rests:N", title="because")]
    ink = json.dumps([phrase(name) for name in names]) + "[datum.value]"
    up = alt.Y(
        "y:Q",
        title=None,
        scale=alt.Scale(domain=[n - 0.5, -1.5], nice=False),
        axis=alt.Axis(
            values=list(range(n)),
            labelExpr=ink,
            grid=False,
            domain=False,
            ticks=False,
            labelPadding=7,
            labelColor=theme.TEXT,
            labelLimit=180,
        ),
    )
    across = alt.X("x:Q", axis=None, scale=alt.Scale(domain=[-0.5, len(columns) - 0.5], nice=False))
    base = alt.Chart(alt.Data(values=cells))
    boxes = base.mark_rect().encode(
        x=across,
        x2="x2:Q",
        y=up,
        y2="y2:Q",
        tooltip=told,
        color=alt.condition("datum.good", alt.value(theme.DIVERGING[6]), alt.value(theme.DIVERGING[4])),
    )
    marks = base.mark_text(fontSize=20).encode(
        x=panels.on(across, "middle:Q"),
        y=panels.on(up, "row:Q"),
        text="mark:N",
        tooltip=told,
        color=alt.condition("datum.good", alt.value(GOOD), alt.value(BAD)),
    )
    frame = (
        alt.Chart(
            alt.Data(values=[{"x": -0.5, "x2": len(columns) - 0.5, "y": chosen - 0.5, "y2": chosen + 0.5}])
        )
        .mark_rect(filled=False, stroke=theme.TEXT, strokeWidth=2)
        .encode(x=across, x2="x2:Q", y=up, y2="y2:Q")
    )
    above = (
        alt.Chart(alt.Data(values=heads))
        .mark_text(fontSize=13, color=theme.TEXT, limit=alt.ExprRef(f"width / {len(columns)} + 14"))
        .encode(x=across, y=up, text="text:N")
    )
    return alt.LayerChart(layer=[boxes, marks, frame, above]).properties(
        width="container", height=height, padding=panels.AROUND, view=BARE
    )


def _true(wide: tuple[float, float], high: tuple[float, float]) -> tuple[alt.X, alt.Y]:
    """Axes without marks on which one unit is as long across as up, so that a circle is one; in the middle, from above."""
    spans = wide[1] - wide[0], high[1] - high[0]
    unit = f"min(width / {spans[0]:.4f}, height / {spans[1]:.4f})"
    sides = [alt.ExprRef(f"width / 2 {sign} {spans[0] / 2:.4f} * {unit}") for sign in "-+"]
    return (
        alt.X("x:Q", axis=None, scale=alt.Scale(domain=list(wide), range=sides, nice=False, zero=False)),
        alt.Y(
            "y:Q",
            axis=None,
            scale=alt.Scale(
                domain=list(high), range=[alt.ExprRef(f"{spans[1]:.4f} * {unit}"), 0], nice=False, zero=False
            ),
        ),
    )


@kept
def clocks(angles: Array, rim: Array, names: Sequence[str], *, height: int = 270) -> alt.LayerChart:
    """A clock for each pair of dimensions: the hand stands at the chosen position, dots on the rim are all positions.

    Shapes: angles (pair,), rim (pos, pair), radians clockwise from the top.

    >>> hands = clocks(np.array([0.0, np.pi / 2]), np.zeros((3, 2)), ["a", "b"]).to_dict()["layer"][2]["data"]["values"]
    >>> [(round(row["x2"], 6), round(row["y2"], 6)) for row in hands]
    [(0.4, 0.85), (3.85, 0.0)]
    """
    middles = [2.6 * clock + 0.4 for clock in range(len(names))]
    around = np.linspace(0, 2 * np.pi, 73)
    rings = [
        {"x": middle + float(np.sin(a)), "y": float(np.cos(a)), "clock": clock, "order": i}
        for clock, middle in enumerate(middles)
        for i, a in enumerate(around)
    ]
    dots = [
        {
            "x": middle + float(np.sin(a)),
            "y": float(np.cos(a)),
            "position": t,
            "turned": f"{np.degrees(a) % 360:.3g}°",
        }
        for clock, middle in enumerate(middles)
        for t, a in enumerate(rim[:, clock])
    ]
    hands = [
        {"x": middle, "y": 0.0, "x2": middle + 0.85 * float(np.sin(a)), "y2": 0.85 * float(np.cos(a))}
        for middle, a in zip(middles, angles, strict=True)
    ]
    told = [
        {"x": middle, "y": -1.12, "text": phrase(name).replace(" ", "\n", 1)}
        for middle, name in zip(middles, names, strict=True)
    ]
    across, up = _true((-0.8, middles[-1] + 1.2), (-1.95, 1.1))
    ring, rims, hand, said = (
        alt.Chart(alt.Data(values=rows)).encode(x=across, y=up) for rows in (rings, dots, hands, told)
    )
    layers = [
        ring.mark_line(strokeWidth=1.5, color=theme.HATCH).encode(detail="clock:N", order="order:Q"),
        rims.mark_circle(size=50, opacity=1, color=theme.SEQUENTIAL[4]).encode(
            tooltip=[alt.Tooltip("position:Q"), alt.Tooltip("turned:N", title="hand at")]
        ),
        hand.mark_rule(strokeWidth=4, strokeCap="round", color=GOOD).encode(x2="x2:Q", y2="y2:Q"),
        hand.mark_circle(size=64, opacity=1, color=GOOD),
        said.mark_text(baseline="top", dy=3, fontSize=14, color=theme.TEXT, lineBreak="\n").encode(
            text="text:N"
        ),
    ]
    return alt.LayerChart(layer=layers).properties(
        width="container", height=height, padding=panels.AROUND, view=BARE
    )


def _outside(places: Array, i: int) -> tuple[float, float]:
    """Which way the number of place i stands clear of the thread: across it, away from the places around; a unit vector.

    >>> _outside(np.array([[-1.0, 0.0], [0.0, 1.0], [1.0, 0.0]]), 1)
    (0.0, 1.0)
    """
    along = places[min(i + 1, len(places) - 1)] - places[max(0, i - 1)]
    size = float(np.hypot(*along))
    if size < 1e-9:
        return 0.0, 1.0
    across = np.array([-along[1], along[0]]) / size
    away = across if across @ (places[i] - places[max(0, i - 6) : i + 7].mean(0)) >= 0 else -across
    return float(away[0]) + 0.0, float(away[1]) + 0.0


@kept
def paths(tables: Mapping[str, Array], *, height: int = 330) -> alt.LayerChart:
    """Position vectors in the plane that shows them best, joined in order; each tenth position has its number.

    Shapes: each table's places (pos, 2).

    >>> drawn = paths({"learned": np.eye(11)[:, :2], "wave": np.eye(11)[:, :2]}).to_dict()["layer"]
    >>> len(drawn[1]["data"]["values"]), [row["text"] for row in drawn[2]["data"]["values"]]
    (22, ['0', '10', '0', '10'])
    """
    wide, apart = 1.5, 0.35
    dots, numbers, heads = [], [], []
    for panel, (name, places) in enumerate(tables.items()):
        low, span, n = places.min(0), np.ptp(places, 0), len(places)
        scale = max(float(span[0]) / wide, float(span[1])) or 1.0
        seen = (places - low - span / 2) / scale + np.array([panel * (wide + apart) + wide / 2, 0.5])
        heads.append({"x": panel * (wide + apart), "y": 1.0, "text": phrase(name)})
        dots += [
            {
                "x": float(x),
                "y": float(y),
                "position": i,
                "shade": round(6 * i / max(n - 1, 1)),
                "table": name,
            }
            for i, (x, y) in enumerate(seen)
        ]
        numbers += [
            {
                "x": float(seen[i, 0]),
                "y": float(seen[i, 1]),
                "text": str(i),
                "dx": 16 * away[0],
                "dy": -14 * away[1],
            }
            for i in range(0, n, 10)
            for away in [_outside(seen, i)]
        ]
    across, up = _true((-0.12, len(tables) * (wide + apart) - apart + 0.12), (-0.12, 1.24))
    base = alt.Chart(alt.Data(values=dots)).encode(x=across, y=up)
    hue = alt.Color(
        "shade:O", legend=None, scale=alt.Scale(domain=list(range(7)), range=theme.SEQUENTIAL[3:])
    )
    told = (
        alt.Chart(alt.Data(values=numbers))
        .mark_text(fontSize=13, color=theme.TEXT, dx=alt.ExprRef("datum.dx"), dy=alt.ExprRef("datum.dy"))
        .encode(x=across, y=up, text="text:N")
    )
    titles = (
        alt.Chart(alt.Data(values=heads))
        .mark_text(align="left", baseline="bottom", dy=-26, fontSize=14, color=theme.TEXT)
        .encode(x=across, y=up, text="text:N")
    )
    return alt.LayerChart(
        layer=[
            base.mark_line(strokeWidth=1.5, color=theme.LINE).encode(detail="table:N", order="position:Q"),
            base.mark_circle(size=alt.ExprRef("clamp(width / 14, 16, 64)"), opacity=1).encode(
                color=hue, tooltip=[alt.Tooltip("position:Q")]
            ),
            told,
            titles,
        ]
    ).properties(width="container", height=height, padding=panels.AROUND, view=BARE)
