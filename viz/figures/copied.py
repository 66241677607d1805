"""Rows of tiles, one a letter: what was read, and what was written of it. Wrong places are framed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from viz import theme
from viz.labels import plain

STRIDE = 1.75
"""Rows stand this far apart, in tiles: the name of a row stands above it."""


@dataclass(frozen=True)
class Row:
    """A line of letters: `shades` from 0 to 1 (None: plain tiles), `wrong` marks the framed ones."""

    name: str
    letters: Sequence[str]
    shades: Sequence[float] | None = None
    wrong: Sequence[bool] = ()


def letters(rows: Sequence[Row], *, shade: str = "") -> go.Figure:
    """The rows below each other, place under place; `shade` says what a shade means.

    >>> figure = letters([Row("read", "ab"), Row("written", "ax", [0.9, 0.4], [False, True])])
    >>> list(figure.data[1].text[0]), len(figure.layout.shapes)
    (['a', 'x'], 1)
    """
    longest = max([len(row.letters) for row in rows] + [8])
    size = 18 if longest <= 14 else 15 if longest <= 22 else 12
    figure = go.Figure()
    for at, row in enumerate(rows):
        y, places = at * STRIDE, list(range(len(row.letters)))
        z = [0.0] * len(places) if row.shades is None else [float(p) for p in row.shades]
        known = "" if row.shades is None or not shade else f"<br>{plain(shade).replace('·', ' ')} %{{z:.1%}}"
        figure.add_trace(go.Heatmap(
            x=places, y=[y], z=[z], zmin=0, zmax=1, colorscale=_scale(row.shades is None), showscale=False, xgap=3, ygap=0,
            text=[[plain(letter) for letter in row.letters]], texttemplate="%{text}", textfont={"size": size, "family": theme.MONO},
            hovertemplate="place %{x}: %{text}" + known + "<extra></extra>", name=plain(row.name).replace("·", " "),
        ))  # fmt: skip
        figure.add_annotation(
            text=plain(row.name).replace("·", " "), x=0, xref="paper", xanchor="left", y=y - 0.56, yanchor="bottom",
            showarrow=False, font={"size": 14, "color": theme.MUTED},
        )  # fmt: skip
        for place in np.flatnonzero(row.wrong):
            figure.add_shape(type="rect", x0=place - 0.46, x1=place + 0.46, y0=y - 0.48, y1=y + 0.48,
                             line={"color": theme.CATEGORICAL[1], "width": 3})  # fmt: skip
    figure.update_xaxes(visible=False, range=[-0.55, longest - 0.45], fixedrange=True)
    figure.update_yaxes(visible=False, range=[(len(rows) - 1) * STRIDE + 0.55, -1.15], fixedrange=True)
    figure.update_layout(template=theme.template(), height=int(38 * (STRIDE * len(rows) + 0.1)) + 8, margin={"l": 0, "r": 0, "t": 2, "b": 2})
    return figure


def _scale(flat: bool) -> list[list[object]]:
    """Sequential; a row that was only read has the colour of a surface."""
    if flat:
        return [[0, theme.SURFACE], [1, theme.SURFACE]]
    return [[i / (len(theme.SEQUENTIAL) - 1), colour] for i, colour in enumerate(theme.SEQUENTIAL)]
