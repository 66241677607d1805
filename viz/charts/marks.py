"""Standard charts of a table: bars, columns, lines, points and cells, each covered by question marks where its numbers are to be guessed first.

A table has its names in its index. What is covered is not in the chart: neither the numbers nor their labels. Bands of `spans` are behind
bars, `rules` and `labels` are over lines.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from textwrap import wrap
from typing import Any, Literal

import altair as alt
import numpy as np
import pandas as pd

from viz import theme
from viz.charts.curves import spread_labels
from viz.charts.parts import keys, vega
from viz.charts.parts.figures import draw_once
from viz.labels import percent, phrase
from viz.languages import _, mark, write_number
from viz.number_text import true_minus

COVER = "?"
PICKED = "picked"
"""The selection of a chart that is clickable."""
END_LETTERS = 15
"""Letters of a line's name in one line beside its end."""
NARROW = 400
"""Pixels below which there is no room for long names beside the ends of lines: they are above them."""
MANY = 40
"""Numbers of a line from which on it has no dots."""
TITLE = 30
"""Letters of the title of an axis in one line."""
LETTERS = 24
"""Letters of a name in one line: a phone has no room for more beside the bars."""
SIDES = (("align", "'right'", "'left'"), ("dx", "-5", "5"))
"""The place of a label at the end of a bar below 0, and of one above."""
SHARES = [0, 0.25, 0.5, 0.75, 1]
"""Ticks of an axis of shares. Every second one is left out where labels have no room, and 0% and 100% stay: without them Vega would lay out smaller margins."""
Array = np.ndarray[Any, np.dtype[Any]]
Scale = Literal["linear", "log", "log2", "symlog"]
"""Symlog has a place for 0, too: that of a number is log(1 + number)."""
Labels = str | Callable[[float], str] | Sequence[str]
"""A format for the numbers, a function of a module that writes one, or a label for each of them."""


@draw_once
def bars(
    values: pd.Series | pd.DataFrame,
    labels: Labels = "{:,}",
    *,
    title: str = "",
    hues: Sequence[int | str] = (),
    highlighted: Collection[str] = (),
    end: float | None = None,
    level: float | None = None,
    covered: bool = False,
    stacked: bool = False,
    background: Sequence[alt.Chart] = (),
    kinds: Sequence[str] = (),
    clickable: bool = False,
    row: float = 0,
) -> vega.Layers:
    """Return horizontal bars from 0 with their names at the left and a label at the end of each; of a table each row is a group, each column a colour.

    A value that is not a number is covered. hues: the colour of each row, or its number, else a second one below 0. highlighted: the names of rows,
    or of columns, before a pale background.
    end: the end of the scale, else the largest value. level: a dashed line. stacked: the bars of a row one after the other, their sum at the end.
    background: bands of `spans`. kinds: the name of each row's colour in a legend; a highlighted bar has a frame then. clickable: a click on a bar
    selects its `name` as PICKED. row: the pixels of a row.

    >>> [bar["label"] for bar in bars(pd.Series({"BERT": 1100, "GPT": None})).to_dict()["data"]["values"]]
    ['1,100.0', '?']
    """
    names = [
        [part for line in str(name).split("\n") for part in wrap(phrase(line), LETTERS) or [""]]
        for name in values.index
    ]
    groups = [phrase(str(name)) for name in values.columns] if isinstance(values, pd.DataFrame) else []
    rows = _bar_rows(values, groups, labels, covered)
    front = [place for place, name in enumerate(values.index) if name in highlighted]
    for bar in [] if groups else rows:
        hue = hues[bar["place"]] if hues else int(bar["value"] < 0)
        hue = hue if isinstance(hue, str) else theme.CATEGORICAL[hue]
        if kinds:
            bar |= {"kind": kinds[bar["place"]], "highlighted": bar["place"] in front}
        bar["colour"] = theme.SEQUENTIAL[3] if front and bar["place"] not in front and not kinds else hue
    n = max(1, len(groups))
    totals = _bar_rows(pd.DataFrame(values).sum(axis=1), [], labels, covered) if stacked else []
    ends = [0.0, *(bar["value"] for bar in totals or rows)]
    low, high = min(ends), max([end or 0.0, *ends]) or 1.0
    lines, room = (
        max(map(len, names), default=1),
        12 + 12 * max((len(bar["label"]) for bar in totals or rows), default=0),
    )
    more: dict[str, Any] = {}
    if front:
        more["labelFontWeight"] = _bold(front)
    if lines > 1:
        more["labelOffset"] = alt.expr(f"-9 * ({[len(each) - 1 for each in names]}[datum.value])")
    side = 1 if stacked else n
    pixels = row or (12 + 26 * side + 18 * (lines - 1))
    away: dict[str, Any] = {"align": "left", "dx": 5}
    if low < 0:
        away = {name: alt.expr(f"datum.value < 0 ? {first} : {second}") for name, first, second in SIDES}
    hue = _group_colours(groups, highlighted=highlighted) if groups else vega.raw_channel()
    if kinds:
        legend = vega.legend(
            orient="bottom", symbolType="square", symbolStrokeWidth=0, columns=_narrow_columns(set(kinds))
        )
        hue = vega.colour_channel(
            "kind:N", dict(zip(kinds, (bar["colour"] for bar in rows), strict=True)), legend
        )
    text = vega.Chart().mark_text(fontSize=min(14, round(0.66 * pixels / side)), color=theme.TEXT, **away)
    span = [f"min({room}, width / 4)" if low < 0 else "0", f"max(width / 2, width - {room})"]
    scale = alt.Scale(domain=[low, high], nice=False, range=[alt.ExprRef(edge) for edge in span])
    across: dict[str, Any] = {"shorthand": "value:Q", "axis": None, "scale": scale}
    pointer: dict[str, Any] = {"cursor": "pointer"} if clickable else {}
    bar = vega.Chart().mark_bar(**pointer)
    bar = bar.encode(color=hue, tooltip=_tooltip(groups))
    if kinds:
        edge = alt.condition("datum.highlighted", alt.value(theme.TEXT), alt.value(None))
        bar = bar.encode(stroke=edge, strokeWidth=alt.value(2))
    if clickable:
        bar = bar.add_params(alt.selection_point(name=PICKED, fields=["name"], empty=False))
    layers = [bar, text.encode(text="label:N")]
    if stacked:
        part = bar.transform_calculate(part=f"indexof({json.dumps(groups)}, datum.group)").encode(
            order="part:Q"
        )
        fits = f"datum.value * {span[1]} / {high} < 12 * length(datum.label) ? 0 : 1"
        inside = part.mark_text(fontSize=13, color=theme.BACKGROUND, opacity=alt.expr(fits))
        ends_of_rows = text.encode(x=alt.X(**across, stack=None), text="label:N")
        ends_of_rows.data = vega.Rows(values=totals)
        layers = [
            part.encode(x=alt.X(**across, stack="zero")),
            inside.encode(
                x=alt.X(**across, stack="zero", bandPosition=0.5),
                text="label:N",
                color=alt.value(theme.BACKGROUND),
            ),
            ends_of_rows,
        ]
    if level is not None:
        rule = vega.rows([{"value": level}], y=alt.value(0), y2=alt.value("height"), yOffset=alt.value(0))
        layers.insert(1, rule.mark_rule(color=theme.MUTED, strokeDash=[4, 4]))
    chart = vega.frame(
        *background, *layers, height=8 + pixels * len(values) + 30 * stacked, data=rows
    ).encode(
        x=alt.X(**across),
        y=vega.row_axis(
            [each if len(each) > 1 else each[0] for each in names],
            spacing=(0.34, 0.17),
            labelLimit=240,
            labelOverlap=False,
            **more,
        ),
    )
    if groups and not stacked:
        chart = chart.encode(yOffset=alt.YOffset("group:N", sort=groups))
    return _titled(chart, title)


