"""Rows of tokens, one row below the other and a column a token: the text, what is read, what is wanted. Long texts are broken into bands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import plotly.graph_objects as go

from viz import theme
from viz.labels import plain, shorten

LETTERS = 11
HIGH, GAP = 31, 0.55
"""Pixels of a row; the gap between two bands, in rows."""


@dataclass(frozen=True)
class Row:
    """A name, a text for each token ("": no cell there) and a colour by number for each, None: quiet; no `hues`: all quiet."""

    name: str
    cells: Sequence[str]
    hues: Sequence[int | None] = ()


def bands(n: int, across: int, breaks: Sequence[int] = ()) -> list[tuple[int, int]]:
    """Where each band begins and ends: at most `across` tokens, evenly, and a new one at each of `breaks`.

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


def token_rows(rows: Sequence[Row], *, across: int = 8, breaks: Sequence[int] = (), marked: int | None = None, high: int = HIGH) -> go.Figure:
    """The rows in bands; `marked` is a token that is framed through all rows, `high` the pixels of a row.

    >>> figure = token_rows([Row("reads", ["a", "[MASK]"], [None, 0])])
    >>> figure.data[0].name, figure.data[0].customdata
    ('reads', ('a', '[MASK]'))
    """
    n = max((len(row.cells) for row in rows), default=0)
    cut = bands(n, across, breaks)
    wide = max((b - a for a, b in cut), default=1)
    where = {i: (i - a, number * (len(rows) + GAP)) for number, (a, b) in enumerate(cut) for i in range(a, b)}
    figure, size = go.Figure(), 13 if wide <= 8 else 12
    ticks: list[tuple[float, str]] = []
    for at, row in enumerate(rows):
        hues = list(row.hues) or [None] * len(row.cells)
        there = [i for i, cell in enumerate(row.cells) if cell]
        for i in there:
            x, y = where[i]
            hue = hues[i]
            figure.add_shape(type="rect", x0=x - 0.47, x1=x + 0.47, y0=y + at - 0.43, y1=y + at + 0.43, layer="below", line={"width": 1, "color": theme.LINE},
                             fillcolor=theme.SURFACE if hue is None else theme.CATEGORICAL[hue], opacity=1.0 if hue is None else 0.32)  # fmt: skip
        figure.add_scatter(
            x=[where[i][0] for i in there], y=[where[i][1] + at for i in there], mode="text", text=[plain(shorten(row.cells[i], LETTERS)) for i in there],
            customdata=[plain(row.cells[i]) for i in there], textfont={"size": size, "color": theme.TEXT}, name=plain(row.name).replace("·", " "),
            hovertemplate="%{customdata}<extra>" + plain(row.name).replace("·", " ") + "</extra>", showlegend=False, cliponaxis=False,
        )  # fmt: skip
        ticks += [(number * (len(rows) + GAP) + at, plain(row.name).replace("·", " ")) for number in range(len(cut))]
    if marked is not None and marked in where:
        x, y = where[marked]
        figure.add_shape(type="rect", x0=x - 0.5, x1=x + 0.5, y0=y - 0.5, y1=y + len(rows) - 0.5, line={"color": theme.TEXT, "width": 2})
    tall = len(cut) * (len(rows) + GAP) - GAP
    figure.update_xaxes(visible=False, range=[-0.52, wide - 0.48], fixedrange=True)
    figure.update_yaxes(tickvals=[y for y, _ in ticks], ticktext=[name for _, name in ticks], range=[tall - 0.48, -0.52], showgrid=False, zeroline=False,
                        fixedrange=True, ticks="", tickfont={"size": 13, "color": theme.MUTED})  # fmt: skip
    return figure.update_layout(template=theme.template(), height=round(high * tall) + 14, margin={"l": 4, "r": 4, "t": 4, "b": 4}, showlegend=False, dragmode=False)
