"""Shares as coloured squares with their numbers: numbers and words in, an Altair chart out."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np

from viz import theme
from viz.charts.parts import vega
from viz.charts.parts.figures import draw_once

Array = np.ndarray[Any, np.dtype[Any]]


@draw_once
def squares(
    values: Array,
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    covered: bool = False,
    chosen: tuple[int, int] | None = None,
    height: int = 250,
    low: float = 0.0,
    number: str = "{:.0%}",
) -> alt.TopLevelMixin:
    """Shares from 0 to 1 as coloured squares with their numbers; covered: "?"; `chosen` (row, column) is framed; the colours begin at `low`.

    Shapes: values (row, column).

    >>> squares(np.array([[0.2, 0.8]]), ["A"], ["A", "B"]).to_dict()["layer"][0]["mark"]["type"]
    'rect'
    """
    cells = [
        {
            "row": i,
            "column": j,
            "value": 0.0 if covered else round(float(values[i, j]), 4),
            "said": "?" if covered else number.format(values[i, j]),
            "from": rows[i],
            "to": columns[j],
            "chosen": (i, j) == chosen,
        }
        for i in range(len(rows))
        for j in range(len(columns))
    ]
    base = vega.rows(cells).encode(
        x=alt.X("column:O", title=None, axis=named(columns, orient="top", labelAngle=0)),
        y=alt.Y("row:O", title=None, axis=named(rows)),
        tooltip=vega.tooltip("from:N", "to:N", ("said:N", "share")),
    )
    colour = alt.Color(
        "value:Q",
        scale=alt.Scale(domain=[low, 1], range=theme.SEQUENTIAL, interpolate="rgb", clamp=True),
        legend=None,
    )
    rect = base.mark_rect(stroke=theme.BACKGROUND, strokeWidth=2).encode(color=colour)
    frame = base.transform_filter("datum.chosen").mark_rect(
        filled=False, stroke=theme.CATEGORICAL[1], strokeWidth=3
    )
    said = base.mark_text(fontSize=13 if len(columns) < 6 else 12).encode(
        text="said:N",
        color=alt.condition(
            f"datum.value > {low + (1 - low) * theme.INK_TURNS}",
            alt.value(theme.HIGH_INK),
            alt.value(theme.LOW_INK),
        ),
    )
    return alt.layer(rect, said, frame).properties(view=vega.BARE, height=height)


def named(names: Sequence[str], **more: Any) -> alt.Axis:
    """An axis on which each place has its name."""
    return alt.Axis(
        labelExpr=json.dumps(list(names)) + "[datum.value]",
        domain=False,
        ticks=False,
        labelFontSize=14,
        labelColor=theme.TEXT,
        **more,
    )
