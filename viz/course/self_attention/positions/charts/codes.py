"""Two simple ways to number the positions of a sentence: as a fraction of its length, and counted.

Numbers and words in, an Altair chart out.
"""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np

from viz import theme
from viz.charts.parts import panels, vega
from viz.charts.parts.figures import draw_once

Array = np.ndarray[Any, np.dtype[Any]]


@draw_once
def ideas(short: int, long: int, *, covered: bool = False, height: int = 300) -> alt.LayerChart:
    """Draw two sentences as rows of dots, one for each word, at the number that the word gets: above a fraction of the way, below its count.

    `short` and `long` are their numbers of words. `covered` leaves out the fractions of the long sentence.

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
