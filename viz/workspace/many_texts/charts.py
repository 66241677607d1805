"""All texts as points on one scale, in a row for each group."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt

from viz import theme
from viz.charts.parts import vega
from viz.charts.parts.figures import draw_once
from viz.labels import phrase, shorten
from viz.number_text import number

PICKED = "picked"
LETTERS = 60
ROW, AXIS, LEAST, MOST = 24, 52, 130, 330
SPREAD = 7
"""Steps between the middle and the edge of a row on which points of near values are drawn, so that they do not hide one another."""


@draw_once
def strip(
    values: Sequence[float],
    groups: Sequence[str],
    names: Sequence[str],
    lines: Sequence[int],
    title: str,
    selected: int | None = None,
) -> alt.LayerChart | alt.FacetChart:
    """Draw a point for each text at its value, in a row for each group; `selected` (a line) in a ring. A click selects the field `line`.

    >>> strip([1.0, 2.0], ["a", "a"], ["one", "two"], [1, 2], "loss").to_dict()["layer"][0]["mark"]["type"]
    'point'
    """
    rows = list(dict.fromkeys(groups))
    points = [
        {
            "value": round(value, 5),
            "place": rows.index(group) + 0.5 + ((3 * at) % SPREAD - SPREAD // 2) / (2 * SPREAD),
            "line": line,
            "text": phrase(shorten(name, LETTERS)),
            "shown": number(value, 3),
            "ring": line == selected,
        }
        for at, (value, group, name, line) in enumerate(zip(values, groups, names, lines, strict=True))
    ]
    ends = [point["value"] for point in points] or [0.0, 1.0]
    room = 0.04 * (max(ends) - min(ends)) or 0.5
    x = alt.X(
        "value:Q",
        title=title,
        scale=vega.exact_scale(min(ends) - room, max(ends) + room),
        axis=alt.Axis(grid=True, domain=False, ticks=False, labelPadding=6, tickCount=6),
    )
    names_of_rows = {at + 0.5: phrase(name) for at, name in enumerate(rows)}
    y = alt.Y(
        "place:Q",
        title=None,
        scale=vega.exact_scale(len(rows), 0),
        axis=vega.bare_axis(
            values=list(names_of_rows),
            labelExpr=vega.label_expression(names_of_rows),
            labelColor=theme.TEXT,
            labelLimit=130,
        )
        if rows != [""]
        else None,
    )
    base = vega.Chart().encode(x=x, y=y, tooltip=vega.tooltip(("text:N", "text"), ("shown:N", title)))
    picks = alt.selection_point(name=PICKED, fields=["line"], on="click", empty=False)
    dots = base.mark_point(
        filled=True, size=84, opacity=0.72, color=theme.CATEGORICAL[0], cursor="pointer"
    ).add_params(picks)
    ring = base.transform_filter("datum.ring").mark_point(
        size=260, strokeWidth=2.5, color=theme.TEXT, filled=False
    )
    height = min(MOST, max(LEAST, AXIS + ROW * len(rows)))
    return vega.frame(dots, ring, height=height, data=points)