@draw_once
def columns(
    table: pd.DataFrame,
    labels: Labels = "{:,}",
    *,
    x: str = "",
    title: str = "",
    form: str = ",~r",
    ends: tuple[float, float] | None = None,
    level: float | None = None,
    hues: Sequence[int] = (),
    covered: bool = False,
    height: float = 260,
) -> vega.Layers:
    """Return a group of vertical bars from 0 for each row, with a bar for each column and a label above it where there is room.

    A value that is not a number is covered. x: the title of the rows. form: the format of the axis. ends: those of the axis, else the largest
    value. level: a dashed line. hues: the colour of each column by number.

    >>> [bar["label"] for bar in columns(pd.DataFrame({"a": [0.5, None]}, ["1", "2"]), "{:.1f}").to_dict()["data"]["values"]]
    ['0.5', '?']
    """
    groups = [phrase(str(name)) for name in table.columns]
    rows = _bar_rows(table, groups, labels, covered)
    wide = 13 * max((len(bar["label"]) for bar in rows), default=0)
    scale = vega.exact_scale(*ends) if ends else alt.Scale(zero=True)
    text = vega.Chart().mark_text(
        baseline="bottom",
        dy=-3,
        color=theme.TEXT,
        opacity=alt.expr(f"width < {wide * len(rows)} && datum.label != '{COVER}' ? 0 : 1"),
    )
    layers = [
        vega.Chart().mark_bar().encode(color=_group_colours(groups, hues), tooltip=_tooltip(groups)),
        text.encode(text="label:N"),
    ]
    if level is not None:
        rule = vega.rows([{"value": level}], x=alt.value(0), x2=alt.value("width"), xOffset=alt.value(0))
        layers.insert(1, rule.mark_rule(color=theme.MUTED, strokeDash=[4, 4]))
    bare: dict[str, Any] = {"domain": False, "ticks": False, "labelPadding": 6, "tickCount": 4}
    chart = vega.frame(*layers, height=height, data=rows).encode(
        x=alt.X(
            "place:O",
            title=x or None,
            axis=_column_axis(table.index),
            scale=alt.Scale(paddingInner=0.22, paddingOuter=0.1),
        ),
        xOffset=alt.XOffset("group:N", sort=groups),
        y=alt.Y("value:Q", title=None, scale=scale, axis=alt.Axis(format=form, **bare)),
    )
    return _titled(chart, title)


