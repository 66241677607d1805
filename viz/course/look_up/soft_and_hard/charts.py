"""Estimates with their error bars."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np

from viz import theme
from viz.charts.parts import panels, vega
from viz.charts.parts.figures import draw_once
from viz.labels import phrase
from viz.number_text import true_minus

Array = np.ndarray[Any, np.dtype[Any]]
TICK = "M-0.13,-1H0.13V1H-0.13Z"


@draw_once
def guesses(
    names: Sequence[str],
    exact: Array,
    rows: Sequence[tuple[str, Array, Array]],
    *,
    columns: int = 2,
    height: int = 380,
) -> alt.LayerChart:
    """Draw for each name, one row each, its exact number as a tick and the estimates of it as dots with bars of two standard errors to each side.

    rows: (name of the estimate, estimate, standard error), each (name,). columns: of the legend. Shapes: exact (name,).
    The horizontal axis is the change of the reward by a patch's score.

    >>> chart = guesses(["A1"], np.array([0.2]), [("plain", np.array([0.1]), np.array([0.05]))]).to_dict()
    >>> [(row["low"], row["high"]) for row in chart["layer"][1]["data"]["values"]], [row["by"] for row in chart["layer"][2]["data"]["values"]]
    ([(0.0, 0.2)], ['plain', 'exact'])
    """
    kinds = {phrase(name): theme.CATEGORICAL[1 + row] for row, (name, _, _) in enumerate(rows)}
    kinds["exact"] = theme.TEXT
    said = [phrase(name) for name in names]

    def dot(place: int, value: float, size: int, told: str) -> dict[str, Any]:
        return {"x": float(value), "size": size, "of": said[place], "said": true_minus(told)}

    bars, dots = [], []
    for row, (kind, value, error) in enumerate(rows):
        for place, (middle, scatter) in enumerate(zip(value, error, strict=True)):
            at = {"y": place + 0.2 * (row - (len(rows) - 1) / 2), "by": phrase(kind)}
            bars.append(at | {"low": float(middle - 2 * scatter), "high": float(middle + 2 * scatter)})
            dots.append(at | dot(place, middle, 60, f"{middle:.4f} ± {2 * scatter:.4f}"))
    dots += [
        {"y": place, "by": "exact"} | dot(place, value, 460, f"exactly {value:.4f}")
        for place, value in enumerate(exact)
    ]
    ends = [value for row in bars for value in (row["low"], row["high"])] + [*map(float, exact), 0.0]
    room = 0.04 * ((max(ends) - min(ends)) or 1.0)
    across = alt.X(
        "x:Q",
        title=["change of the reward", "by the patch's score"],
        scale=vega.exact_scale(min(ends) - room, max(ends) + room),
        axis=alt.Axis(tickCount=5, format="~g", domain=False, ticks=False, labelPadding=7),
    )
    up = alt.Y(
        "y:Q",
        title=None,
        scale=vega.exact_scale(len(names) - 0.5, -0.5),
        axis=alt.Axis(
            values=list(range(len(names))),
            labelExpr=vega.label_expression(said),
            domain=False,
            ticks=False,
            labelPadding=8,
            labelLimit=170,
            labelOverlap=False,
        ),
    )
    above = alt.Legend(orient="top", title=None, symbolSize=100, symbolOpacity=1, columns=columns)
    hue = vega.colour_channel("by:N", kinds, above)
    form = alt.Shape("by:N", scale=alt.Scale(domain=list(kinds), range=["circle"] * len(rows) + [TICK]))
    return vega.frame(
        vega.rows([{"x": 0}]).mark_rule(color=theme.MUTED).encode(x=across),
        vega.rows(bars)
        .mark_rule(strokeWidth=2)
        .encode(x=panels.with_field(across, "low:Q"), x2="high:Q", y=up, color=hue),
        vega.rows(dots)
        .mark_point(filled=True, opacity=1)
        .encode(
            x=across,
            y=up,
            color=hue,
            shape=form,
            size=alt.Size("size:Q", scale=None),
            tooltip=vega.tooltip(("of:N", "patch"), "by:N", ("said:N", "change")),
        ),
        height=height,
    )
