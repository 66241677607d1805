"""How large: bars with their exact numbers, and sizes over the years on a logarithmic axis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from viz import theme
from viz.labels import plain


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


def bars(rows: Sequence[Bar], title: str, *, covered: bool = False, row: int = 38) -> go.Figure:
    """Horizontal bars from 0, each with its text behind it. `covered`: the names, each with a question mark.

    >>> bars([Bar("BERT", 110.0, "110M")], "sizes").data[0].text
    ('110M',)
    """
    places = list(range(len(rows)))
    most = max(each.value for each in rows) or 1.0
    figure = go.Figure(go.Bar(
        y=places, x=[0 if covered else each.value for each in rows], orientation="h", width=0.66, cliponaxis=False, hoverinfo="skip", showlegend=False,
        marker={"color": [theme.SEQUENTIAL[3] if each.weak else theme.CATEGORICAL[each.hue] for each in rows]},
        constraintext="none", text=["?" if covered else _said(each.text) for each in rows], textposition="outside", textfont={"size": 14, "color": theme.TEXT},
    ))  # fmt: skip
    figure.update_xaxes(visible=False, fixedrange=True, range=[0, 1.5 * most])
    figure.update_yaxes(tickvals=places, ticktext=[_said(each.name) for each in rows], range=[len(rows) - 0.5, -0.5], showgrid=False, zeroline=False, fixedrange=True,
                        tickfont={"size": 14, "color": theme.TEXT}, ticks="outside", ticklen=6, tickcolor="rgba(0,0,0,0)")  # fmt: skip
    return figure.update_layout(template=theme.template(), height=52 + row * len(rows), margin={"l": 8, "r": 8, "t": 40, "b": 4},
                                title={"text": _said(title), "font": {"size": 14, "family": theme.FONT, "color": theme.TEXT}})  # fmt: skip


def race(dots: Sequence[Dot], *, logarithmic: bool = True, covered: bool = False, height: int = 330) -> go.Figure:
    """Billions of parameters over the years. `covered`: only when each came out.

    >>> race([Dot("A", 2019.0, 1.5, "1.5"), Dot("B", 2020.0, 175.0, "175")]).layout.yaxis.type
    'log'
    """
    figure = go.Figure()
    high, middle = max(dot.value for dot in dots), (min(dot.year for dot in dots) + max(dot.year for dot in dots)) / 2
    figure.add_scatter(
        x=[dot.year for dot in dots], y=[None if covered else dot.value for dot in dots], mode="markers", showlegend=False, hoverinfo="skip",
        marker={"size": 13, "color": [theme.CATEGORICAL[1 if dot.strong else 0] for dot in dots]},
    )  # fmt: skip
    for dot in dots:
        if covered:
            figure.add_vline(x=dot.year, line={"color": theme.LINE, "width": 1.5})
            figure.add_annotation(x=dot.year, y=0.5, yref="paper", text="?", showarrow=False, bgcolor=theme.BACKGROUND, font={"size": 20, "color": theme.MUTED})
        elif logarithmic or dot.value > high / 40:
            left = dot.year > middle
            figure.add_annotation(
                x=dot.year, y=float(np.log10(dot.value)) if logarithmic else dot.value, text=f"{_said(dot.name)}  {_said(dot.text)}", showarrow=False, xanchor="right" if left else "left",
                xshift=-11 if left else 11, bgcolor=theme.BACKGROUND, borderpad=1, font={"size": 14, "color": theme.CATEGORICAL[1] if dot.strong else theme.TEXT},
            )  # fmt: skip
    figure.update_xaxes(range=[min(dot.year for dot in dots) - 0.12, max(dot.year for dot in dots) + 0.12], tickvals=[2019, 2020], showgrid=False, zeroline=False, fixedrange=True)
    spread = {"type": "log", "range": [-1.3, 2.6], "tickvals": [0.1, 1, 10, 100], "ticktext": ["0.1", "1", "10", "100"]} if logarithmic else {"type": "linear", "range": [-6, 1.1 * high]}
    figure.update_yaxes(title_text="parameters, billions", zeroline=False, fixedrange=True, **spread)
    return figure.update_layout(template=theme.template(), height=height, margin={"l": 8, "r": 10, "t": 12, "b": 8})


def _said(text: str) -> str:
    """A phrase of ours as Plotly text: never markup but for a new line, its spaces left alone."""
    return "<br>".join(plain(line).replace("·", " ") for line in text.split("\n"))
