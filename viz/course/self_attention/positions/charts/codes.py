"""How a model learns where a word stands: a word said twice, two first ideas, criteria with ticks.

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
from viz.charts.parts import panels, vega
from viz.charts.parts.figures import draw_once
from viz.labels import phrase

Array = np.ndarray[Any, np.dtype[Any]]


@draw_once
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
        scale=vega.exact_scale(-0.3, 1.5 * last),
        axis=vega.bare_axis(
            values=list(range(last + 1)), labelExpr="datum.value ? datum.label : 'input'", format="d"
        ),
    )
    up = alt.Y(
        "y:Q",
        title="distance / length",
        scale=vega.exact_scale(-0.05 * top, 1.16 * top),
        axis=alt.Axis(tickCount=4, format="~g", domain=False, ticks=False, labelPadding=7),
    )
    base = vega.rows(rows).encode(x=across, y=up, color=hue)
    told = vega.tooltip("line:N", ("x:Q", "after layer"), ("y:Q", "distance / length", ".3f"))
    named = (
        vega.rows(ends)
        .mark_text(align="left", baseline="bottom", dx=11, dy=2, fontSize=13, lineBreak="\n")
        .encode(x=across, y=up, text="text:N", color=hue)
    )
    return vega.frame(
        base.mark_line(strokeWidth=2.4),
        base.mark_circle(size=50, opacity=1).encode(tooltip=told),
        named,
        height=height,
    )


@draw_once
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
    whole = panels.EXTENT
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
    across = alt.X("x:Q", axis=None, scale=vega.exact_scale(-0.03, 1.03))
    up = panels.left_axis(left, grid=False, size=14, colour=theme.TEXT)
    lines = vega.rows(grid).encode(x=across)
    numbers = lines.mark_text(baseline="top", dy=4, fontSize=13, color=theme.MUTED).encode(
        y=panels.with_field(up, "y2:Q"), text="text:N"
    )
    way = vega.rows(ways).mark_rule(strokeWidth=2, color=theme.HATCH).encode(x=across, x2="x2:Q", y=up)
    drawn = (
        vega.rows(dots)
        .mark_circle(size=80, opacity=1)
        .encode(
            x=across,
            y=up,
            color=alt.Color(
                "row:N", legend=None, scale=alt.Scale(domain=["0", "1"], range=theme.CATEGORICAL[:2])
            ),
            tooltip=vega.tooltip("sentence:N", "word:Q", ("gets:N", "gets the number")),
        )
    )
    layers: list[alt.Chart] = [
        lines.mark_rule(strokeWidth=1, color=theme.LINE).encode(y=up, y2="y2:Q"),
        way,
        drawn,
        numbers,
        panels.edge_labels(heads, size=14),
    ]
    if covered:
        layers.append(
            vega.rows([{"x": 0.5, "y": 0.31 * whole}])
            .mark_text(text="?", fontSize=26, color=theme.MUTED)
            .encode(x=across, y=up)
        )
    return vega.frame(*layers, height=height)


@draw_once
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
    told = vega.tooltip("code:N", "criterion:N", ("rests:N", "because"))
    ink = json.dumps([phrase(name) for name in names]) + "[datum.value]"
    up = alt.Y(
        "y:Q",
        title=None,
        scale=vega.exact_scale(n - 0.5, -1.5),
        axis=vega.bare_axis(values=list(range(n)), labelExpr=ink, labelColor=theme.TEXT, labelLimit=180),
    )
    across = alt.X("x:Q", axis=None, scale=vega.exact_scale(-0.5, len(columns) - 0.5))
    base = vega.rows(cells)
    boxes = base.mark_rect().encode(
        x=across,
        x2="x2:Q",
        y=up,
        y2="y2:Q",
        tooltip=told,
        color=alt.condition("datum.good", alt.value(theme.DIVERGING[6]), alt.value(theme.DIVERGING[4])),
    )
    marks = base.mark_text(fontSize=20).encode(
        x=panels.with_field(across, "middle:Q"),
        y=panels.with_field(up, "row:Q"),
        text="mark:N",
        tooltip=told,
        color=alt.condition("datum.good", alt.value(theme.PRIMARY), alt.value(theme.CATEGORICAL[1])),
    )
    frame = (
        vega.rows([{"x": -0.5, "x2": len(columns) - 0.5, "y": chosen - 0.5, "y2": chosen + 0.5}])
        .mark_rect(filled=False, stroke=theme.TEXT, strokeWidth=2)
        .encode(x=across, x2="x2:Q", y=up, y2="y2:Q")
    )
    above = (
        vega.rows(heads)
        .mark_text(fontSize=13, color=theme.TEXT, limit=alt.ExprRef(f"width / {len(columns)} + 14"))
        .encode(x=across, y=up, text="text:N")
    )
    return vega.frame(boxes, marks, frame, above, height=height)
