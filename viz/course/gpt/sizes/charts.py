"""How large: bars with their exact numbers, and sizes over the years on a logarithmic axis."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

import altair as alt

from viz import theme
from viz.charts.parts import panels
from viz.charts.parts.kept import kept
from viz.labels import phrase


@dataclass(frozen=True)
class Bar:
    """One row: its name (a new line is one), its value, what is written behind it, a colour by number; `weak` ones are pale."""

    name: str
    value: float
    text: str
    hue: int = 0
    weak: bool = False


@dataclass(frozen=True)
class Dot:
    """One model: its name, when it came out, what it has and what is written beside it."""

    name: str
    year: float
    value: float
    text: str
    strong: bool = False


@kept
def bars(rows: Sequence[Bar], title: str, *, covered: bool = False, row: int = 38) -> panels.Layers:
    """Horizontal bars from 0, each with its text behind it. `covered`: the names, each with a question mark.

    >>> [bar["said"] for bar in bars([Bar("BERT", 110.0, "110M")], "sizes").to_dict()["data"]["values"]]
    ['110M']
    """
    names = json.dumps(
        [
            lines if len(lines) > 1 else lines[0]
            for lines in ([phrase(line) for line in each.name.split("\n")] for each in rows)
        ]
    )
    values = [
        {
            "place": place,
            "value": 0.0 if covered else each.value,
            "said": "?" if covered else phrase(each.text),
            "colour": theme.SEQUENTIAL[3] if each.weak else theme.CATEGORICAL[each.hue],
        }
        for place, each in enumerate(rows)
    ]
    most, lines = max(each.value for each in rows) or 1.0, max(each.name.count("\n") for each in rows)
    base = alt.Chart().encode(
        x=alt.X("value:Q", axis=None, scale=alt.Scale(domain=[0, 1.5 * most], nice=False)),
        y=alt.Y(
            "place:O",
            title=None,
            scale=alt.Scale(paddingInner=0.34, paddingOuter=0.17),
            axis=alt.Axis(
                labelExpr=f"{names}[datum.value]",
                labelFontSize=14,
                labelColor=theme.TEXT,
                labelPadding=8,
                labelOffset=-9 * lines,
                labelLimit=240,
                labelOverlap=False,
                ticks=False,
                domain=False,
            ),
        ),
    )
    bar = base.mark_bar().encode(color=alt.Color("colour:N", scale=None))
    said = base.mark_text(fontSize=14, align="left", dx=5, color=theme.TEXT).encode(text="said:N")
    heading = alt.TitleParams(
        phrase(title),
        font=theme.FONT,
        fontSize=14,
        fontWeight="normal",
        color=theme.TEXT,
        anchor="start",
        offset=10,
    )
    return alt.layer(bar, said, data=alt.Data(values=values)).properties(
        width="container", height=12 + row * len(rows), title=heading, padding=panels.AROUND, view=panels.BARE
    )


@kept
def race(
    dots: Sequence[Dot], *, logarithmic: bool = True, covered: bool = False, height: int = 330
) -> panels.Layers:
    """Billions of parameters over the years. `covered`: only when each came out.

    >>> race([Dot("A", 2019.0, 1.5, "1.5"), Dot("B", 2020.0, 175.0, "175")]).to_dict()["layer"][0]["encoding"]["y"]["scale"]["type"]
    'log'
    """
    high, middle = (
        max(dot.value for dot in dots),
        (min(dot.year for dot in dots) + max(dot.year for dot in dots)) / 2,
    )
    low = 10**-1.3 if logarithmic else -6.0
    spread = (
        alt.Scale(type="log", domain=[low, 10**2.6], nice=False)
        if logarithmic
        else alt.Scale(domain=[low, 1.1 * high], nice=False)
    )
    across = alt.X(
        "year:Q",
        title=None,
        scale=alt.Scale(
            domain=[min(dot.year for dot in dots) - 0.12, max(dot.year for dot in dots) + 0.12], nice=False
        ),
        axis=alt.Axis(values=[2019, 2020], format="d", grid=False, ticks=False, domain=False, labelPadding=6),
    )
    side = (
        alt.Axis(
            values=[0.1, 1, 10, 100], labelExpr="datum.value + ''", domain=False, ticks=False, labelPadding=6
        )
        if logarithmic
        else alt.Axis(tickCount=5, domain=False, ticks=False, labelPadding=6)
    )
    up = alt.Y("value:Q", title="parameters, billions", scale=spread, axis=side)
    rows = [
        {
            "year": dot.year,
            "value": dot.value,
            "name": phrase(dot.name),
            "text": phrase(dot.text),
            "named": logarithmic or dot.value > high / 40,
            "left": dot.year > middle,
            "colour": theme.CATEGORICAL[1 if dot.strong else 0],
            "ink": theme.CATEGORICAL[1] if dot.strong else theme.TEXT,
        }
        for dot in dots
    ]
    shown = (
        alt.Chart(alt.Data(values=[] if covered else rows))
        .transform_calculate(
            said="!datum.named ? '' : width < 420 ? datum.name : datum.name + '  ' + datum.text"
        )
        .encode(x=across, y=up)
    )
    said = [
        shown.transform_filter(f"{'' if left else '!'}datum.left")
        .mark_text(align="right" if left else "left", dx=-11 if left else 11, fontSize=14)
        .encode(text="said:N", color=alt.Color("ink:N", scale=None))
        for left in (True, False)
    ]
    hidden = alt.Chart(alt.Data(values=[{"year": dot.year} for dot in dots] if covered else [])).encode(
        x=across
    )
    question = hidden.mark_text(text="?", fontSize=20, color=theme.MUTED, dx=11).encode(
        y=alt.value(alt.expr("height / 2"))
    )
    return alt.layer(
        shown.mark_circle(size=150, opacity=1).encode(color=alt.Color("colour:N", scale=None)),
        *said,
        hidden.mark_rule(color=theme.LINE, strokeWidth=1.5),
        question,
    ).properties(width="container", height=height, padding=panels.AROUND, view=panels.BARE)
