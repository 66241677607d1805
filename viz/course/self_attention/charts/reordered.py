"""Rows of numbers of one sentence and of its words put otherwise: each row is joined to the row of the same word."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np

from viz import theme
from viz.charts.parts import vega
from viz.charts.parts.figures import draw_once
from viz.labels import phrase, visible
from viz.number_text import number, percent_of_change

Array = np.ndarray[Any, np.dtype[Any]]
ROW, GAP = 34, 0.45
KEPT, CHANGED = theme.PRIMARY, theme.CATEGORICAL[1]
SAME, OTHER = "the same numbers", "other numbers"
WIDE, BESIDE = 0.36, 0.005
"""Of the width: a row of numbers, and the room between its end and a line."""
ABOVE, BELOW, BETWEEN = 28, 46, 5
"""Pixels above the rows for what they are, below for what colours mean, and between two rows."""
SPACE = "\u2002"
"""Between a word and its change: wider than a space, which a picture would not keep twice."""
AROUND = {"left": 4, "right": 4, "top": 2, "bottom": 2}


@draw_once
def reordered(
    before: Array,
    after: Array,
    words: Sequence[str],
    origin: Sequence[int],
    change: Array,
    *,
    unchanged: Sequence[bool],
    titles: tuple[str, str],
    covered: bool = False,
    means: tuple[Array, Array, float, bool] | None = None,
    row: int = ROW,
) -> alt.TopLevelMixin:
    """Draw the rows of a matrix before (left) and after (right) a reordering of the words; a line joins each word to itself, blue where its row is the same.

    At the right, each word is followed by its `change`, as a share of the row's length. `covered` hides the right rows, the
    lines and the changes. `means` adds a last row: the mean of all rows before and after, its change, whether it is kept.
    Shapes: before (n, d), after (m, d), origin and change (m,): row i after is the word that was row origin[i].
    Errors: ValueError when these do not fit. The layers: rows before, rows after, lines, titles, keys.

    >>> figure = reordered(np.eye(2), np.eye(2)[::-1], ["a", "b"], (1, 0), np.zeros(2), unchanged=(True, True), titles=("f(X)", "f(PX)")).to_dict()
    >>> [cell["v"] for cell in figure["layer"][1]["data"]["values"]], figure["layer"][1]["encoding"]["y"]["axis"]["labelExpr"].count("0%")
    ([0.0, 1.0, 1.0, 0.0], 2)
    """
    if len(words) != len(before) or not len(after) == len(origin) == len(change) == len(unchanged):
        raise ValueError(
            f"{len(words)} words for {len(before)} rows; {len(origin)} origins, {len(change)} changes for {len(after)} rows"
        )
    limit = max(float(np.abs(before).max(initial=0)), float(np.abs(after).max(initial=0)), 1e-9)
    rows: list[list[Array]] = [list(before), list(after)]
    places = [[_middle(i, row) for i in range(len(side))] for side in rows]
    moved = ["" if covered else f"{SPACE}{percent_of_change(value)}" for value in change]
    ends = [
        [visible(word) for word in words],
        [f"{visible(words[i])}{by}" for i, by in zip(origin, moved, strict=True)],
    ]
    pairs = [(places[0][i], places[1][place], bool(unchanged[place])) for place, i in enumerate(origin)]
    last = max(len(before), len(after)) - 1.0
    if means is not None:
        last += 1 + GAP
        for side, mean in enumerate(means[:2]):
            rows[side].append(mean)
            places[side].append(_middle(last, row))
        ends[0].append("mean of all rows")
        ends[1].append("mean" if covered else f"mean{SPACE}{percent_of_change(means[2])}")
        pairs.append((places[0][-1], places[1][-1], means[3]))
    bottom = _middle(last + 0.6, row)
    ys = vega.exact_scale(bottom + BELOW, 0)
    strips = [
        _strip([] if covered and side else rows[side], places[side], ends[side], limit, ys, side, row)
        for side in range(2)
    ]
    layers = [
        *strips,
        _lines([] if covered else pairs, ys),
        *_titles(titles),
        *_keys(limit, [] if covered else [same for *_, same in pairs], bottom, ys),
    ]
    if covered:
        mark = vega.rows([{"x": 1 - WIDE / 2, "y": (places[1][0] + places[1][-1]) / 2}])
        mark = mark.mark_text(text="?", fontSize=44, color=theme.MUTED)
        layers.append(mark.encode(x=_x("x"), y=_y(ys)))
    whole: Any = alt.layer(*layers).resolve_axis(y="independent").resolve_scale(color="independent")
    return whole.properties(
        view=vega.BARE,
        height=round(bottom + BELOW) + AROUND["top"] + AROUND["bottom"],
        padding=AROUND,
    )


def _middle(place: float, row: int) -> float:
    """Return the distance in pixels of the middle of a row from the top; `place` counts rows from 0, `row` is the height of one in pixels."""
    return round(ABOVE + (place + 0.5) * row, 2)


def _x(field: str) -> alt.X:
    return alt.X(f"{field}:Q", axis=None, scale=vega.exact_scale(0, 1))


def _y(ys: alt.Scale) -> alt.Y:
    return alt.Y("y:Q", axis=None, scale=ys)


def _strip(
    rows: Sequence[Array],
    places: Sequence[float],
    names: Sequence[str],
    limit: float,
    ys: alt.Scale,
    side: int,
    row: int,
) -> alt.Chart:
    """Draw the rows of one side (0 left, 1 right) as coloured cells, their names at the outer edge; `limit` is the end of the colour scale."""
    axis = vega.bare_axis(
        values=list(places),
        labelExpr=vega.label_expression(dict(zip(places, names, strict=True))),
        orient="right" if side else "left",
        labelFontSize=14,
        labelColor=theme.TEXT,
        labelPadding=8,
        labelLimit=170,
        labelOverlap=False,
    )
    cells = [
        {"c": c, "y": place, "v": round(float(value), 4), "word": name.split(SPACE)[0]}
        for each, place, name in zip(rows, places, names, strict=False)
        for c, value in enumerate(each)
    ]
    wide, half = WIDE / max([len(each) for each in rows] + [1]), row / 2 - BETWEEN / 2
    base = (
        vega.rows(cells)
        .transform_calculate(
            x=f"{side * (1 - WIDE)} + datum.c * {wide}", top=f"datum.y - {half}", low=f"datum.y + {half}"
        )
        .transform_calculate(x2=f"datum.x + {wide}")
    )
    colours = alt.Color(
        "v:Q", scale=alt.Scale(domain=[-limit, limit], range=theme.DIVERGING, interpolate="rgb"), legend=None
    )
    return base.mark_rect().encode(
        x=_x("x"),
        x2="x2:Q",
        y=alt.Y("top:Q", title=None, scale=ys, axis=axis),
        y2="low:Q",
        color=colours,
        tooltip=vega.tooltip("word:N", ("c:Q", "number"), ("v:Q", "is", ".3f")),
    )


def _lines(pairs: Sequence[tuple[float, float, bool]], ys: alt.Scale) -> alt.Chart:
    t = np.linspace(0, 1, 13)
    bend, across = t * t * (3 - 2 * t), WIDE + BESIDE + t * (1 - 2 * WIDE - 2 * BESIDE)
    points = [
        {
            "line": line,
            "x": round(float(x), 4),
            "y": round(start + (end - start) * float(b), 2),
            "numbers": SAME if same else OTHER,
        }
        for line, (start, end, same) in enumerate(pairs)
        for x, b in zip(across, bend, strict=True)
    ]
    line = vega.rows(points).mark_line(strokeWidth=2.2, interpolate="monotone")
    hue = vega.colour_channel("numbers:N", {SAME: KEPT, OTHER: CHANGED})
    return line.encode(x=_x("x"), y=_y(ys), detail="line:N", color=hue)


def _titles(titles: tuple[str, str]) -> list[alt.Chart]:
    ends: tuple[tuple[Any, Any], ...] = (("left", 0), ("right", "width"))
    return [
        vega.rows([{"text": phrase(title)}])
        .mark_text(align=align, baseline="top", x=x, y=2, fontSize=13, color=theme.MUTED)
        .encode(text="text:N")
        for title, (align, x) in zip(titles, ends, strict=True)
    ]


def _keys(limit: float, kinds: Sequence[bool], bottom: float, ys: alt.Scale) -> list[alt.Chart]:
    """Draw the legends below the rows: the scale of the colours of numbers, and the colours of the lines."""
    y, top = _y(ys), bottom + 6
    edges = np.linspace(0, WIDE, len(theme.DIVERGING) + 1).round(5).tolist()
    steps = [
        {"x": a, "x2": b, "y": top, "y2": top + 9, "colour": colour}
        for a, b, colour in zip(edges[:-1], edges[1:], theme.DIVERGING, strict=True)
    ]
    ends: list[dict[str, Any]] = [
        {"x": x, "y": top + 14, "text": text, "align": align}
        for x, text, align in (
            (0.0, number(-limit, 1), "left"),
            (WIDE / 2, "0", "center"),
            (WIDE, number(limit, 1), "right"),
        )
    ]
    scale = (
        vega.rows(steps).mark_rect().encode(x=_x("x"), x2="x2:Q", y=y, y2="y2:Q", color=vega.raw_channel())
    )
    said = [
        vega.rows([end])
        .mark_text(fontSize=13, align=end["align"], baseline="top", color=theme.MUTED)
        .encode(x=_x("x"), y=y, text="text:N")
        for end in ends
    ]
    present = [(same, text) for same, text in ((True, SAME), (False, OTHER)) if same in kinds]
    rows = [
        {
            "x": WIDE + 0.06,
            "x2": WIDE + 0.11,
            "y": top + 6 + 21 * place,
            "text": text,
            "colour": KEPT if same else CHANGED,
        }
        for place, (same, text) in enumerate(present)
    ]
    base = vega.rows(rows)
    ticks = base.mark_rule(strokeWidth=2.2).encode(x=_x("x"), x2="x2:Q", y=y, color=vega.raw_channel())
    words = base.mark_text(fontSize=13, align="left", baseline="middle", dx=6, color=theme.TEXT)
    return [scale, *said, ticks, words.encode(x=_x("x2"), y=y, text="text:N")]
