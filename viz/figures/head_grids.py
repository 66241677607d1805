"""One tensor of multi-head attention as a grid of cells, each in the colour of its head; and bars in these colours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

import numpy as np
import plotly.graph_objects as go

from viz import theme
from viz.labels import plain

Array = np.ndarray[Any, np.dtype[Any]]
TINT = 0.45
"""How strong a cell's colour is: what is written in it stays readable."""
GAP = 0.3
"""Of a cell, between the numbers of two heads side by side; heads below each other leave room for a name."""
ABOVE = 0.85
TOP = 66
ROOM = 0.7
"""Of a cell, above the first row: the names of the heads."""
LEAST = 15
"""Pixels of a cell below which nothing is written in it."""
MOST = 12
"""Columns above which nothing is written in cells."""


def colour(head: int) -> str:
    """The colour of a head by its number from 0; of no head, -1, a grey."""
    return theme.HATCH if head < 0 else theme.HEADS[head % len(theme.HEADS)]


def laid_out(owners: Array, stacked: bool) -> Array:
    """The cells of a tensor (row, column), (row, head, number) or, `stacked`, (head, row, number) as (row, column) with -2 in the gaps.

    >>> laid_out(np.array([[[0], [1]], [[0], [1]]]), False).tolist()
    [[0, -2, 1], [0, -2, 1]]
    >>> laid_out(np.array([[[0], [0]], [[1], [1]]]), True).tolist()
    [[0], [0], [-2], [1], [1]]
    """
    if owners.ndim == 2:
        return owners
    if stacked:
        gap = np.full((1, owners.shape[2]), -2, dtype=owners.dtype)
        return np.concatenate([part for block in owners for part in (block, gap)][:-1])
    gap = np.full((owners.shape[0], 1), -2, dtype=owners.dtype)
    return np.concatenate([part for block in owners.swapaxes(0, 1) for part in (block, gap)][:-1], axis=1)


def head_grid(
    owners: Array, written: Array, rows: Sequence[str], *, title: str, shape: str, code: str = "", stacked: bool = False, pixels: float = 30,
    covered: bool = False, room: bool = False,
) -> go.Figure:
    """One tensor: `owners` its heads (-1: none), `written` what stands in each cell, both of the tensor's shape.

    rows: a name for each row of a block. `covered`: the cells are grey and a question mark stands over them.
    `room`: for large type, without the line of code.

    >>> figure = head_grid(np.array([[0, 0, 1, 1]]), np.array([list("abcd")]), ["we"], title="flatten", shape="(1, 1, 4)")
    >>> [note.text for note in figure.layout.annotations][-2:]
    ['head 1', 'head 2']
    """  # fmt: skip
    cells = laid_out(np.full_like(owners, -1) if covered else owners, stacked)
    there = cells != -2
    n_rows, n_columns = cells.shape
    wide, tall = np.where(there.any(0), 1.0, GAP), np.where(there.any(1), 1.0, ABOVE)
    x, y = np.concatenate([[0.0], wide.cumsum()]), np.concatenate([[0.0], tall.cumsum()])
    figure = go.Figure(go.Heatmap(
        x=x.tolist(), y=y.tolist(), z=[[None if head == -2 else int(head) for head in row] for row in cells], zmin=-1.5, zmax=len(theme.HEADS) - 0.5, colorscale=_steps(), showscale=False, opacity=TINT,
        xgap=1.5, ygap=1.5, hoverinfo="skip", hoverongaps=False,
    ))  # fmt: skip
    middle_x, middle_y = (x[:-1] + x[1:]) / 2, (y[:-1] + y[1:]) / 2
    if not covered and pixels >= LEAST and n_columns <= MOST:
        texts = laid_out(_numbered(written), stacked)
        at = np.argwhere(there)
        figure.add_scatter(
            x=middle_x[at[:, 1]].tolist(), y=middle_y[at[:, 0]].tolist(), mode="text", text=[plain(str(written.ravel()[texts[row, column]])) for row, column in at],
            textfont={"size": 12, "color": theme.TEXT}, hoverinfo="skip", showlegend=False,
        )  # fmt: skip
    for text, at_x, at_y in _names(cells, x, y, stacked) if not covered else [("?", x[-1] / 2, y[-1] / 2)]:
        figure.add_annotation(
            x=at_x, y=at_y, text=text, showarrow=False, yanchor="middle" if covered else "bottom", font={"size": 30 if covered else 13, "color": theme.TEXT}, yshift=0 if covered else -2,
        )  # fmt: skip
    figure.layout.annotations = (*_heading(title, shape, code, room), *figure.layout.annotations)
    named = [place for place in range(n_rows) if there[place].any()]
    figure.update_xaxes(visible=False, range=[x[0], x[-1]], fixedrange=True)
    figure.update_yaxes(
        tickvals=[float(middle_y[place]) for place in named], ticktext=[plain(rows[i % len(rows)]) for i in range(len(named))], range=[y[-1], y[0] - ROOM],
        showgrid=False, zeroline=False, fixedrange=True, showticklabels=pixels >= LEAST, tickfont={"size": 13, "color": theme.MUTED},
    )  # fmt: skip
    height = int(TOP + pixels * (y[-1] + ROOM))
    return figure.update_layout(template=theme.template(), height=height, margin={"l": 4, "r": 4, "t": TOP, "b": 2}, showlegend=False)


