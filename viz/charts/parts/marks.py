"""What nearly every Vega-Lite chart says: rows as marks, a plane without axes, names at the left, kinds by colour, tooltips, the frame."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import altair as alt

from viz import theme
from viz.charts.parts import panels


def marks(rows: Iterable[Mapping[str, Any]], **channels: Any) -> alt.Chart:
    """Rows of a layer, and what their fields set.

    >>> marks([{"x": 1}], x="x:Q").mark_rule().to_dict()["data"]["values"]
    [{'x': 1}]
    """
    return alt.Chart(alt.Data(values=list(rows))).encode(**channels)


def span(low: float, high: float, **more: Any) -> alt.Scale:
    """A scale from one value to another, as they are."""
    return alt.Scale(domain=[low, high], nice=False, **more)


def plane(
    across: Sequence[float], down: Sequence[float], x: str = "x:Q", y: str = "y:Q", **more: Any
) -> tuple[alt.X, alt.Y]:
    """Axes without ticks: from the left edge to the right one, from the upper to the lower; `more` is the scale's across."""
    return alt.X(x, axis=None, scale=span(*across, **more)), alt.Y(y, axis=None, scale=span(*down))


def named(
    names: Sequence[Any], *, size: int = 14, limit: int = 220, scale: alt.Scale | None = None, **more: Any
) -> alt.Y:
    """Rows by their "place", each named at the left; a name may be a list of lines, `more` is the axis's.

    >>> named(["one", "two"]).to_dict()["axis"]["labelExpr"]
    '["one", "two"][datum.value]'
    """
    axis = alt.Axis(
        labelExpr=f"{json.dumps(list(names))}[datum.value]",
        labelFontSize=size,
        labelColor=theme.TEXT,
        labelPadding=8,
        labelLimit=limit,
        ticks=False,
        domain=False,
        **more,
    )
    found = alt.Y("place:O", title=None, axis=axis)
    return found.scale(scale) if scale else found


def kinds(field: str, colours: Mapping[Any, str], orient: str = "", **more: Any) -> alt.Color:
    """A colour for each kind; with `orient` a key in one line above or below, and `more` is that key's."""
    key = alt.Legend(title=None, orient=orient, direction="horizontal", **more) if orient else None  # type: ignore[arg-type]
    return alt.Color(field, scale=alt.Scale(domain=list(colours), range=list(colours.values())), legend=key)


def tips(titles: Mapping[str, str], **formats: str) -> list[alt.Tooltip]:
    """What the pointer tells: each field with its title ("": its own name), and the formats of some.

    >>> tips({"token:N": "", "p:Q": "P"}, p=".2%")[1].to_dict()
    {'field': 'p', 'format': '.2%', 'title': 'P', 'type': 'quantitative'}
    """
    made = []
    for field, title in titles.items():
        more: dict[str, Any] = {"title": title} if title else {}
        if (name := field.partition(":")[0]) in formats:
            more["format"] = formats[name]
        made.append(alt.Tooltip(field, **more))
    return made


def own(field: str, channel: Any = alt.Color) -> Any:
    """A channel whose field holds what is drawn: a colour, a width."""
    return channel(field, scale=None)


def question(size: int = 30, colour: str = theme.MUTED) -> alt.Chart:
    """A question mark in the middle: what is drawn here comes after the guess."""
    middle = {"x": alt.value(alt.ExprRef("width / 2")), "y": alt.value(alt.ExprRef("height / 2"))}
    return marks([{}], **middle).mark_text(text="?", fontSize=size, color=colour)


def framed(
    *layers: alt.Chart, height: float, data: Sequence[Any] | None = None, **around: float
) -> panels.Layers:
    """The layers as a picture as wide as its place; `around` widens the usual margin, `data` are rows that all layers share."""
    shared = {} if data is None else {"data": alt.Data(values=list(data))}
    return alt.layer(*layers, **shared).properties(
        width="container", height=height, padding=panels.AROUND | around, view=panels.BARE
    )
