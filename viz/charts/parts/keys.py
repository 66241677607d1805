"""The key of a chart's lines and dots, in which each name has the mark that is drawn for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import altair as alt

LINE = "M-1.4,-0.2h2.8v0.4h-2.8Z"
DOTTED = "M-1.4,-0.2h0.6v0.4h-0.6ZM-0.3,-0.2h0.6v0.4h-0.6ZM0.8,-0.2h0.6v0.4h-0.6Z"
DOT = "circle"
AXIS = 80
ROOM = f"isFinite(containerSize()[0]) ? containerSize()[0] - {AXIS} : width"
"""The pixels for a key, as an expression: its chart's place less an axis. The width of the view is known only once the key is laid out, and no room is made for rows that come then."""


def colour_and_shape(
    field: str,
    names: Sequence[str],
    colours: Sequence[str],
    marks: Sequence[str],
    *,
    orient: Literal["top", "bottom"] = "top",
    axis: int = AXIS,
) -> tuple[alt.Color, alt.Shape]:
    """Return colour and shape of one field with a legend that both share; `marks` are LINE, DOTTED or DOT, one a name. The legend breaks into rows where it must; `axis` are the pixels beside it.

    >>> colour, shape = colour_and_shape("name:N", ["a", "b"], ["#111111", "#222222"], [LINE, DOT])
    >>> colour.to_dict()["scale"]["domain"], shape.to_dict()["scale"]["range"][1]
    (['a', 'b'], 'circle')
    """
    wide, room = 11 * max(map(len, names), default=0) + 40, f"({ROOM}) - {max(0, axis - AXIS)}"
    legend = alt.Legend(
        title=None,
        orient=orient,
        direction="horizontal",
        columns=alt.ExprRef(f"ceil({len(names)} / ceil({len(names)} / max(1, floor(({room}) / {wide}))))"),
        symbolSize=90,
        symbolOpacity=1,
        symbolStrokeWidth=0,
        columnPadding=18,
        offset=8,
        labelLimit=0,
    )
    return (
        alt.Color(field, scale=alt.Scale(domain=list(names), range=list(colours)), legend=legend),
        alt.Shape(field, scale=alt.Scale(domain=list(names), range=list(marks)), legend=legend),
    )
