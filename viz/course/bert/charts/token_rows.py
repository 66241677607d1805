"""Rows of tokens, one row below the other and a column a token: the text, what is read, what is wanted. Long texts are broken into bands."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import altair as alt

from viz import theme
from viz.charts.parts import panels, vega
from viz.charts.parts.figures import draw_once
from viz.labels import phrase, shorten, visible

LETTERS = 11
HIGH, GAP = 31, 0.55
"""Pixels of a row; the gap between two bands, in rows."""
OF_ROW, LARGEST, EM = 0.48, 24, 1.6
"""On a wall: the size of type as a share of a row, its most in pixels, and the size in widths of a letter."""


@dataclass(frozen=True)
class Row:
    """A name, a text for each token ("": no cell there) and a colour by number for each, None: quiet; no `hues`: all quiet."""

    name: str
    cells: Sequence[str]
    hues: Sequence[int | None] = ()


def bands(n: int, across: int, breaks: Sequence[int] = ()) -> list[tuple[int, int]]:
    """Return the start and the end (exclusive) of each band: at most `across` tokens, about equally long, and a new band at each of `breaks`.

    >>> bands(11, 8, [6]), bands(9, 8)
    ([(0, 6), (6, 11)], [(0, 5), (5, 9)])
    """
    edges = [0, *sorted(at for at in set(breaks) if 0 < at < n), n]
    made: list[tuple[int, int]] = []
    for low, high in pairwise(edges):
        parts = max(1, -(-(high - low) // across))
        size = -(-(high - low) // parts)
        made += [(at, min(at + size, high)) for at in range(low, high, size)]
    return made


@draw_once
def token_rows(
    rows: Sequence[Row],
    *,
    across: int = 8,
    breaks: Sequence[int] = (),
    high: int = HIGH,
    room: int = 0,
) -> vega.Layers:
    """Draw rows of tokens below each other, one column for each token, broken into bands of at most `across` tokens.

    `breaks` are tokens that begin a new band. `high` is the height of a row in pixels; where `room`, the height of the chart in Present, has
    more for each row, the rows are higher.

    >>> chart = token_rows([Row("reads", ["a", "[MASK]"], [None, 0])]).to_dict()
    >>> [(cell["row"], cell["exact"]) for cell in chart["data"]["values"]]
    [('reads', 'a'), ('reads', '[MASK]')]
    """
    n = max((len(row.cells) for row in rows), default=0)
    cut = bands(n, across, breaks)
    wide = max((b - a for a, b in cut), default=1)
    where = {i: (i - a, number * (len(rows) + GAP)) for number, (a, b) in enumerate(cut) for i in range(a, b)}
    names = [phrase(row.name) for row in rows]
    cells = [
        {
            "x": where[i][0],
            "left": where[i][0] - 0.47,
            "right": where[i][0] + 0.47,
            "y": where[i][1] + at,
            "top": where[i][1] + at - 0.43,
            "bottom": where[i][1] + at + 0.43,
            "text": visible(shorten(cell, LETTERS)),
            "exact": visible(cell),
            "row": names[at],
            "colour": theme.SURFACE if hue is None else theme.CATEGORICAL[hue],
            "shade": 1.0 if hue is None else 0.32,
        }
        for at, row in enumerate(rows)
        for i, (cell, hue) in enumerate(zip(row.cells, row.hues or [None] * len(row.cells), strict=True))
        if cell
    ]
    tall = len(cut) * (len(rows) + GAP) - GAP
    row_high = vega.row_height(tall, high, room)
    usual = 13 if wide <= 8 else 12
    longest = max((len(cell["text"]) for cell in cells), default=1) + 1
    most = min(LARGEST, OF_ROW * row_high)
    size = f"max({usual}, min({most:.1f}, {EM} * width / {wide * longest}))" if room else str(usual)
    ticks = {
        number * (len(rows) + GAP) + at: name for number in range(len(cut)) for at, name in enumerate(names)
    }
    told = {f"{height:.2f}": name for height, name in ticks.items()}
    side = alt.Axis(
        values=list(ticks),
        labelExpr=f"({json.dumps(told)})[format(datum.value, '.2f')]",
        grid=False,
        domain=False,
        ticks=False,
        labelPadding=7,
        labelFontSize=13,
        labelColor=theme.MUTED,
        labelLimit=150,
        labelOverlap=False,
    )
    along, down = vega.hidden_axes((-0.52, wide - 0.48), (tall - 0.48, -0.52), "left:Q", "top:Q")
    down = down.title(None).axis(side)
    base = vega.rows(cells, tooltip=vega.tooltip(("exact:N", "token"), "row:N"))
    rect = base.mark_rect(stroke=theme.LINE, strokeWidth=1).encode(
        x=along,
        x2="right:Q",
        y=down,
        y2="bottom:Q",
        color=vega.raw_channel("colour:N"),
        fillOpacity=vega.raw_channel("shade:Q", alt.FillOpacity),
    )
    text = base.mark_text(
        fontSize=alt.ExprRef(f"width / {wide} < 52 ? 11 : {size}"),
        color=theme.TEXT,
        limit=alt.ExprRef(f"width / {wide} - 2"),
    ).encode(x=panels.with_field(along, "x:Q"), y=panels.with_field(down, "y:Q"), text="text:N")
    return vega.frame(rect, text, height=round(row_high * tall) + 6)