@draw_once
def lines(
    table: pd.DataFrame,
    labels: Labels | None = None,
    *,
    x: str = mark("steps"),
    title: str = "",
    form: str | Callable[[int], str] = ",~r",
    ends: tuple[float, float] | None = None,
    end: float | None = None,
    level: float | None = None,
    hues: Sequence[int] = (),
    highlighted: Collection[str] = (),
    dashed: Collection[str] = (),
    scales: tuple[Scale, Scale] = ("linear", "linear"),
    overlay: Sequence[alt.Chart] = (),
    covered: bool = False,
    legend: bool = True,
    height: float = 260,
) -> vega.Layers:
    """Return a line for each column over the numbers or the names in the index, with a dot at each number that the column has, and a label at it.

    A question mark covers rows without a number. x: the title of the index. form: the format of the values, or a function that names a power of ten.
    ends: the least and the largest value of the axis, else from 0. end: that of the index, else its last. level: a dashed line. hues: the colour of each
    column by number. highlighted: the names of columns before thin pale lines. dashed: those of dashed lines, of which the legend shows all, as it does with dots for columns without numbers. scales: those
    of both axes. overlay: layers of `rules`, `labels` or `dots`. covered: the axes and the overlay alone. Without a `legend` names are at the ends of lines.

    >>> chart = lines(pd.DataFrame({"loss": [4.0, None], "own": [None, 2.0]}, [0, 10])).to_dict()
    >>> [(dot["line"], dot["x"], dot["y"]) for dot in chart["data"]["values"]]
    [('loss', 0, 4.0), ('own', 10, 2.0)]
    """
    columns, share = [phrase(str(name)) for name in table.columns], str(form).endswith("%")
    pale = {phrase(str(name)) for name in table.columns if highlighted and name not in highlighted}
    numbers, n = table.to_numpy(float, na_value=math.nan), len(table)
    if covered:
        numbers = np.full_like(numbers, math.nan)
    texts = _labels(table, labels or "")
    names = [phrase(str(name).replace("\n", " ")) for name in table.index]
    at = None if pd.api.types.is_numeric_dtype(table.index) else list(range(n))
    places: list[Any] = table.index.tolist() if at is None else at
    rows: list[dict[str, Any]] = []
    for column, name in enumerate(columns):
        for row in np.flatnonzero(~np.isnan(numbers[:, column])).tolist():
            dot = {"line": name, "x": places[row], "y": float(numbers[row, column])}
            if at:
                dot["name"] = names[row]
            if name in pale:
                dot["pale"] = True
            elif labels:
                others = np.delete(numbers[row], column) if len(columns) > 1 else numbers[row - 1 : row, 0]
                dot |= {
                    "label": (text := texts[row * len(columns) + column]) and phrase(text),
                    "below": bool((others > dot["y"]).any()),
                }
            rows.append(dot)
    bare: dict[str, Any] = {"domain": False, "ticks": False, "labelPadding": 6, "tickCount": 5}
    there = numbers[~np.isnan(numbers)].tolist()
    height_scale, ticks = _scale(scales[1], there, form, ends)
    up = alt.Y("y:Q", title=None, scale=height_scale, axis=alt.Axis(**bare | ticks))
    if at:
        scale, axis = vega.exact_scale(-0.4, n - 0.6), _column_axis(table.index, values=at)
    else:
        to_end = (
            (min([0, *places]), max(places, default=1) if end is None else end)
            if covered or end is not None
            else None
        )
        scale, ticks = _scale(scales[0], places, ",~r", to_end)
        axis = alt.Axis(grid=False, **bare | ticks)
    if not legend:
        letters = _end_letters(name for name in columns if name not in pale)
        scale.range = [0, alt.ExprRef(_if_narrow(letters, "width", f"width-{9 * letters}"))]
    across = alt.X("x:Q", title=_(x) or None, scale=scale, axis=axis)
    told = vega.tooltip(
        ("line:N", " "),
        ("name:N", x or "  ") if at else ("x:Q", x, ","),
        ("y:Q", title or "   ", ".1%" if share else ",.4~g"),
    )
    line, strong = vega.Chart().mark_line(strokeWidth=3 if pale else 2), "!datum.pale"
    colour = _group_colours(columns, hues, "line:N", unnamed=pale if legend else columns)
    key: list[alt.Chart] = []
    if dashed:
        dashes = alt.Scale(
            domain=columns, range=[[6, 4] if name in dashed else [1, 0] for name in table.columns]
        )
        for dot in rows:
            dot["dash"] = dot["line"]  # of a field of its own, as the legends of one field become one
        line = line.encode(strokeDash=alt.StrokeDash("dash:N", scale=dashes, legend=None))
    empty = table.columns[table.isna().all()]
    if legend and (dashed or (0 < len(empty) < len(columns))):
        forms = [
            keys.DOT if name in empty else keys.DOTTED if name in dashed else keys.LINE
            for name in table.columns
        ]
        colour, shape = keys.colour_and_shape(
            "line:N", columns, colour["scale"]["range"], forms, orient="bottom"
        )
        key = [vega.rows([]).mark_point(filled=True).encode(shape=shape)]
    layers: list[alt.Chart] = [
        *([line.transform_filter("datum.pale").mark_line(strokeWidth=1.4, opacity=0.4)] if pale else []),
        line.transform_filter(strong) if pale else line,
        vega.Chart()
        .mark_circle(size=42, opacity=alt.expr(strong + " ? 1 : 0") if pale else int(n < MANY))
        .encode(tooltip=told),
    ]
    if labels:
        wide = 7.5 * n * max((len(dot.get("label", "")) for dot in rows), default=0)
        for where, dy in (("!datum.below", -14), ("datum.below", 17)):
            text = vega.Chart().transform_filter(f"datum.label && {where}")
            text = text.mark_text(dy=dy, fontSize=13, opacity=alt.expr(f"width < {wide} ? 0 : 1"))
            layers.append(text.encode(text="label:N", color=alt.value(theme.TEXT)))
    if level is not None:
        rule = vega.rows([{"y": level}], x=alt.value(0), x2=alt.value("width"), color=alt.value(theme.MUTED))
        layers.append(rule.mark_rule(strokeDash=[4, 4]))
    hidden = [places[row] for row in np.flatnonzero(np.isnan(numbers).all(axis=1))]
    if hidden:
        mark = vega.rows([{"x": hidden[len(hidden) // 2]}], y=alt.value(alt.expr("height / 2")))
        layers.append(
            mark.mark_text(text=COVER, fontSize=34, color=theme.MUTED).encode(color=alt.value(theme.MUTED))
        )
    if not legend:
        named = [row for row in rows if not row.get("pale")]
        layers.append(_names_at_ends(named, height, logarithmic=scales[1] != "linear"))
    chart = vega.frame(*layers, *overlay, *key, height=height, data=rows).encode(x=across, y=up, color=colour)
    return _titled(chart, title)


def _end_letters(names: Iterable[str]) -> int:
    """Return the letters of the longest line of names at the ends of lines."""
    return max((len(part) for name in names for part in wrap(name, END_LETTERS)), default=0)


def _if_narrow(letters: int, one: str, other: str) -> str:
    """Return an expression that is `one` where the view is narrow for names of so many letters."""
    return f"width < {min(NARROW, 20 * letters)} ? {one} : {other}"


def _names_at_ends(rows: Sequence[dict[str, Any]], height: float, *, logarithmic: bool) -> alt.Chart:
    """Return the name of each line at its end, moved up or down where two would overlap."""
    ends = list({row["line"]: row for row in rows}.values())
    up, down = (math.log10, lambda power: 10**power) if logarithmic else (float, float)
    edges = [up(row["y"]) for row in rows] or [0.0]
    texts = [wrap(row["line"], END_LETTERS) for row in ends]
    span = max(edges) - (min(edges) if logarithmic else 0)
    least = span * 22 * max(map(len, texts), default=1) / (height - 75)
    places = spread_labels([up(row["y"]) for row in ends], least)
    names = [
        {"line": row["line"], "x": row["x"], "y": down(place), "text": text}
        for row, place, text in zip(ends, places, texts, strict=True)
    ]
    more, letters = "(length(datum.text) - 1)", _end_letters(row["line"] for row in ends)
    put: dict[str, Any] = {
        "align": alt.expr(_if_narrow(letters, "'right'", "'left'")),
        "dx": alt.expr(_if_narrow(letters, "0", "10")),
        "dy": alt.expr(_if_narrow(letters, f"-11-16*{more}", f"-8*{more}")),
    }
    return vega.rows(names, text="text:N").mark_text(fontSize=14, **put)


def spans(edges: Iterable[tuple[float, float]]) -> list[alt.Chart]:
    """Return a pale band from one number to another for each row, to be behind its bar.

    >>> [layer.to_dict()["data"]["values"] for layer in spans([(1, 2)])]
    [[{'place': 0, 'value': 1, 'end': 2}]]
    """
    bands = vega.rows(
        [{"place": place, "value": start, "end": end} for place, (start, end) in enumerate(edges)], x2="end:Q"
    )
    return [bands.mark_rect(opacity=0.35, color=theme.HATCH, height={"band": 1.3})]


def rules(positions: Mapping[str, float], *, across: bool = False, hue: int | None = None) -> list[alt.Chart]:
    """Return a dotted line at each number of the horizontal axis, or `across` the chart at one of the vertical axis, each with its name at its end.

    hue: a colour by number, else grey.

    >>> [layer.to_dict()["mark"]["type"] for layer in rules({"now": 3})]
    ['rule', 'text']
    """
    colour = alt.value(theme.MUTED if hue is None else theme.CATEGORICAL[hue])
    field, whole = "x", {"y": alt.value(0), "y2": alt.value("height")}
    beyond = f"(scale('x', datum.x) > 0.6 * width || datum.x < {max(positions.values(), default=0)} && scale('x', datum.x) > 90)"
    put: dict[str, Any] = {
        "baseline": "top",
        "align": alt.expr(f"{beyond} ? 'right' : 'left'"),
        "dx": alt.expr(f"{beyond} ? -5 : 5"),
        "dy": alt.expr("16 * datum.number"),
    }
    if across:
        field, whole = "y", {"x": alt.value(0), "x2": alt.value("width")}
        put = {"align": "left", "baseline": "bottom", "dx": 4, "dy": -4}
    rows = [
        {field: at, "name": phrase(name), "number": i}
        for i, (name, at) in enumerate(positions.items())
        if name
    ]
    line = vega.rows([{field: at} for at in positions.values()], color=colour, **whole)
    edge = {"x": alt.value(0)} if across else {"y": alt.value(0)}
    text = vega.rows(rows, color=colour, text="name:N", **edge)
    return [line.mark_rule(strokeDash=[2, 3], strokeWidth=1.5), text.mark_text(fontSize=13, **put)]


def labels(table: pd.DataFrame, x: str, y: str) -> list[alt.Chart]:
    """Return a dot at each row's numbers `x` and `y` with its name beside it, to be over lines.

    >>> labels(pd.DataFrame({"x": [1], "y": [2]}, ["here"]), "x", "y")[1].to_dict()["data"]["values"]
    [{'name': 'here', 'x': 1.0, 'y': 2.0}]
    """
    rows = [
        {"name": phrase(str(name)), "x": float(across), "y": float(up)}
        for name, across, up in zip(table.index, table[x], table[y], strict=True)
    ]
    base = vega.rows(rows, color=alt.value(theme.TEXT))
    text = base.mark_text(align="left", dx=9, dy=15, fontSize=13).encode(text="name:N")
    return [base.mark_circle(size=110, opacity=1), text]


def dots(
    rows: Iterable[tuple[str, float, float]], *, shape: str = "circle", size: int = 60, opacity: float = 1
) -> list[alt.Chart]:
    """Return a dot in the colour of a line for each row of (line, x, y), to be over lines.

    >>> dots([("loss", 1, 2.0)])[0].to_dict()["data"]["values"]
    [{'line': 'loss', 'x': 1, 'y': 2.0}]
    """
    records = [{"line": phrase(line), "x": x, "y": float(y)} for line, x, y in rows]
    told = vega.tooltip(("line:N", " "), ("x:Q", "  ", ",.2~f"), ("y:Q", "   ", ",.4~g"))
    dot = vega.rows(records, tooltip=told)
    return [dot.mark_point(filled=True, shape=shape, size=size, opacity=opacity)]


def _scale(
    kind: Scale,
    values: Sequence[float],
    form: str | Callable[[int], str],
    ends: tuple[float, float] | None = None,
) -> tuple[alt.Scale, dict[str, Any]]:
    """Return a scale for the values, from 0 or with equal factors equally far apart, and the ticks of its axis; without values and ends it has no labels."""
    if kind == "linear" or not values:
        scale = alt.Scale(zero=True) if values and not ends else vega.exact_scale(*(ends or (0, 1)))
        every = ends is not None and ends[0] <= 0 and ends[1] >= 1 and str(form).endswith("%")
        ticks = {"values": SHARES} if every else {}
        return scale, {"format": form} | ticks if ends or values else {"labels": False}
    low, high = min(values), max(values)
    margin = (high / low) ** 0.04 if low > 0 else 1
    scale = alt.Scale(type="symlog")
    if kind != "symlog":
        scale = vega.exact_scale(low / margin, high * margin, type="log", base=2 if kind == "log2" else 10)
    if kind == "log2":
        return scale, {"format": form}
    begin, last = (
        math.log10(max(edge, 1) if kind == "symlog" else edge) for edge in (low / margin, high * margin)
    )
    factors = (1,) if callable(form) or last - begin > 2 else (1, 2, 5)
    ticks = [
        (factor * 10.0**power, power)
        for power in range(math.floor(begin), math.floor(last) + 1)
        for factor in factors
        if begin <= math.log10(factor) + power <= last
    ]
    if callable(form):
        names = {tick: form(power) for tick, power in ticks[:: max(1, round(len(ticks) / 5))]}
        return scale, {"values": list(names), "labelExpr": vega.label_expression(names)}
    values = [0] * (kind == "symlog") + [tick for tick, _label in ticks]
    return scale, {"values": values, "format": form, "tickCount": 5 * len(values)}


@draw_once
def points(
    table: pd.DataFrame,
    x: str,
    y: str,
    labels: Labels = "{:,.3g}",
    *,
    title: str = "",
    highlighted: Collection[str] = (),
    ticks: tuple[Sequence[float], Sequence[float]] = ((), ()),
    logarithmic: bool = True,
    covered: bool = False,
    height: int = 330,
) -> vega.Layers:
    """Return a point for each row at its numbers `x` and `y`, named beside it; a covered one is a line at its x.

    ticks: values that are named along both axes. On an axis that is not logarithmic, points near zero have no names.

    >>> points(pd.DataFrame({"year": [2019.0, 2020.0], "size": [1.5, 175.0]}, index=["A", "B"]), "year", "size").to_dict()["layer"][0]["encoding"]["y"]["scale"]["type"]
    'log'
    """
    heights, places = table[y].to_numpy(), table[x].to_numpy()
    most, first, last = float(heights.max()), float(places.min()), float(places.max())
    texts = _labels(table[y], labels)
    bare: dict[str, Any] = {"domain": False, "ticks": False, "labelPadding": 6}
    margin = 0.07 * (last - first)
    across = alt.X(
        "x:Q",
        title=None,
        scale=vega.exact_scale(first - margin, last + margin),
        axis=alt.Axis(values=list(ticks[0]), format="d", grid=False, **bare),
    )
    scale = (
        vega.exact_scale(float(heights.min()) / 2, 2.3 * most, type="log")
        if logarithmic
        else vega.exact_scale(-most / 30, 1.1 * most)
    )
    named: dict[str, Any] = (
        {"values": list(ticks[1]), "labelExpr": "datum.value + ''"} if logarithmic else {"tickCount": 5}
    )
    up = alt.Y("y:Q", title=title, scale=scale, axis=alt.Axis(**named, **bare))
    rows = [
        {
            "x": float(table[x].iloc[at]),
            "y": float(table[y].iloc[at]),
            "name": phrase(str(name)),
            "text": phrase(texts[at]),
            "named": logarithmic or float(table[y].iloc[at]) > most / 40,
            "at_end": float(table[x].iloc[at]) > (first + last) / 2,
            "colour": theme.CATEGORICAL[1 if name in highlighted else 0],
            "ink": theme.CATEGORICAL[1] if name in highlighted else theme.TEXT,
        }
        for at, name in enumerate(table.index)
    ]
    shown = vega.rows([] if covered else rows, x=across, y=up).transform_calculate(
        label="!datum.named ? '' : width < 420 ? datum.name : datum.name + '  ' + datum.text"
    )
    names = [
        shown.transform_filter(f"{'' if end else '!'}datum.at_end")
        .mark_text(align="right" if end else "left", dx=-11 if end else 11, fontSize=14)
        .encode(text="label:N", color=vega.raw_channel("ink:N"))
        for end in (True, False)
    ]
    lines = vega.rows([{"x": row["x"]} for row in rows] if covered else [], x=across)
    return vega.frame(
        shown.mark_circle(size=150, opacity=1).encode(color=vega.raw_channel()),
        *names,
        lines.mark_rule(color=theme.LINE, strokeWidth=1.5),
        lines.mark_text(text=COVER, fontSize=20, color=theme.MUTED, dx=11).encode(
            y=alt.value(alt.expr("height / 2"))
        ),
        height=height,
    )


@draw_once
def scatter(
    table: pd.DataFrame,
    x: str,
    y: str,
    *,
    kind: str = "",
    hues: Mapping[str, str] | None = None,
    shapes: Sequence[str] = (),
    sizes: Sequence[int] = (90,),
    label: str = "",
    notes: Sequence[str] = (),
    rows: Sequence[str] = (),
    title: str = "",
    spread: tuple[str, str] | None = None,
    ends: tuple[tuple[float, float] | None, tuple[float, float] | None] = (None, None),
    forms: tuple[str, str] = ("~g", "~g"),
    highlighted: str = "",
    clickable: str = "",
    overlay: Sequence[alt.Chart] = (),
    covered: bool = False,
    height: float = 330,
) -> vega.Layers:
    """Return a dot for each row of a table at the numbers in its columns `x` and `y`, which name the axes.

    kind: the column with the names of `hues`, each with its shape and size. label: the column of names beside the dots. notes: those of the tooltip.
    rows: names of rows from top to bottom, in which case `y` counts them from 0. spread: the two columns whose values a line behind the dot joins.
    ends: the least and the largest value of each axis. forms: their formats, "" for axes without numbers. highlighted: a column of bools, True for
    dots in a ring. clickable: the column whose value a click selects as PICKED. overlay: layers of `rules`. covered: question marks in place of dots.

    >>> chart = scatter(pd.DataFrame({"loss": [1.5], "row": [0]}), "loss", "row", rows=["mean"]).to_dict()
    >>> [(dot["x"], dot["y"]) for dot in chart["data"]["values"]]
    [(1.5, 0.0)]
    """
    fields = {"x": table[x].astype(float), "y": table[y].astype(float)}
    fields |= dict(zip(("low", "high"), (table[end].astype(float) for end in spread or ()), strict=False))
    words = {"kind": kind, "label": label} | {f"note{at}": note for at, note in enumerate(notes)}
    fields |= {
        field: [text and phrase(text) for text in table[name]] for field, name in words.items() if name
    }
    fields |= {"ring": table[highlighted]} if highlighted else {}
    fields |= {clickable: table[clickable]} if clickable else {}
    if hues and len(sizes) > 1:
        fields["size"] = table[kind].map(dict(zip(hues, sizes, strict=True)))
    data = [] if covered else pd.DataFrame(fields).to_dict("records")
    bare: dict[str, Any] = {"domain": False, "ticks": False, "labelPadding": 6}

    def axis(channel: Any, name: str, values: Iterable[str], place: int) -> Any:
        limits, form = ends[place], forms[place]
        if limits is None:
            found = [float(each) for column in values if column for each in table[column].dropna()] or [
                0.0,
                1.0,
            ]
            room = 0.04 * (max(found) - min(found)) or 0.5
            limits = (min(found) - room, max(found) + room)
        look: dict[str, Any] = bare | ({"format": form} if form else {"labels": False})
        scale = vega.exact_scale(*limits)
        lines = wrap(name, TITLE) if form else []
        return channel(
            title=lines if len(lines) > 1 else name if lines else None,
            scale=scale,
            axis=alt.Axis(tickCount=5, **look),
        )

    across = axis(partial(alt.X, "x:Q"), x, (x, *(spread or ())), 0)
    up = axis(partial(alt.Y, "y:Q"), y, (y,), 1)
    if rows:
        names = vega.label_expression([phrase(name) for name in rows])
        look: dict[str, Any] = {"labelColor": theme.TEXT, "labelLimit": 230, "labelOverlap": False}
        up.title, up.scale = None, vega.exact_scale(len(rows) - 0.5, -0.5)
        up.axis = alt.Axis(values=list(range(len(rows))), labelExpr=names, **bare | look)
    told = vega.tooltip(*((f"note{at}:N", note) for at, note in enumerate(notes)))
    base = vega.Chart()
    dot = base.mark_point(filled=True, opacity=0.85, size=sizes[0], color=theme.CATEGORICAL[0])
    dot, layers = dot.encode(tooltip=told), list(overlay)
    colour, shape = alt.value(theme.CATEGORICAL[0]), None
    if hues:
        forms_of = [*shapes, *[keys.DOT] * (len(hues) - len(shapes))]
        colour, shape = keys.colour_and_shape(
            "kind:N",
            list(hues),
            list(hues.values()),
            forms_of,
            orient="bottom",
            axis=9 * max(map(len, rows), default=0),
        )
        dot = dot.encode(color=colour, shape=shape)
        if len(sizes) > 1:
            dot = dot.encode(size=vega.raw_channel("size:Q", alt.Size))
    if clickable:
        picks = alt.selection_point(name=PICKED, fields=[clickable], on="click", empty=False)
        dot = dot.add_params(picks)
    if spread:
        line = base.mark_rule(strokeWidth=2).encode(x="low:Q", x2="high:Q")
        layers.append(line.encode(color=colour))
    layers.append(dot)
    if highlighted:
        ring = base.transform_filter("datum.ring")
        layers.append(ring.mark_point(size=260, strokeWidth=2.5, color=theme.TEXT, filled=False))
    if label:
        text = base.transform_filter("datum.label").mark_text(
            align="left", dx=8 + math.sqrt(sizes[0]) / 2, dy=-4, fontSize=14, fontWeight=600
        )
        layers.append(text.encode(text="label:N"))
    if covered:
        signs = vega.rows([{"y": at} for at in range(len(rows))] if rows else [{}])
        place: dict[str, Any] = {} if rows else {"y": alt.value(alt.expr("height / 2"))}
        signs = signs.encode(x=alt.value(alt.expr("0.4 * width")), **place)
        layers.append(signs.mark_text(text=COVER, fontSize=24, color=theme.MUTED))
    return _titled(vega.frame(*layers, height=height, data=data).encode(x=across, y=up), title)


@draw_once
def cells(
    table: pd.DataFrame,
    labels: Labels | None = percent,
    *,
    x: str = "",
    y: str = "",
    title: str = "",
    ends: tuple[float, float] = (0.0, 1.0),
    logarithmic: bool = False,
    hues: Mapping[str, str] | None = None,
    key: str = "",
    form: str = "~g",
    highlighted: tuple[int, int | None] | None = None,
    bold: Collection[int] = (),
    notes: Sequence[str] = (),
    covered: bool = False,
    clickable: bool = False,
    above: bool = False,
    height: float | None = None,
) -> vega.Layers:
    """Return a cell for each number, coloured from pale to dark between `ends`, or on both sides of 0 where these begin below it, with its label in it.

    A value that is not a number has its label and no colour. On a logarithmic scale 0 is grey. A table of names has the colours `hues`.
    x, y: the titles of columns and rows. key: the title of a legend of the colours, whose numbers have the format `form`.
    highlighted: the row and the column of a cell with a frame, or a row alone. bold: columns with bold names, which are `above` the cells or below.
    notes: a line for the tooltip of each cell, row by row. clickable: a click on a cell selects its `place`, the row, and `at`, the column, as PICKED.

    >>> chart = cells(pd.DataFrame({"a": [0.25], "b": [0.75]}, ["it"])).to_dict()
    >>> [(cell["place"], cell["at"], cell["label"]) for cell in chart["data"]["values"]]
    [(0, 0, '25%'), (0, 1, '75%')]
    """
    rows, columns = (
        [phrase(str(name).replace("\n", " ")) for name in names] for names in (table.index, table.columns)
    )
    values, texts = table.to_numpy().ravel().tolist(), _labels(table, labels or "")
    n, (low, high) = len(columns), ends
    data: list[dict[str, Any]] = [
        {"place": at // n, "at": at % n, "value": None if covered else _value(value)}
        | ({"label": COVER if covered else text and phrase(text)} if labels else {})
        | ({"note": phrase(notes[at])} if notes and not covered else {})
        for at, (value, text) in enumerate(zip(values, texts, strict=True))
    ]
    colours, value, turns = theme.SEQUENTIAL, "datum.value", low + (high - low) * theme.INK_TURNS
    if low < 0:
        colours, value, turns = theme.DIVERGING, "abs(datum.value)", 0.6 * high
    if logarithmic:
        colours, turns = theme.SEQUENTIAL[1:], low * (high / low) ** theme.INK_TURNS
    kind = "log" if logarithmic else "linear"
    scale = alt.Scale(type=kind, domain=[low, high], range=colours, interpolate="rgb", clamp=True)
    legend = vega.legend(
        title=key,
        titleLimit=400,
        format=form,
        orient="bottom" if above else "top",
        gradientLength=220,
        gradientThickness=9,
    )
    if form.endswith("%"):
        legend.tickCount = 3
    colour = alt.Color("value:Q", scale=scale, legend=legend if key else None)
    ink: Any = alt.condition(f"{value} > {turns:g}", alt.value(theme.HIGH_INK), alt.value(theme.LOW_INK))
    if hues:
        fits = alt.ExprRef(f"({keys.ROOM}) < 400 ? 1 : {len(hues)}")
        legend = vega.legend(title=key, symbolType="square", labelLimit=0, columns=fits)
        colour, ink = vega.colour_channel("value:N", hues, legend if key else None), alt.value(theme.TEXT)
    share = ".1%" if form.endswith("%") else ",.4~g"
    note = [("note:N", "    ")] if notes else []
    told = vega.tooltip(
        ("row:N", y or " "),
        ("column:N", x or "  "),
        *([("value:N", key or "   ")] if hues else [("value:Q", key or "   ", share)]),
        *note,
    )
    base = (
        vega.Chart()
        .transform_calculate(
            row=f"{json.dumps(rows)}[datum.place]", column=f"{json.dumps(columns)}[datum.at]"
        )
        .encode(tooltip=told)
    )
    look: dict[str, Any] = {"stroke": theme.BACKGROUND, "strokeWidth": 2}
    if clickable:
        look["cursor"] = "pointer"
    cell = base.transform_filter("isValid(datum.value)" + " && datum.value > 0" * logarithmic)
    cell = cell.mark_rect(**look, opacity=0.55 if hues and labels else 1).encode(color=colour)
    if clickable:
        cell = cell.add_params(alt.selection_point(name=PICKED, fields=["place", "at"], empty=False))
    layers: list[alt.Chart] = [cell]
    if logarithmic:
        zero = base.transform_filter("datum.value === 0")
        layers.append(zero.mark_rect(**look, color=theme.HATCH, opacity=0.55))
    if labels:
        text = base.mark_text(fontSize=13, limit=alt.ExprRef(f"width / {n} - 2"), **look | {"strokeWidth": 0})
        layers.append(text.encode(text="label:N", color=ink))
    row, column = highlighted or (None, None)
    if row is not None and column is None:
        frame = vega.rows([{"place": row}], x=alt.value(0), x2=alt.value("width"))
        layers.append(frame.mark_rect(filled=False, stroke=theme.TEXT, strokeWidth=2))
    elif row is not None and column is not None:
        data[row * n + column]["highlighted"] = True
        frame = vega.Chart().transform_filter("datum.highlighted")
        layers.append(frame.mark_rect(filled=False, stroke=theme.CATEGORICAL[1], strokeWidth=3))
    names = [[phrase(line) for line in str(name).split("\n")] for name in table.index]
    lines = 1 + max((str(name).count("\n") for name in table.columns), default=0)
    more: dict[str, Any] = {"labelColor": theme.TEXT, "labelFontSize": 13}
    if bold:
        more["labelFontWeight"] = _bold(bold)
    chart = vega.frame(
        *layers,
        height=height or 8 + 34 * len(rows) + 17 * lines + 28 * bool(title) + 20 * bool(x) + 26 * bool(key),
        data=data,
    ).encode(
        x=alt.X("at:O", title=x or None, axis=_column_axis(table.columns, above=above, **more)),
        y=vega.row_axis(
            [each if len(each) > 1 else each[0] for each in names], labelLimit=240, title=y or None
        ),
    )
    return _titled(chart, title)


def _value(value: Any) -> Any:
    """Return the value of a cell: a name, a number with four digits, or None where there is none."""
    if isinstance(value, str):
        return value
    return None if value is None or math.isnan(value) else float(f"{value:.4g}")


def _bold(places: Collection[int]) -> dict[str, Any]:
    """Return the weight of an axis's labels, bold at these places."""
    return {
        "condition": {"test": f"indexof({sorted(places)}, datum.value) >= 0", "value": "bold"},
        "value": "normal",
    }


def _column_axis(names: Iterable[Any], *, above: bool = False, **more: Any) -> alt.Axis:
    """Return the axis with the names of columns, which are slanted where they have no room, and a few where they still have none."""
    lines = [[line and phrase(line) for line in str(name).split("\n")] for name in names]
    letters = max((len(line) for each in lines for line in each), default=0)
    narrow = f"width < {(9 * letters + 8) * len(lines)}"
    return alt.Axis(
        labelExpr=f"datum.value % ceil({17 * len(lines)} / width) ? '' : "
        + vega.label_expression([each if len(each) > 1 else each[0] for each in lines]),
        labelAngle=alt.expr(f"{narrow} ? -50 : 0"),
        labelAlign=alt.expr(f"{narrow} ? '{'left' if above else 'right'}' : 'center'"),
        labelBaseline=alt.expr(f"{narrow} ? 'middle' : 'bottom'") if above else "top",
        orient="top" if above else "bottom",
        labelLimit=110,
        labelOverlap=False,
        grid=False,
        domain=False,
        ticks=False,
        **more,
    )


def _bar_rows(
    values: pd.Series | pd.DataFrame, groups: Sequence[str], labels: Labels, covered: bool
) -> list[dict[str, Any]]:
    """Return a row for each bar; of what is covered it holds neither the number nor its label."""
    numbers, texts = values.to_numpy(float, na_value=math.nan).ravel().tolist(), _labels(values, labels)
    names, n = [phrase(str(name).replace("\n", " ")) for name in values.index], max(1, len(groups))
    rows: list[dict[str, Any]] = []
    for number, (value, text) in enumerate(zip(numbers, texts, strict=True)):
        known = not (covered or math.isnan(value))
        row = {
            "place": number // n,
            "name": names[number // n],
            "value": value if known else 0,
            "label": (text and phrase(text)) if known else COVER,
        }
        rows.append(row | {"group": groups[number % n]} if groups else row)
    return rows


def _labels(values: pd.Series | pd.DataFrame, labels: Labels) -> list[str]:
    """Return a label for each value, row by row."""
    numbers = values.to_numpy().ravel().tolist()
    if isinstance(labels, str):
        return [write_number(true_minus(labels.format(each))) for each in numbers]
    return [labels(each) for each in numbers] if callable(labels) else list(labels)


def _group_colours(
    groups: Sequence[str],
    hues: Sequence[int] = (),
    field: str = "group:N",
    *,
    highlighted: Collection[str] = (),
    unnamed: Collection[str] = (),
) -> alt.Color:
    """Return the colours of groups with a legend, which is a column where there is no room for a row; one group has none."""
    named = [name for name in groups if name not in unnamed]
    fits = _narrow_columns(named)
    legend = vega.legend(
        orient="bottom", symbolType="square", symbolStrokeWidth=0, columns=fits, labelLimit=460, offset=6
    )
    if unnamed:
        legend.values, legend.symbolOpacity = named, 1
    colours = [theme.CATEGORICAL[hue % len(theme.CATEGORICAL)] for hue in hues or range(len(groups))]
    if highlighted:
        colours = [theme.PRIMARY if name in highlighted else theme.SEQUENTIAL[3] for name in groups]
    scale = dict(zip(groups, colours, strict=True))
    return vega.colour_channel(field, scale, legend if len(named) > 1 else None, sort=list(groups))


def _narrow_columns(names: Collection[str]) -> alt.ExprRef:
    """Return the columns of a legend: one for each name, or a single one where these have no room."""
    return alt.ExprRef(f"width < {9 * sum(map(len, names)) + 40 * len(names)} ? 1 : {len(names)}")


def _tooltip(groups: Sequence[str]) -> list[alt.Tooltip]:
    """Return the name of a bar, its group and its label."""
    fields = ("name:N", "group:N", "label:N") if groups else ("name:N", "label:N")
    return vega.tooltip(*((field, " " * (1 + place)) for place, field in enumerate(fields)))


def _titled(chart: alt.LayerChart, title: str) -> alt.LayerChart:
    """Return the chart with its title above it, in the type of the page."""
    if not title:
        return chart
    look: dict[str, Any] = {"font": theme.FONT, "fontSize": 14, "fontWeight": "normal", "color": theme.TEXT}
    return chart.properties(title=alt.TitleParams(phrase(title), anchor="start", offset=10, **look))
