"""How large: bars with their exact numbers, and sizes over the years on a logarithmic axis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from viz import theme
from viz.charts.parts import vega
from viz.charts.parts.figures import draw_once
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


@draw_once
def bars(rows: Sequence[Bar], title: str, *, covered: bool = False, row: int = 38) -> vega.Layers:
    """Horizontal bars from 0, each with its text behind it. `covered`: the names, each with a question mark.

    >>> [bar["said"] for bar in bars([Bar("BERT", 110.0, "110M")], "sizes").to_dict()["data"]["values"]]
    ['110M']
    """
    names = [[phrase(line) for line in each.name.split("\n")] for each in rows]
    values = [
        {
            "place": place,
            "value": 0.0 if covered else each.value,
            "said": "?" if covered else phrase(each.text),
            "colour": theme.SEQUENTIAL[3] if each.weak else theme.CATEGORICAL[each.hue],
        }
        for place, each in enumerate(rows)
    ]
    most = max(each.value for each in rows) or 1.0
    base = vega.Chart().encode(
        x=alt.X("value:Q", axis=None, scale=vega.exact_scale(0, 1.5 * most)),
        y=vega.row_axis(
            [lines if len(lines) > 1 else lines[0] for lines in names],
            scale=alt.Scale(paddingInner=0.34, paddingOuter=0.17),
            labelLimit=240,
            labelOffset=-9 * (max(map(len, names)) - 1),
            labelOverlap=False,
        ),
    )
    bar = base.mark_bar().encode(color=vega.raw_channel("colour:N"))
    said = base.mark_text(fontSize=14, align="left", dx=5, color=theme.TEXT).encode(text="said:N")
    look: dict[str, Any] = {"font": theme.FONT, "fontSize": 14, "fontWeight": "normal", "color": theme.TEXT}
    heading = alt.TitleParams(phrase(title), anchor="start", offset=10, **look)
    return vega.frame(bar, said, height=12 + row * len(rows), data=values).properties(title=heading)


@draw_once
def race(
    dots: Sequence[Dot], *, logarithmic: bool = True, covered: bool = False, height: int = 330
) -> vega.Layers:
    """Billions of parameters over the years. `covered`: only when each came out.

    >>> race([Dot("A", 2019.0, 1.5, "1.5"), Dot("B", 2020.0, 175.0, "175")]).to_dict()["layer"][0]["encoding"]["y"]["scale"]["type"]
    'log'
    """
    high, years = max(dot.value for dot in dots), [dot.year for dot in dots]
    first, last = min(years), max(years)
    spread = (
        vega.exact_scale(10**-1.3, 10**2.6, type="log") if logarithmic else vega.exact_scale(-6.0, 1.1 * high)
    )
    bare: dict[str, Any] = {"domain": False, "ticks": False, "labelPadding": 6}
    ticks: dict[str, Any] = (
        {"values": [0.1, 1, 10, 100], "labelExpr": "datum.value + ''"} if logarithmic else {"tickCount": 5}
    )
    across = alt.X(
        "year:Q",
        title=None,
        scale=vega.exact_scale(first - 0.12, last + 0.12),
        axis=alt.Axis(values=[2019, 2020], format="d", grid=False, **bare),
    )
    up = alt.Y("value:Q", title="parameters, billions", scale=spread, axis=alt.Axis(**ticks, **bare))
    rows = [
        {
            "year": dot.year,
            "value": dot.value,
            "name": phrase(dot.name),
            "text": phrase(dot.text),
            "named": logarithmic or dot.value > high / 40,
            "left": dot.year > (first + last) / 2,
            "colour": theme.CATEGORICAL[1 if dot.strong else 0],
            "ink": theme.CATEGORICAL[1] if dot.strong else theme.TEXT,
        }
        for dot in dots
    ]
    shown = vega.rows([] if covered else rows, x=across, y=up).transform_calculate(
        said="!datum.named ? '' : width < 420 ? datum.name : datum.name + '  ' + datum.text"
    )
    said = [
        shown.transform_filter(f"{'' if left else '!'}datum.left")
        .mark_text(align="right" if left else "left", dx=-11 if left else 11, fontSize=14)
        .encode(text="said:N", color=vega.raw_channel("ink:N"))
        for left in (True, False)
    ]
    hidden = vega.rows([{"year": year} for year in years] if covered else [], x=across)
    question = hidden.mark_text(text="?", fontSize=20, color=theme.MUTED, dx=11)
    return vega.frame(
        shown.mark_circle(size=150, opacity=1).encode(color=vega.raw_channel("colour:N")),
        *said,
        hidden.mark_rule(color=theme.LINE, strokeWidth=1.5),
        question.encode(y=alt.value(alt.expr("height / 2"))),
        height=height,
    )
