"""Rows of numbers of one sentence and of its words put otherwise: each row is joined to the row of the same word."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from viz import theme
from viz.labels import plain

Array = np.ndarray[Any, np.dtype[Any]]
ROW, GAP = 34, 0.45
KEPT, CHANGED = theme.PRIMARY, theme.CATEGORICAL[1]


def reordered(
    before: Array,
    after: Array,
    words: Sequence[str],
    origin: Sequence[int],
    change: Array,
    *,
    kept: Sequence[bool],
    titles: tuple[str, str],
    covered: bool = False,
    means: tuple[Array, Array, float, bool] | None = None,
    row: int = ROW,
) -> go.Figure:
    """Left the rows before, right the rows after; a line joins each word to itself, blue where its row is the same.

    `change` stands behind each word at the right, as a share of the row's length. `covered` hides the right rows, the
    lines and the changes. `means` adds a last row: the mean of all rows before and after, its change, whether it is kept.
    Shapes: before (n, d), after (m, d), origin and change (m,): row i after is the word that was row origin[i].
    Errors: ValueError when these do not fit.

    >>> figure = reordered(np.eye(2), np.eye(2)[::-1], ["a", "b"], (1, 0), np.zeros(2), kept=(True, True), titles=("f(X)", "f(PX)"))
    >>> np.asarray(figure.data[1].z).tolist(), figure.layout.yaxis2.ticktext
    ([[0.0, 1.0], [1.0, 0.0]], ('b  0 %', 'a  0 %'))
    """
    if len(words) != len(before) or not len(after) == len(origin) == len(change) == len(kept):
        raise ValueError(f"{len(words)} words for {len(before)} rows; {len(origin)} origins, {len(change)} changes for {len(after)} rows")
    limit = max(float(np.abs(before).max(initial=0)), float(np.abs(after).max(initial=0)), 1e-9)
    places = [np.arange(len(rows), dtype=float) for rows in (before, after)]
    bottom = float(max(len(before), len(after)) - 0.5)
    drawn = [before, np.full_like(after, np.nan) if covered else after]
    ends = [f"{plain(words[i])}{'' if covered else f'  {share(value)}'}" for i, value in zip(origin, change, strict=True)]
    ticks = [[plain(word) for word in words], ends]
    figure = go.Figure()
    for side in range(2):
        figure.add_trace(_strip(drawn[side], places[side], limit, ticks[side], side))
    if means is not None:
        at = bottom + GAP + 0.5
        for side, whole in enumerate(means[:2]):
            mean = np.full_like(whole, np.nan) if covered and side else whole
            figure.add_trace(_strip(mean[None], np.array([at]), limit, ["mean of all rows"], side))
            places[side] = np.append(places[side], at)
            ticks[side] = [*ticks[side], "mean" if not side or covered else f"mean  {share(means[2])}"]
    if not covered:
        for same in (True, False):
            pairs = [(float(i), float(place)) for place, i in enumerate(origin) if kept[place] is same or bool(kept[place]) == same]
            if means is not None and means[3] == same:
                pairs.append((float(places[0][-1]), float(places[1][-1])))
            figure.add_trace(_lines(pairs, KEPT if same else CHANGED, "the same numbers" if same else "other numbers"))
    else:
        figure.add_annotation(text="?", x=0.82, xref="paper", y=(len(after) - 1) / 2, yref="y2", showarrow=False, font={"size": 44, "color": theme.MUTED})
    _framed(figure, places, ticks, titles, row)
    return figure


def share(value: float) -> str:
    """A change as a percentage; what is only rounding is 0.

    >>> share(3e-16), share(0.0004), share(0.213), share(1.26)
    ('0 %', '0.04 %', '21 %', '126 %')
    """
    if value < 1e-9:
        return "0 %"
    percent = 100 * value
    return f"{percent:.0f} %" if percent >= 9.5 else f"{percent:.1f} %" if percent >= 0.095 else f"{percent:.2g} %"


def _strip(rows: Array, places: Array, limit: float, names: Sequence[str], side: int) -> go.Heatmap:
    scale = [[i / (len(theme.DIVERGING) - 1), colour] for i, colour in enumerate(theme.DIVERGING)]
    said = np.repeat(np.array([name.split("  ")[0] for name in names], dtype=object)[:, None], rows.shape[1], axis=1)
    return go.Heatmap(
        z=rows.astype(np.float32), y=places.tolist(), zmin=-limit, zmax=limit, colorscale=scale, showscale=False, ygap=5, customdata=said,
        xaxis=f"x{side + 1}" if side else "x", yaxis=f"y{side + 1}" if side else "y", hovertemplate="%{customdata}, number %{x}: %{z:.3f}<extra></extra>",
    )  # fmt: skip


def _lines(pairs: Sequence[tuple[float, float]], colour: str, name: str) -> go.Scatter:
    t = np.linspace(0, 1, 17)
    bend = t * t * (3 - 2 * t)
    x = [value for _ in pairs for value in (*t.tolist(), None)]
    y = [value for start, end in pairs for value in (*(start + (end - start) * bend).tolist(), None)]
    return go.Scatter(x=x, y=y, xaxis="x3", yaxis="y", mode="lines", name=name, hoverinfo="skip", line={"color": colour, "width": 2.2}, showlegend=bool(pairs))


def _framed(figure: go.Figure, places: Sequence[Array], ticks: Sequence[Sequence[str]], titles: tuple[str, str], row: int) -> None:
    last = max(float(place[-1]) for place in places)
    quiet = {"showgrid": False, "zeroline": False, "fixedrange": True, "showticklabels": False, "ticks": ""}
    figure.update_layout(
        xaxis={**quiet, "domain": [0, 0.36]}, xaxis2={**quiet, "domain": [0.64, 1], "anchor": "y2"},
        xaxis3={**quiet, "domain": [0.365, 0.635], "range": [0, 1]},
    )  # fmt: skip
    for side, axis in enumerate(("yaxis", "yaxis2")):
        more = {"side": "right", "anchor": "x2"} if side else {}
        figure.update_layout({axis: {
            "tickvals": places[side].tolist(), "ticktext": list(ticks[side]), "range": [last + 0.6, -0.6], "showgrid": False, "zeroline": False, "fixedrange": True,
            "tickfont": {"size": 14, "color": theme.TEXT}, "automargin": True, "ticks": "outside", "ticklen": 6, "tickcolor": "rgba(0,0,0,0)", **more,
        }})  # fmt: skip
    for side, title in enumerate(titles):
        figure.add_annotation(text=plain(title).replace("·", " "), x=float(side), xref="paper", xanchor=("left", "right")[side], y=1, yref="paper", yanchor="bottom", yshift=2,
                              showarrow=False, font={"size": 13, "color": theme.MUTED})  # fmt: skip
    figure.update_layout(
        template=theme.template(), height=round(row * (last + 1.2)) + 74, margin={"l": 4, "r": 4, "t": 30, "b": 38}, showlegend=True,
        legend={"orientation": "h", "x": 0.5, "xanchor": "center", "y": 0, "yanchor": "top", "yref": "paper"},
    )  # fmt: skip
