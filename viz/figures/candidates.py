"""The tokens that could come next, as bars: what each is given, what a filter cut, which one was taken and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from viz import theme
from viz.labels import plain, shorten

ROW, LOT = 27, 0.8
TAKEN, OTHER, REST = theme.PRIMARY, theme.SEQUENTIAL[3], theme.LINE
CUTS = {"top_k": "cut by top-k", "top_p": "cut by top-p", "filters": "cut"}


@dataclass(frozen=True)
class Bar:
    """One token: its probability as the model gives it, and after temperature and filters (0 where `cut_by` one)."""

    token: str
    before: float
    after: float
    taken: bool = False
    cut_by: str | None = None


@dataclass(frozen=True)
class Lot:
    """The drawn number, and the chosen token's part [low, high) of the bar that all kept tokens fill."""

    u: float
    low: float
    high: float


def percent(p: float) -> str:
    """A probability in per cent, never a false 0 or 100.

    >>> percent(0.614), percent(0.0312), percent(0.00004), percent(0.99996), percent(1.0), percent(0.0)
    ('61 %', '3.1 %', '<0.1 %', '>99.9 %', '100 %', '0 %')
    """
    if p in (0.0, 1.0):
        return f"{100 * p:.0f} %"
    if p < 0.001:
        return "<0.1 %"
    if p > 0.999:
        return ">99.9 %"
    return f"{100 * p:.1f} %" if p < 0.0995 or p > 0.9949 else f"{100 * p:.0f} %"


def candidates(bars: Sequence[Bar], *, others: tuple[int, float, float] | None = None, lot: Lot | None = None) -> go.Figure:
    """One row a token, the most probable on top; all bars share one scale, 0 to 1.

    A solid bar is what the choice was made from (`after`), the taken one strong; where the two differ a tick marks the
    model's own probability; hatched is what a filter cut. `others` is (how many, before, after) of the
    tokens without a row of their own. With a `lot` the kept tokens lie side by side in the last row, and the drawn
    number points at one of them.

    >>> figure = candidates([Bar("a", 0.7, 0.7, taken=True), Bar("b", 0.3, 0.3)])
    >>> figure.layout.xaxis.range, figure.layout.yaxis.ticktext
    ((0, 1), ('a', 'b'))
    """
    rows = list(bars)
    if others is not None and others[0] > 0:
        shut = others[2] < 1e-9 < others[1]
        rows.append(Bar(f"{others[0]:,} others", others[1], 0.0 if shut else others[2], cut_by="filters" if shut else None))
    n, changed = len(rows), any(abs(bar.before - bar.after) > 1e-9 for bar in rows)
    places = list(range(n))
    colours = [TAKEN if bar.taken else REST if i >= len(bars) else OTHER for i, bar in enumerate(rows)]
    figure = go.Figure()
    hatched = [bar.before if bar.cut_by else 0.0 for bar in rows]
    if any(hatched):
        figure.add_bar(
            x=hatched, y=places, orientation="h", width=0.7, hoverinfo="skip", showlegend=False, name="cut",
            marker={"color": theme.SURFACE, "line": {"color": theme.HATCH, "width": 1},
                    "pattern": {"shape": "/", "fgcolor": theme.HATCH, "size": 6}},
        )  # fmt: skip
    figure.add_bar(
        x=[bar.after for bar in rows], y=places, orientation="h", width=0.7, showlegend=False, name="after",
        marker={"color": colours, "line": {"width": 0}},
        customdata=np.array([[percent(bar.before), percent(bar.after)] for bar in rows], dtype=object),
        hovertemplate="%{customdata[0]} by the model, %{customdata[1]} when chosen<extra></extra>",
    )  # fmt: skip
    if changed:
        ticked = [(bar.before, place) for place, bar in zip(places, rows, strict=True) if not bar.cut_by and abs(bar.before - bar.after) > 0.004]
        figure.add_scatter(
            x=[x for x, _ in ticked], y=[y for _, y in ticked], mode="markers", name="before", showlegend=False, hoverinfo="skip",
            cliponaxis=False,
            marker={"symbol": "line-ns", "size": 17, "line": {"width": 1.5, "color": theme.MUTED}},
        )  # fmt: skip
    for place, bar in zip(places, rows, strict=True):
        _number(figure, place, bar, changed)
    labels = [_name(bar.token, literal=i >= len(bars)) for i, bar in enumerate(rows)]
    if lot is not None:
        _lot(figure, n + LOT, rows, lot)
        places, labels = [*places, n + LOT], [*labels, "the lot"]
    figure.update_xaxes(
        range=[0, 1], tickvals=[0, 0.5, 1], ticktext=["0", "50 %", "100 %"], fixedrange=True, zeroline=False, showgrid=False,
        showline=True, ticks="outside", ticklen=4,
    )  # fmt: skip
    last = n + LOT if lot is not None else n - 1
    figure.update_yaxes(
        range=[last + 0.75, -0.6], tickvals=places, ticktext=labels, fixedrange=True, showgrid=False, zeroline=False,
        ticks="outside", ticklen=8, tickcolor="rgba(0,0,0,0)", tickfont={"family": theme.MONO, "size": 14, "color": theme.TEXT},
    )  # fmt: skip
    height = int(ROW * (last + 1.35)) + 34
    margin = {"l": 4, "r": 56, "t": 4, "b": 8}
    figure.update_layout(
        template=theme.template(), height=height, barmode="overlay", bargap=0, margin=margin, hovermode="closest"
    )
    return figure


