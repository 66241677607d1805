"""Two or more numbers of a row as lying bars, one below the other, each with its number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np

from viz import theme
from viz.charts.parts import vega
from viz.charts.parts.figures import draw_once
from viz.labels import phrase

Array = np.ndarray[Any, np.dtype[Any]]


@draw_once
def bar_pairs(
    values: Array,
    rows: Sequence[str],
    columns: Sequence[str],
    title: str,
    *,
    places: int = 2,
    least: float = 0.0,
    covered: bool = False,
    height: int = 0,
) -> alt.TopLevelMixin:
    """One group of bars a row, one bar a column in its colour; no number stands behind a bar below `least`. `covered`: a question mark each.

    Shapes: values (row, column), not negative.

    >>> chart = bar_pairs(np.array([[0.75, 0.7]]), ["1 head"], ["closed form", "measured"], "lost").to_dict()
    >>> [row["said"] for row in chart["data"]["values"]]
    ['0.75', '0.70']
    """
    if (values < 0).any():
        raise ValueError(f"the least value is {values.min():g}: bars to one side only")
    shown = np.zeros_like(values) if covered else values
    rows, columns = [phrase(row) for row in rows], [phrase(column) for column in columns]
    bars = [
        {
            "place": i,
            "row": row,
            "column": column,
            "value": float(shown[i, j]),
            "told": f"{row}, {column}: {'?' if covered else f'{values[i, j]:,.{max(places, 3)}f}'}",
            "said": "?" if covered else f"{values[i, j]:,.{places}f}" if values[i, j] >= least else "",
        }
        for i, row in enumerate(rows)
        for j, column in enumerate(columns)
    ]
    called = list(dict.fromkeys(columns))
    base = vega.Chart().encode(
        x=alt.X("value:Q", axis=None, scale=vega.exact_scale(0, 1.22 * (float(shown.max(initial=0)) or 1.0))),
        y=alt.Y(
            "place:O",
            title=None,
            scale=alt.Scale(paddingInner=0.25, paddingOuter=0.1),
            axis=alt.Axis(
                labelExpr=vega.name_expression(rows),
                labelPadding=8,
                labelLimit=160,
                ticks=False,
                domainColor=theme.LINE,
            ),
        ),
        yOffset=alt.YOffset("column:N", sort=called, scale=alt.Scale(paddingInner=0.08)),
        tooltip=vega.tooltip(("told:N", " ")),
    )
    key = vega.legend(
        orient="bottom",
        symbolType="square",
        symbolStrokeWidth=0,
        columns=alt.ExprRef(f"width < {9 * sum(map(len, called)) + 40 * len(called)} ? 1 : {len(called)}"),
        labelLimit=460,
        offset=6,
    )
    hue = vega.colour_channel("column:N", vega.assign_colours(called), key, sort=called)
    said = base.mark_text(fontSize=13, align="left", dx=5, color=theme.TEXT).encode(text="said:N")
    heading = alt.TitleParams(
        phrase(title), font=theme.FONT, fontSize=14, fontWeight="normal", color=theme.TEXT, offset=8
    )
    return alt.layer(base.mark_bar().encode(color=hue), said, data=vega.Rows(values=bars)).properties(
        title=heading,
        view=vega.BARE,
        height=height or 94 + 26 * len(rows) * len(called),
        padding={"left": 4, "right": 4, "top": 4, "bottom": 2},
    )
