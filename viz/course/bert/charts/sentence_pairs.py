"""Two texts side by side as BERT reads them: their tokens, what is said of them, who looks at whom, what they cost.

Numbers and words in, an Altair chart out.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np

from viz import theme
from viz.charts.parts.kept import kept
from viz.labels import percent, phrase, shorten, visible

Array = np.ndarray[Any, np.dtype[Any]]
Chart = alt.LayerChart
ACROSS, HIGH = 7, 34
"""Tokens in a line, and pixels of a line."""
HUES = ("A", "B")
PARTS = ("masked LM", "next sentence")
BARE = alt.ViewBackground(strokeWidth=0)


@kept
def tokens(
    names: Sequence[str],
    segments: Sequence[int],
    *,
    quiet: Sequence[str] = (),
    across: int = ACROSS,
    high: int = HIGH,
) -> alt.TopLevelMixin:
    """The tokens in lines, those of text A in one colour and those of text B in another; B begins a line of its own.

    >>> tokens(["[CLS]", "a", "[SEP]", "b", "[SEP]"], [0, 0, 0, 1, 1]).to_dict()["layer"][1]["mark"]["type"]
    'text'
    """
    cells, line, column = [], 0, 0
    for place, (name, segment) in enumerate(zip(names, segments, strict=True)):
        if place and (column == across or segment != segments[place - 1]):
            line, column = line + 1, 0
        cells.append(
            {
                "x": column,
                "y": line,
                "name": shorten(visible(name), 14),
                "exact": visible(name),
                "text": HUES[segment],
                "place": place,
                "quiet": name in quiet,
            }
        )
        column += 1
    wide = max(cell["x"] for cell in cells) + 1
    base = alt.Chart(alt.Data(values=cells)).encode(
        x=alt.X("x:O", axis=None, scale=alt.Scale(domain=list(range(wide)), paddingInner=0.06)),
        y=alt.Y("y:O", axis=None, scale=alt.Scale(paddingInner=0.14)),
        tooltip=[
            alt.Tooltip("exact:N", title="token"),
            alt.Tooltip("text:N", title="text"),
            alt.Tooltip("place:Q", title="place"),
        ],
    )
    hue = alt.Color("text:N", scale=alt.Scale(domain=list(HUES), range=theme.CATEGORICAL[:2]), legend=None)
    rect = base.mark_rect(cornerRadius=4, opacity=0.28).encode(color=hue)
    text = base.mark_text(fontSize=14, limit=alt.ExprRef(f"width / {wide} - 4")).encode(
        text="name:N", color=alt.condition("datum.quiet", alt.value(theme.MUTED), alt.value(theme.TEXT))
    )
    return alt.layer(rect, text).properties(view=BARE, height=high * (line + 1))


@kept
def chances(
    rows: Sequence[tuple[str, float | None]], *, high: int = 40, middle: bool = True
) -> alt.TopLevelMixin:
    """Probabilities as bars on an axis from 0 to 1, None: covered; a line at one half.

    >>> chances([("follows", 0.6), ("elsewhere", None)]).to_dict()["layer"][2]["mark"]["type"]
    'text'
    """
    cells = [
        {
            "place": place,
            "name": name,
            "chance": value or 0.0,
            "said": "?" if value is None else percent(value),
        }
        for place, (name, value) in enumerate(rows)
    ]
    base = alt.Chart(alt.Data(values=cells)).encode(
        y=_rows([name for name, _ in rows]),
        tooltip=[alt.Tooltip("name:N"), alt.Tooltip("said:N", title="probability")],
    )
    across = alt.X(
        "chance:Q",
        title=None,
        scale=alt.Scale(domain=[0, 1]),
        axis=alt.Axis(format="%", values=[0, 0.25, 0.5, 0.75, 1]),
    )
    bars = base.mark_bar(cornerRadius=3, height=high * 0.52, color=theme.PRIMARY).encode(x=across)
    half = (
        alt.Chart(alt.Data(values=[{"at": 0.5}] if middle else []))
        .mark_rule(color=theme.MUTED, strokeDash=[4, 4])
        .encode(x="at:Q")
    )
    said = base.mark_text(fontSize=15, fontWeight=600, align="left", dx=6).encode(x=across, text="said:N")
    return alt.layer(bars, half, said).properties(view=BARE, height=high * len(rows) + 26)


@kept
def judged(
    values: Array | None, follows: Sequence[bool], texts: Sequence[str], cut: float, *, height: int = 250
) -> alt.TopLevelMixin:
    """A dot a pair at its P(IsNext): above those that follow, below those that do not; wrong ones in another colour. None: covered.

    Shapes: values (pair,).

    >>> judged(np.array([0.6, 0.6]), [True, False], ["a", "b"], 0.5).to_dict()["layer"][0]["mark"]["type"]
    'circle'
    """
    cells, n = [], [0, 0]
    for place, (true, text) in enumerate(zip(follows, texts, strict=True)):
        chance = 0.0 if values is None else float(values[place])
        n[true] += 1
        cells.append(
            {
                "at": chance,
                "row": int(not true) + 0.62 * (n[true] * 0.618 % 1) - 0.31,
                "told": "right" if (chance >= cut) == true else "wrong",
                "text": shorten(text, 120),
            }
        )
    up = alt.Y(
        "row:Q",
        title=None,
        scale=alt.Scale(domain=[1.5, -0.5], nice=False),
        axis=alt.Axis(
            values=[0, 1],
            grid=False,
            domain=False,
            ticks=False,
            labelExpr='["B follows", "B is not the next sentence"][datum.value]',
            labelLimit=230,
            labelFontSize=14,
        ),
    )
    across = alt.X(
        "at:Q",
        title="P(IsNext), as bert-mini says it",
        scale=alt.Scale(domain=[0, 1]),
        axis=alt.Axis(format="%", tickCount=5),
    )
    dots = (
        alt.Chart(alt.Data(values=cells if values is not None else []))
        .mark_circle(size=90, opacity=0.8)
        .encode(
            x=across,
            y=up,
            tooltip=[
                alt.Tooltip("text:N", title="pair"),
                alt.Tooltip("at:Q", title="P(IsNext)", format=".1%"),
                alt.Tooltip("told:N"),
            ],
            color=alt.Color(
                "told:N",
                scale=alt.Scale(
                    domain=["right", "wrong"], range=[theme.CATEGORICAL[2], theme.CATEGORICAL[3]]
                ),
                legend=alt.Legend(title=None, orient="bottom", direction="horizontal"),
            ),
            shape=alt.Shape("told:N"),
        )
    )
    line = (
        alt.Chart(alt.Data(values=[{"cut": cut}]))
        .mark_rule(color=theme.TEXT, strokeWidth=2)
        .encode(x="cut:Q")
    )
    hidden = (
        alt.Chart(alt.Data(values=[{"at": 0.25, "row": row} for row in (0, 1)] if values is None else []))
        .mark_text(text="?", fontSize=30, color=theme.MUTED)
        .encode(x=across, y=up)
    )
    return alt.layer(dots, line, hidden).properties(view=BARE, height=height)


@kept
def counters(rows: Sequence[tuple[str, int, float, float]], n: int, *, high: int = 46) -> alt.TopLevelMixin:
    """Counts as bars (name, count, expected, deviation) up to n, each with the band of three deviations around what is expected.

    >>> counters([("follow", 3, 2.0, 1.0)], 4).to_dict()["layer"][2]["mark"]["type"]
    'text'
    """
    cells = [
        {
            "place": place,
            "name": name,
            "count": count,
            "low": max(0.0, mean - 3 * deviation),
            "to": min(float(n), mean + 3 * deviation),
            "mean": mean,
        }
        for place, (name, count, mean, deviation) in enumerate(rows)
    ]
    base = alt.Chart(alt.Data(values=cells)).encode(
        y=_rows([name for name, *_ in rows]),
        tooltip=[
            alt.Tooltip("name:N"),
            alt.Tooltip("count:Q"),
            alt.Tooltip("mean:Q", title="expected", format=".1f"),
        ],
    )
    across = alt.X(
        "count:Q",
        title=None,
        scale=alt.Scale(domain=[0, max(1, n)]),
        axis=alt.Axis(tickCount=5, tickMinStep=1, format="d"),
    )
    band = base.mark_bar(height=high * 0.86, color=theme.HATCH, opacity=0.35, cornerRadius=3).encode(
        x=alt.X("low:Q", scale=alt.Scale(domain=[0, max(1, n)])), x2="to:Q"
    )
    bars = base.mark_bar(height=high * 0.44, color=theme.PRIMARY, cornerRadius=2).encode(x=across)
    said = base.mark_text(fontSize=15, fontWeight=600, align="left", dx=6).encode(x=across, text="count:Q")
    return alt.layer(band, bars, said).properties(view=BARE, height=high * len(rows) + 26)


@kept
def squares(
    values: Array,
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    covered: bool = False,
    chosen: tuple[int, int] | None = None,
    height: int = 250,
    low: float = 0.0,
    number: str = "{:.0%}",
) -> alt.TopLevelMixin:
    """Shares from 0 to 1 as coloured squares with their numbers; covered: "?"; `chosen` (row, column) is framed; the colours begin at `low`.

    Shapes: values (row, column).

    >>> squares(np.array([[0.2, 0.8]]), ["A"], ["A", "B"]).to_dict()["layer"][0]["mark"]["type"]
    'rect'
    """
    cells = [
        {
            "row": i,
            "column": j,
            "value": 0.0 if covered else round(float(values[i, j]), 4),
            "said": "?" if covered else number.format(values[i, j]),
            "from": rows[i],
            "to": columns[j],
            "chosen": (i, j) == chosen,
        }
        for i in range(len(rows))
        for j in range(len(columns))
    ]
    base = alt.Chart(alt.Data(values=cells)).encode(
        x=alt.X(
            "column:O",
            title=None,
            axis=alt.Axis(
                labelExpr=json.dumps(list(columns)) + "[datum.value]",
                orient="top",
                labelAngle=0,
                domain=False,
                ticks=False,
                labelFontSize=14,
                labelColor=theme.TEXT,
            ),
        ),
        y=alt.Y(
            "row:O",
            title=None,
            axis=alt.Axis(
                labelExpr=json.dumps(list(rows)) + "[datum.value]",
                domain=False,
                ticks=False,
                labelFontSize=14,
                labelColor=theme.TEXT,
            ),
        ),
        tooltip=[alt.Tooltip("from:N"), alt.Tooltip("to:N"), alt.Tooltip("said:N", title="share")],
    )
    colour = alt.Color(
        "value:Q",
        scale=alt.Scale(domain=[low, 1], range=theme.SEQUENTIAL, interpolate="rgb", clamp=True),
        legend=None,
    )
    rect = base.mark_rect(stroke=theme.BACKGROUND, strokeWidth=2).encode(color=colour)
    frame = base.transform_filter("datum.chosen").mark_rect(
        filled=False, stroke=theme.CATEGORICAL[1], strokeWidth=3
    )
    said = base.mark_text(fontSize=13 if len(columns) < 6 else 12).encode(
        text="said:N",
        color=alt.condition(
            f"datum.value > {low + (1 - low) * theme.INK_TURNS}",
            alt.value(theme.HIGH_INK),
            alt.value(theme.LOW_INK),
        ),
    )
    return alt.layer(rect, said, frame).properties(view=BARE, height=height)


@kept
def losses(names: Sequence[str], parts: Array | None, *, high: int = 34) -> alt.TopLevelMixin:
    """The two parts of each loss, one behind the other as a bar; the sum stands behind. None: covered.

    Shapes: parts (row, 2), in nats.

    >>> losses(["all"], np.array([[2.0, 0.7]])).to_dict()["layer"][1]["data"]["values"][0]["said"]
    '2.70'
    """
    n = len(names)
    found = np.zeros((n, 2)) if parts is None else np.asarray(parts, dtype=np.float64)
    most = max(1.0, 1.12 * float(found.sum(1).max(initial=0)))
    pieces = [
        {
            "place": i,
            "part": part,
            "order": j,
            "from": float(found[i, :j].sum()),
            "to": float(found[i, : j + 1].sum()),
            "nats": float(found[i, j]),
            "name": names[i],
        }
        for i in range(n)
        for j, part in enumerate(PARTS)
    ]
    ends = [
        {
            "place": i,
            "end": float(found[i].sum()),
            "said": "?" if parts is None else f"{found[i].sum():.2f}",
            "name": names[i],
        }
        for i in range(n)
    ]
    y, span = _rows(list(names)), alt.Scale(domain=[0, most], nice=False)
    bars = (
        alt.Chart(alt.Data(values=pieces))
        .mark_bar(height=high * 0.6)
        .encode(
            x=alt.X("from:Q", scale=span, title="−ln P, nats", axis=alt.Axis(tickCount=5)),
            x2="to:Q",
            y=y,
            tooltip=[alt.Tooltip("name:N"), alt.Tooltip("part:N"), alt.Tooltip("nats:Q", format=".3f")],
            color=alt.Color(
                "part:N",
                scale=alt.Scale(domain=list(PARTS), range=[theme.CATEGORICAL[0], theme.CATEGORICAL[1]]),
                legend=alt.Legend(title=None, orient="bottom", direction="horizontal"),
            ),
        )
    )
    said = (
        alt.Chart(alt.Data(values=ends))
        .mark_text(fontSize=14, fontWeight=600, align="left", dx=6)
        .encode(x=alt.X("end:Q", scale=span), y=y, text="said:N")
    )
    return alt.layer(bars, said).properties(view=BARE, height=high * n + 60)


def _rows(names: Sequence[str]) -> alt.Y:
    """Rows from above, each with its name."""
    return alt.Y(
        "place:O",
        title=None,
        axis=alt.Axis(
            labelExpr=json.dumps([shorten(phrase(name), 34) for name in names]) + "[datum.value]",
            labelLimit=230,
            labelPadding=8,
            domain=False,
            ticks=False,
            labelFontSize=14,
            labelColor=theme.TEXT,
        ),
    )
