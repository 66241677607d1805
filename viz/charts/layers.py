"""Charts of a run, layer by layer: tables of words, changes on a log scale, contributions to a logit, guesses against truth.

Numbers and words in, an Altair chart out. Charts that can be clicked have a selection called `picked`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np

from viz import theme
from viz.charts.parts import vega
from viz.charts.parts.figures import draw_once
from viz.labels import shorten, visible
from viz.number_text import signed

Array = np.ndarray[Any, np.dtype[Any]]
Chart = alt.LayerChart | alt.FacetChart
PICKED = "picked"
LETTERS = 12
HUES = ("embedding", "attention", "feed-forward", "biases", "convolutions")
"""Kinds of parts of a logit, in the order of their categorical colours."""


@draw_once
def lens_table(
    words: Sequence[Sequence[str | None]],
    chances: Array,
    rows: Sequence[str],
    columns: Sequence[str],
    selected: tuple[int, int] | None = None,
    content: str = "word",
    colours: str = "probability",
) -> Chart:
    """Return a table of words, each cell coloured by the probability (`colours`) of its word (`content`), 0 to 1; `selected` (row, column) is framed.

    Shapes: words and chances (row, column); a cell of None is empty. A click selects the fields `row` and `column`.

    >>> lens_table([["a", "b"]], np.array([[0.1, 0.9]]), ["the"], ["in", "0"]).to_dict()["layer"][0]["mark"]["type"]
    'rect'
    """
    cells = [
        {"row": i, "column": j, "word": shorten(exact, LETTERS), "exact": exact, "chosen": (i, j) == selected}
        | {"chance": round(float(chances[i, j]), 4)}
        for i in range(len(rows))
        for j in range(len(columns))
        for word in [words[i][j]]
        for exact in ["" if word is None else visible(word)]
    ]
    base = _cells(cells, rows, columns)
    colour = alt.Color(
        "chance:Q",
        scale=alt.Scale(domain=[0, 1], range=theme.SEQUENTIAL, interpolate="rgb"),
        legend=_legend(f"{colours} of the {content}", format="%", values=[0, 0.5, 1]),
    )
    tips = vega.tooltip(("exact:N", "word"), ("chance:Q", colours, ".1%"))
    rect = (
        base.mark_rect(cursor="pointer")
        .encode(
            color=colour,
            tooltip=tips,
            stroke=_if_selected(theme.TEXT, theme.BACKGROUND),
            strokeWidth=_if_selected(2.5, 1),
        )
        .add_params(alt.selection_point(name=PICKED, fields=["row", "column"], empty=False))
    )
    text = base.mark_text(
        fontSize=13, limit=alt.ExprRef(f"width / {len(columns)} - 4"), cursor="pointer"
    ).encode(
        text="word:N",
        tooltip=tips,
        color=alt.condition(
            f"datum.chance > {theme.INK_TURNS}", alt.value(theme.HIGH_INK), alt.value(theme.LOW_INK)
        ),
    )
    return _sized(alt.layer(rect, text), len(rows), 27, 80)


@draw_once
def ripple_map(
    values: Array, rows: Sequence[str], columns: Sequence[str], changed: Sequence[int] = ()
) -> Chart:
    """Return relative changes on a log scale from 0.001 to 1; exactly zero is grey with a 0 in it, never a pale colour.

    Shapes: values (row, column). `changed` are the columns that a bar marks at the top.

    >>> layers = ripple_map(np.array([[0.0, 0.5]]), ["in"], ["The", "tired"]).to_dict()["layer"]
    >>> [layer["mark"]["type"] for layer in layers]
    ['rect', 'rect', 'text']
    """
    cells = [
        {"row": i, "column": j, "value": float(values[i, j])}
        for i in range(len(rows))
        for j in range(len(columns))
    ]
    base = _cells(cells, rows, columns, marked=changed)
    zero = base.transform_filter("datum.value === 0")
    tips = vega.tooltip(("value:Q", "relative change", ".4~g"))
    colour = alt.Color(
        "value:Q",
        scale=alt.Scale(
            type="log", domain=[0.001, 1], range=theme.SEQUENTIAL[1:], clamp=True, interpolate="rgb"
        ),
        legend=_legend("change, as a share of the vector's length", values=[0.001, 0.01, 0.1, 1]),
    )
    moved = (
        base.transform_filter("datum.value > 0")
        .mark_rect(stroke=theme.BACKGROUND, strokeWidth=1)
        .encode(color=colour, tooltip=tips)
    )
    still = zero.mark_rect(color=theme.HATCH, stroke=theme.BACKGROUND, strokeWidth=1, opacity=0.55).encode(
        tooltip=tips
    )
    mark = zero.mark_text(fontSize=12, color=theme.MUTED, text="0")
    return _sized(alt.layer(moved, still, mark), len(rows), 30, 130)


@draw_once
def parts_of_logit(
    names: Sequence[str], values: Sequence[float], hues: Sequence[str], selected: Sequence[str] = ()
) -> Chart:
    """Return one bar a part, in the order given, to the right where it raises the word's logit and to the left where it lowers it.

    `hues` are names of HUES; `chosen` bars have a frame. A click selects the field `name`.

    >>> chart = parts_of_logit(["word", "layer 0 attention"], [1.5, -0.5], ["embedding", "attention"])
    >>> chart.to_dict()["layer"][1]["mark"]["type"]
    'text'
    """
    rows = [
        {
            "place": place,
            "name": name,
            "value": float(value),
            "hue": hue,
            "chosen": name in selected,
            "said": signed(value, "+.2f"),
        }
        for place, (name, value, hue) in enumerate(zip(names, values, hues, strict=True))
    ]
    least, most = min([0.0, *values]), max([0.0, *values])
    room = 0.16 * ((most - least) or 1.0)
    base = vega.rows(rows).encode(
        x=alt.X(
            "value:Q",
            title="added to the logit",
            scale=vega.exact_scale(least - room * (least < 0), most + room),
            axis=alt.Axis(tickCount=5),
        ),
        y=alt.Y(
            "place:O",
            title=None,
            axis=alt.Axis(labelExpr=_looked_up(names), labelLimit=220, domain=False, ticks=False),
        ),
        tooltip=vega.tooltip(("name:N", "part"), ("value:Q", "added", "+.4f")),
    )
    bars = (
        base.mark_bar(height=15, cornerRadius=2, cursor="pointer")
        .encode(
            color=alt.Color(
                "hue:N",
                scale=alt.Scale(domain=list(HUES), range=theme.CATEGORICAL[: len(HUES)]),
                legend=_legend(None, present=hues),
            ),
            stroke=_if_selected(theme.TEXT, None),
            strokeWidth=alt.value(2),
        )
        .add_params(alt.selection_point(name=PICKED, fields=["name"], empty=False))
    )
    said = (
        base.mark_text(fontSize=12, align="left", dx=5, color=theme.MUTED)
        .encode(text="said:N", x=alt.X("end:Q"))
        .transform_calculate(end="max(datum.value, 0)")
    )
    return _sized(alt.layer(bars, said), len(names), 22, 80)


@draw_once
def agreement_plot(
    estimates: Array, effects: Array, names: Sequence[str], selected: str = "", unit: str = ""
) -> Chart:
    """Return one dot a head: the gradient's estimate against the effect of ablation; on the line both agree.

    Shapes: estimates and effects flat, (head,). A click selects the field `name`.

    >>> agreement_plot(np.zeros(2), np.ones(2), ["L0.H0", "L0.H1"]).to_dict()["layer"][0]["mark"]["type"]
    'line'
    """
    ends = [
        float(v) for v in (min(0.0, estimates.min(), effects.min()), max(0.0, estimates.max(), effects.max()))
    ]
    room = 0.06 * ((ends[1] - ends[0]) or 1.0)
    across, up = (vega.exact_scale(ends[0] - room, ends[1] + end) for end in (3 * room, room))
    # names stand at the right
    line = (
        vega.rows([{"a": end, "b": end} for end in ends])
        .mark_line(color=theme.MUTED, strokeDash=[3, 3], strokeWidth=1)
        .encode(x="a:Q", y="b:Q")
    )
    rows = [
        {"name": name, "a": float(a), "b": float(b), "chosen": name == selected}
        for name, a, b in zip(names, estimates, effects, strict=True)
    ]
    base = vega.rows(rows).encode(
        x=alt.X("a:Q", title=f"gradient attribution{unit}", scale=across, axis=alt.Axis(tickCount=5)),
        y=alt.Y("b:Q", title=f"effect of ablation{unit}", scale=up, axis=alt.Axis(tickCount=5)),
        tooltip=vega.tooltip(("name:N", "head"), ("a:Q", "guess", "+.3f"), ("b:Q", "ablated", "+.3f")),
    )
    dots = (
        base.mark_circle(opacity=0.75, cursor="pointer")
        .encode(color=_if_selected(theme.CATEGORICAL[1], theme.CATEGORICAL[0]), size=_if_selected(140, 60))
        .add_params(alt.selection_point(name=PICKED, fields=["name"], empty=False))
    )
    told = base.transform_filter(
        alt.FieldOneOfPredicate("name", _named_heads(estimates, effects, names, selected, ends[1] - ends[0]))
    )
    named = told.mark_text(fontSize=12, align="left", dx=8, dy=-6, color=theme.TEXT).encode(text="name:N")
    return alt.layer(line, dots, named).properties(height=330, title=["Gradient attribution", "vs. ablation"])


def _named_heads(
    estimates: Array, effects: Array, names: Sequence[str], selected: str, height: float
) -> list[str]:
    """Return the heads that are named: the selected one and up to three with the largest effects, none so near another that the names would overlap."""
    order = sorted(range(len(names)), key=lambda i: (names[i] != selected, -abs(effects[i])))
    kept: list[int] = []
    for i in order[:6]:
        if len(kept) < 4 and all(
            max(abs(effects[i] - effects[j]), abs(estimates[i] - estimates[j]) / 3) > 0.06 * height
            for j in kept
        ):
            kept.append(i)
    return [names[i] for i in kept]


def _if_selected(value: Any, other: Any) -> Any:
    return alt.condition("datum.chosen", alt.value(value), alt.value(other))


def _cells(
    cells: list[dict[str, Any]], rows: Sequence[str], columns: Sequence[str], marked: Sequence[int] = ()
) -> alt.Chart:
    long = len(columns) > 9 or max((len(name) for name in columns), default=0) > 9
    across = alt.Axis(
        labelExpr=_looked_up(columns),
        orient="top",
        labelAngle=-45 if long else 0,
        labelAlign="left" if long else "center",
        labelLimit=90,
        domain=False,
        ticks=False,
        labelOverlap=False,
        labelFontWeight=alt.condition(_among(marked), alt.value("bold"), alt.value("normal")),
        labelColor=alt.condition(_among(marked), alt.value(theme.TEXT), alt.value(theme.MUTED)),
    )
    return vega.rows(cells).encode(
        x=alt.X("column:O", title=None, axis=across),
        y=alt.Y(
            "row:O",
            title=None,
            axis=alt.Axis(
                labelExpr=_looked_up(rows), labelLimit=120, labelPadding=7, domain=False, ticks=False
            ),
        ),
    )


def _among(places: Sequence[int]) -> str:
    return " || ".join(f"datum.value == {place}" for place in places) or "false"


def _looked_up(names: Sequence[str]) -> str:
    """Return an expression that gives the name of a whole number; JSON, so that no name can leave its quotes."""
    return (
        json.dumps(
            [shorten(visible(name), 28) if name.strip() != name or len(name) > 28 else name for name in names]
        )
        + "[datum.value]"
    )


def _legend(title: str | None, *, present: Sequence[str] = (), **options: Any) -> alt.Legend:
    if present:
        options["values"] = [hue for hue in HUES if hue in present]
    size = {"gradientLength": 220, "gradientThickness": 9, "titleLimit": 400}
    return vega.legend(title=title, orient="bottom", **size, **options)


def _sized(chart: Chart, n_rows: int, step: int, around: int) -> Chart:
    """Return the chart with so many pixels a row, and the space that axes and legend need."""
    return chart.properties(height=n_rows * step + around)