def _name(token: str, *, literal: bool) -> str:
    return plain(token).replace("·", " ") if literal else plain(shorten(token, 14))


def _number(figure: go.Figure, place: int, bar: Bar, changed: bool) -> None:
    """The per cent behind the longer of the two bars, and what cut it."""
    why = CUTS.get(bar.cut_by or "", f"cut by {bar.cut_by}") if bar.cut_by else ""
    text = f"{percent(bar.before)}, {plain(why).replace('·', ' ')}" if why else percent(bar.after)
    end = max(bar.before, bar.after) if changed else bar.after
    inside = end > 0.7 and bool(why)
    figure.add_annotation(
        x=end, y=place, text=f"<b>{text}</b>" if bar.taken else text, showarrow=False, xanchor="right" if inside else "left",
        xshift=-6 if inside else 6, font={"size": 13, "color": theme.TEXT if bar.taken else theme.MUTED},
    )  # fmt: skip


def _lot(figure: go.Figure, place: float, rows: Sequence[Bar], lot: Lot) -> None:
    """All kept tokens side by side from 0 to 1, and the drawn number above them."""
    edges = np.cumsum(sorted((bar.after for bar in rows if bar.after > 0), reverse=True))[:-1]
    box = {"type": "rect", "y0": place - 0.3, "y1": place + 0.3, "line": {"width": 0}}
    figure.add_shape(x0=0, x1=1, fillcolor=OTHER, layer="below", **box)
    figure.add_shape(x0=lot.low, x1=lot.high, fillcolor=TAKEN, **box)
    for edge in edges:
        if edge < 0.995:
            line = {"color": theme.BACKGROUND, "width": 1.5}
            figure.add_shape(type="line", x0=edge, x1=edge, y0=place - 0.3, y1=place + 0.3, line=line)
    figure.add_scatter(
        x=[lot.u], y=[place - 0.52], mode="markers", showlegend=False, name="lot", cliponaxis=False,
        marker={"symbol": "triangle-down", "size": 11, "color": theme.TEXT},
        hovertemplate=f"drawn: {lot.u:.4f}<extra></extra>",
    )  # fmt: skip
    left = lot.u > 0.8
    figure.add_annotation(
        x=lot.u, y=place - 0.62, text=f"{lot.u:.3f} was drawn", showarrow=False, xanchor="right" if left else "left",
        xshift=-9 if left else 9, font={"size": 13, "color": theme.TEXT},
    )  # fmt: skip
