"""Standard charts of a table: bars, columns and points, each covered by question marks where its numbers are to be guessed first.

A table has its names in its index. What is covered is not in the chart: neither the numbers nor their labels.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import altair as alt
import pandas as pd

from viz import theme
from viz.charts.parts import vega
from viz.charts.parts.figures import draw_once
from viz.labels import phrase

COVER = "?"
Labels = str | Sequence[str]
"""A format for the numbers, or a label for each of them."""


@draw_once
def bars(
    values: pd.Series,
    labels: Labels = "{:,}",
    *,
    title: str = "",
    hues: Sequence[int] = (),
    pale: Collection[str] = (),
    covered: bool = False,
    row: int = 38,
) -> vega.Layers:
    """Return horizontal bars from 0, a row each of so many pixels, with its name at the left (a new line is one) and its label behind it.

    hues: the colour of each by number. pale: the names of bars in the background.

    >>> [bar["label"] for bar in bars(pd.Series({"BERT": 1100})).to_dict()["data"]["values"]]
    ['1,100']
    """
    names = [[phrase(line) for line in str(name).split("\n")] for name in values.index]
    texts = _labels(values, labels)
    rows = [
        {
            "place": place,
            "value": 0.0 if covered else float(value),
            "label": COVER if covered else phrase(texts[place]),
            "colour": theme.SEQUENTIAL[3]
            if values.index[place] in pale
            else theme.CATEGORICAL[hues[place] if hues else 0],
        }
        for place, value in enumerate(values)
    ]
    base = vega.Chart().encode(
        x=alt.X("value:Q", axis=None, scale=vega.exact_scale(0, 1.5 * (float(values.max()) or 1.0))),
        y=vega.row_axis(
            [lines if len(lines) > 1 else lines[0] for lines in names],
            scale=alt.Scale(paddingInner=0.34, paddingOuter=0.17),
            labelLimit=240,
            labelOffset=-9 * (max(map(len, names)) - 1),
            labelOverlap=False,
        ),
    )
    bar = base.mark_bar().encode(color=vega.raw_channel())
    label = base.mark_text(fontSize=14, align="left", dx=5, color=theme.TEXT).encode(text="label:N")
    return _titled(vega.frame(bar, label, height=12 + row * len(rows), data=rows), title)


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
    most, first, last = float(table[y].max()), float(table[x].min()), float(table[x].max())
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
        vega.exact_scale(float(table[y].min()) / 2, 2.3 * most, type="log")
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


def _labels(values: pd.Series, labels: Labels) -> list[str]:
    """Return a label for each value."""
    return [labels.format(value) for value in values] if isinstance(labels, str) else list(labels)


def _titled(chart: alt.LayerChart, title: str) -> alt.LayerChart:
    """Return the chart with its title above it, in the type of the page."""
    if not title:
        return chart
    look: dict[str, Any] = {"font": theme.FONT, "fontSize": 14, "fontWeight": "normal", "color": theme.TEXT}
    return chart.properties(title=alt.TitleParams(phrase(title), anchor="start", offset=10, **look))