def _steps() -> list[list[object]]:
    colours = [colour(head) for head in range(-1, len(theme.HEADS))]
    return [[edge / len(colours), each] for place, each in enumerate(colours) for edge in (place, place + 1)]


def _numbered(written: Array) -> Array:
    return np.arange(written.size).reshape(written.shape)


def _names(cells: Array, x: Array, y: Array, stacked: bool) -> list[tuple[str, float, float]]:
    """The number of each head above its first row of cells: text and place."""
    starts = [0, *(np.flatnonzero((cells == -2).all(1)) + 1)] if stacked else [0]
    found = []
    for row in starts:
        for head, group in groupby(range(cells.shape[1]), key=lambda column: int(cells[row, column])):
            places = list(group)
            if head >= 0:
                left, right = x[places[0]], x[places[-1] + 1]
                found.append((f"head {head + 1}" if right - left >= 2 else f"{head + 1}", float(left + right) / 2, float(y[row])))
    return found


def _heading(title: str, shape: str, code: str, room: bool) -> tuple[go.layout.Annotation, ...]:
    high, low = (30, 2) if room else (38, 17)
    lines = [(f"<b>{plain(title).replace('·', ' ')}</b>", 17, theme.FONT, theme.TEXT, high), (plain(shape).replace("·", " "), 15, theme.MONO, theme.TEXT, low)]
    if not room:
        lines.append((plain(code).replace("·", " "), 12, theme.MONO, theme.MUTED, 0))
    return tuple(
        go.layout.Annotation(
            text=text, x=0, xref="paper", xanchor="left", y=1, yref="paper", yanchor="bottom", yshift=shift, showarrow=False, font={"size": size, "family": family, "color": ink},
        )
        for text, size, family, ink, shift in lines
    )  # fmt: skip


def per_head(values: Sequence[float], names: Sequence[str], *, title: str, number: str = "{:.2f}", heads: Sequence[int] | None = None,
             marks: Mapping[float, str] | None = None) -> go.Figure:  # fmt: skip
    """One horizontal bar a head in its colour, with its number; values may be negative. `heads`: their numbers, -1 for no head.

    `marks`: places of the axis with their names, all of them in the picture, so that small bars look small.

    >>> per_head([3.9, 0.0], ["head 1", "head 2"], title="change").data[0].text
    ('3.90', '0.00')
    """
    known = list(range(len(values))) if heads is None else list(heads)
    places = list(range(len(values)))
    low, high = min(0.0, *values, *(marks or ())), max(0.0, *values, *(marks or ()))
    room = 0.2 * ((high - low) or 1.0)
    figure = go.Figure(go.Bar(
        x=[float(value) for value in values], y=places, orientation="h", width=0.66, hoverinfo="skip", cliponaxis=False,
        text=[number.format(value).replace("-", "−") for value in values], textposition="outside", constraintext="none", textfont={"size": 14, "color": theme.TEXT},
        marker={"color": [colour(head) for head in known], "line": {"width": 0}},
    ))  # fmt: skip
    figure.update_xaxes(range=[low - (room if low < 0 else 0), high + room], showticklabels=False, showgrid=False, zeroline=True, fixedrange=True)
    figure.update_yaxes(
        tickvals=places, ticktext=[plain(name).replace("·", " ") for name in names], range=[len(values) - 0.4, -0.6], showgrid=False, fixedrange=True,
        ticks="outside", ticklen=8, tickcolor="rgba(0,0,0,0)", tickfont={"size": 14, "color": theme.TEXT}, automargin=True,
    )  # fmt: skip
    if marks:
        figure.update_xaxes(
            tickvals=list(marks), ticktext=[plain(name).replace("·", " ") for name in marks.values()], showticklabels=True, showgrid=True, side="top",
            tickfont={"size": 13, "color": theme.MUTED},
        )  # fmt: skip
    above = 38 * bool(title) + 26 * bool(marks) + 2
    return figure.update_layout(
        template=theme.template(), height=above + 8 + 30 * len(values), margin={"l": 4, "r": 12, "t": above, "b": 2}, showlegend=False,
        title={"text": plain(title).replace("·", " ") if title else None, "font": {"size": 15, "family": theme.FONT, "color": theme.MUTED}},
    )  # fmt: skip
