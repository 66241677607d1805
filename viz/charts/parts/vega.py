"""The common parts of Vega-Lite charts: rows, scales, quiet axes, names at the left, colours, tooltips, the frame."""

from __future__ import annotations

import json
import operator
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import altair as alt

from viz import theme

Layers = alt.LayerChart | alt.FacetChart
"""The result of `alt.layer`: altair's own types leave open whether it has facets."""
AROUND = {"top": 4, "left": 4, "right": 6, "bottom": 4}
BARE = alt.ViewBackground(strokeWidth=0)


class Rows(alt.Data):
    """The rows of a chart, which nobody changes: they are not copied for each layer, nor is each number asked whether it is a part of a chart.

    >>> Rows(values=[{"x": 1, "y": 0.5}]).to_dict()
    {'values': [{'x': 1, 'y': 0.5}]}
    """

    def to_dict(self, *_: Any, **__: Any) -> dict[str, Any]:
        """Return them as JSON has them, numbers of NumPy as Python's."""
        return {"values": json.loads(json.dumps(self.values, default=operator.methodcaller("item")))}

    def __deepcopy__(self, _: Any = None) -> Rows:
        return self


class Chart(alt.Chart):
    """Altair's chart, whose channels may be named by a text and still cost nothing.

    For each `x="length:Q"` Altair looks for the class of the channel among the hashed schemas of all its classes: 5 ms a channel,
    a tenth of a second for a chart of several layers. Here the class is found by the channel's name.

    >>> Chart().mark_rule().encode(x="length:Q", x2=alt.value(0), tooltip=["name:N"]).to_dict()["encoding"]["x"]
    {'field': 'length', 'type': 'quantitative'}
    """

    def encode(self, *args: Any, **channels: Any) -> Chart:
        """Return a copy of this chart with these channels."""
        return super().encode(*args, **{name: _channel(name, said) for name, said in channels.items()})

    def copy(self, deep: bool | Iterable[Any] = True, ignore: list[str] | None = None) -> Chart:
        """Return a copy; a deep one, as Altair takes two of each layer, shares the parts of this chart, which nobody changes."""
        return super().copy(deep is not True and deep, ignore)


def _channel(name: str, value: Any) -> Any:
    """Return the channel of this name for a field, a value or a condition; a finished channel, or one without content, is returned unchanged."""
    if isinstance(value, list | tuple):
        return [_channel(name, each) for each in value]
    kind = name[0].upper() + name[1:]
    if isinstance(value, str):
        return getattr(alt, kind)(value)
    if isinstance(value, dict):
        return getattr(alt, f"{kind}Value" if "value" in value else kind)(**value)
    return value


def rows(records: Iterable[Mapping[str, Any]], **channels: Any) -> Chart:
    """Return a chart of these rows, still without marks, with the channels that their fields set.

    >>> rows([{"x": 1}], x="x:Q").mark_rule().to_dict()["data"]["values"]
    [{'x': 1}]
    """
    return Chart(Rows(values=list(records))).encode(**channels)


def bare_axis(**more: Any) -> alt.Axis:
    """Return an axis of labels alone."""
    plain: dict[str, Any] = {"grid": False, "domain": False, "ticks": False, "labelPadding": 7}
    return alt.Axis(**plain | more)


def exact_scale(low: float, high: float, **more: Any) -> alt.Scale:
    """Return a scale between exactly these ends, not rounded."""
    return alt.Scale(domain=[low, high], nice=False, **more)


def hidden_axes(
    across: Sequence[float], down: Sequence[float], x: str = "x:Q", y: str = "y:Q", **more: Any
) -> tuple[alt.X, alt.Y]:
    """Return axes without ticks: from the left edge to the right one, from the upper to the lower; `more` is for the horizontal scale."""
    return alt.X(x, axis=None, scale=exact_scale(*across, **more)), alt.Y(
        y, axis=None, scale=exact_scale(*down)
    )


def tooltip(*fields: str | tuple[str, ...]) -> list[alt.Tooltip]:
    """Return the tooltip of a mark from fields, each one a name or (name, title or "", format).

    >>> [tip.to_dict()["title"] for tip in tooltip("a:N", ("x:Q", "layer")) if "title" in tip.to_dict()]
    ['layer']
    """
    each = [(*((field,) if isinstance(field, str) else field), "", "") for field in fields]
    return [
        alt.Tooltip(field, title=name or alt.Undefined, format=form or alt.Undefined)
        for field, name, form, *_ in each
    ]


def label_expression(names: Sequence[Any] | Mapping[float, str]) -> str:
    """Return a Vega expression for the label of an axis position: `names` by position from 0, or by the positions that are its keys.

    The names are JSON in it, so that none can end its quotes.

    >>> label_expression(["a", "b"]), label_expression({0.5: "a"})
    ('["a", "b"][datum.value]', '["a"][indexof([0.5], datum.value)]')
    """
    if isinstance(names, Mapping):
        return f"{json.dumps(list(names.values()))}[indexof({json.dumps(list(names))}, datum.value)]"
    return f"{json.dumps(list(names))}[datum.value]"


def row_axis(
    names: Sequence[Any],
    *,
    spacing: tuple[float, float] | None = None,
    scale: alt.Scale | None = None,
    **more: Any,
) -> alt.Y:
    """Return the vertical axis of rows by the field `place`, each row labelled at the left. `spacing` is (between rows, around them) as shares of a row, or `scale` replaces it; `more` are arguments of the axis.

    >>> row_axis(["one", "two"]).to_dict()["axis"]["labelExpr"]
    '["one", "two"][datum.value]'
    """
    plain: dict[str, Any] = {
        "labelColor": theme.TEXT,
        "labelPadding": 8,
        "labelFontSize": 14,
        "domain": False,
        "ticks": False,
    }
    if spacing:
        scale = alt.Scale(paddingInner=spacing[0], paddingOuter=spacing[1])
    found = alt.Y("place:O", title=None, axis=alt.Axis(labelExpr=label_expression(names), **plain | more))
    return found.scale(scale) if scale else found


def raw_channel(field: str = "colour:N", channel: Any = alt.Color) -> Any:
    """Return a channel whose field holds the drawn value itself: a colour, a width."""
    return channel(field, scale=None)


def colour_channel(
    field: str, colours: Mapping[Any, str], legend: alt.Legend | None = None, **more: Any
) -> alt.Color:
    """Return the colour channel in which each name of `field` has its colour in `colours`."""
    scale = alt.Scale(domain=list(colours), range=list(colours.values()))
    return alt.Color(field, scale=scale, legend=legend, **more)


def assign_colours(names: Sequence[str]) -> dict[str, str]:
    """Return the names with the categorical colours, one after the other."""
    return {name: theme.CATEGORICAL[i % len(theme.CATEGORICAL)] for i, name in enumerate(names)}


def legend(**more: Any) -> alt.Legend:
    """Return a legend without a title, above the view by default."""
    plain: dict[str, Any] = {"title": None, "orient": "top", "direction": "horizontal"}
    return alt.Legend(**plain | more)


def reference_line(axis: alt.X, place: float) -> alt.Chart:
    """Return a dotted vertical line at a position of the axis."""
    field = str(axis.shorthand).split(":")[0]
    return rows([{field: place}]).mark_rule(strokeDash=[2, 3], color=theme.MUTED).encode(x=axis)


def question_mark(size: int = 30, colour: str = theme.MUTED) -> alt.Chart:
    """Return a question mark in the middle, in place of a drawing that comes after the guess."""
    middle = {"x": alt.value(alt.ExprRef("width / 2")), "y": alt.value(alt.ExprRef("height / 2"))}
    return rows([{}], **middle).mark_text(text="?", fontSize=size, color=colour)


def frame(
    *layers: alt.Chart, height: float, data: Sequence[Any] | None = None, **around: float
) -> alt.LayerChart:
    """Return the layers over one another as one view, as wide as its place; `around` widens the usual margin, `data` are rows that all layers share."""
    shared: dict[str, Any] = {} if data is None else {"data": Rows(values=list(data))}
    return alt.LayerChart(layer=layers, **shared).properties(
        width="container", height=height, padding=AROUND | around, view=BARE
    )


def row_height(rows: float, least: float, room: float, most: float = 60) -> float:
    """Return the pixels of a row: its share of `room`, at least `least` (a picture may be higher than its room), at most `most`.

    >>> row_height(4, 26, 0), row_height(8, 26, 320), row_height(2, 26, 320)
    (26, 40.0, 60)
    """
    return min(most, max(least, room / max(rows, 1)))
