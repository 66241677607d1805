"""Training a decoder as pictures: two rows of tokens, the loss of each place, the passes of use, the curve of a few steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from viz import theme
from viz.figures.curves import number
from viz.labels import plain

Array = np.ndarray[Any, np.dtype[Any]]
WRAPPED = 6
"""From so many places on the two rows stand upright: a phone is too narrow for them."""
END = "END"


def rows(wanted: Sequence[str], read: Sequence[str | None], *, arrows: bool = True, chosen: int | None = None) -> go.Figure:
    """The target, and under it what the decoder reads; arrows lead from each token to the place where it is read.

    A token of None is not told yet. Six and more places stand below each other, else side by side. `arrows` lead one
    place on (shifted); without them each token goes straight to its own place.

    >>> len(rows(["De", "END"], ["START", "De"]).layout.shapes)
    4
    """
    upright, n = len(wanted) > WRAPPED, len(wanted)
    figure = go.Figure()
    for t in range(n):
        _tile(figure, _at(t, 0, upright), wanted[t], theme.SEQUENTIAL[1], framed=t == chosen)
        given = read[t]
        _tile(figure, _at(t, 1, upright), "?" if given is None else given, theme.SURFACE, framed=t == chosen, strong=given is None)
    for t in range(n - 1 if arrows else n):
        goal = t + 1 if arrows else t
        if read[goal] is not None:
            _arrow(figure, _at(t, 0, upright), _at(goal, 1, upright), upright)
    names = ("target: what it should say", "decoder input: what it reads")
    for row, name in enumerate(names):
        x, y = (row * 1.9, -0.62) if upright else (-0.46, row * 1.9 + (-0.52 if row == 0 else 0.52))
        figure.add_annotation(x=x, y=y, text=name.replace(": ", ":<br>") if upright else name, showarrow=False, xanchor="center" if upright else "left",
                              yanchor="bottom" if upright or row == 0 else "top", font={"size": 14, "color": theme.MUTED})  # fmt: skip
    if upright:
        figure.update_xaxes(range=[-0.75, 2.65])
        figure.update_yaxes(range=[n - 0.4, -1.9])
    else:
        figure.update_xaxes(range=[-0.6, n - 0.4])
        figure.update_yaxes(range=[2.75, -0.95])
    return _blank(figure, 60 + 36 * n if upright else 240)


def _at(t: int, row: int, upright: bool) -> tuple[float, float]:
    return (row * 1.9, float(t)) if upright else (float(t), row * 1.9)


def _tile(figure: go.Figure, at: tuple[float, float], token: str, fill: str, *, framed: bool = False, strong: bool = False) -> None:
    x, y = at
    figure.add_shape(type="rect", x0=x - 0.44, x1=x + 0.44, y0=y - 0.36, y1=y + 0.36, fillcolor=fill, layer="below",
                     line={"color": theme.CATEGORICAL[1] if framed else theme.LINE, "width": 3 if framed else 1})  # fmt: skip
    figure.add_annotation(x=x, y=y, text=_token(token), showarrow=False, font={"size": 20 if strong else 16, "color": theme.CATEGORICAL[1] if strong else theme.TEXT})


def _arrow(figure: go.Figure, start: tuple[float, float], end: tuple[float, float], upright: bool) -> None:
    (x0, y0), (x1, y1) = start, end
    near, far = ((x0 + 0.46, y0), (x1 - 0.46, y1)) if upright else ((x0, y0 + 0.4), (x1, y1 - 0.4))
    figure.add_annotation(x=far[0], y=far[1], ax=near[0], ay=near[1], xref="x", yref="y", axref="x", ayref="y", text="", showarrow=True, arrowhead=2,
                          arrowwidth=2, arrowcolor=theme.PRIMARY)  # fmt: skip


def losses(read: Sequence[str], wanted: Sequence[str], values: Array | None, before: Array | None = None, *, height: int | None = None) -> go.Figure:
    """The loss of each place as a bar, "reads → should say" beside it; None: the bars are still covered.

    `before` draws what it was as a pale bar behind. Shapes: (m,).

    >>> losses(["START"], ["De"], np.array([0.5])).data[-1].text
    ('0.500',)
    """
    n = len(wanted)
    shown = np.zeros(n) if values is None else np.asarray(values, float)
    texts = ["?"] * n if values is None else [number(value, 3) for value in shown]
    most = max(float(shown.max(initial=0)), 0.0 if before is None else float(before.max(initial=0)), 0.02)
    figure = go.Figure()
    names = [f"{_token(a)} → <b>{_token(b)}</b>" for a, b in zip(read, wanted, strict=True)]
    if before is not None:
        figure.add_bar(x=np.asarray(before, float).tolist(), y=list(range(n)), orientation="h", width=0.72, marker={"color": theme.SEQUENTIAL[3]}, name="before", hovertemplate="before: %{x:.3f}<extra></extra>")
    figure.add_bar(
        x=shown.tolist(), y=list(range(n)), orientation="h", width=0.36 if before is not None else 0.62, text=texts, textposition="outside", cliponaxis=False, constraintext="none",
        textfont={"size": 15, "color": theme.TEXT}, marker={"color": theme.CATEGORICAL[1]}, name="now", hovertemplate="loss %{x:.4f}<extra></extra>",
    )  # fmt: skip
    figure.update_xaxes(range=[0, most * 1.16], title_text="loss, −ln P(the wanted token)", zeroline=False, fixedrange=True, nticks=5 if before is None else 4, tickangle=0)
    figure.update_yaxes(tickvals=list(range(n)), ticktext=names, range=[n - 0.4, -0.6], tickfont={"size": 15, "color": theme.TEXT}, fixedrange=True, showgrid=False,
                        ticks="outside", ticklen=8, tickcolor="rgba(0,0,0,0)")  # fmt: skip
    figure.update_layout(template=theme.template(), height=height or 64 + (46 if n <= 6 else 34) * n, margin={"l": 8, "r": 40, "t": 26 if before is not None else 6, "b": 8},
                         barmode="overlay", showlegend=before is not None, legend={"orientation": "h", "x": 0, "y": 1.0, "yanchor": "bottom"})  # fmt: skip
    return figure


def passes(read: Sequence[str], wanted: Sequence[str], one: Array, step: Array, upto: int) -> go.Figure:
    """Pass after pass: a row holds what is read by then, the newest tile strong; at the right P of the wanted token both ways.

    `upto` passes are drawn. Shapes: one, step (m,) are the probabilities of the one pass and of the single steps.

    >>> passes(["START", "De"], ["De", "END"], np.array([0.9, 0.8]), np.array([0.9, 0.8]), 1).layout.yaxis.range
    (1.6, -1.5)
    """
    n, figure = len(wanted), go.Figure()
    for t in range(n):
        for j in range(t + 1):
            new, done = j == t, t < upto
            fill = theme.SEQUENTIAL[3] if new and done else theme.SURFACE if done else theme.BACKGROUND
            figure.add_shape(type="rect", x0=j - 0.47, x1=j + 0.47, y0=t - 0.4, y1=t + 0.4, fillcolor=fill, line={"color": theme.LINE, "width": 1}, layer="below")
            if done and (n <= WRAPPED or new):
                figure.add_annotation(x=j, y=t, text=_token(read[j]), showarrow=False, font={"size": 13 if n <= WRAPPED else 12, "color": theme.TEXT})
        if t < upto:
            for place, p in ((n + 0.25, one[t]), (n + 1.35, step[t])):
                figure.add_annotation(x=place, y=t, text=number(float(p), 4), showarrow=False, font={"size": 15 if n <= WRAPPED else 13, "color": theme.TEXT})
    for place, text in ((n + 0.25, "P in<br>one pass"), (n + 1.35, "P step<br>by step")):
        figure.add_annotation(x=place, y=-0.5, yanchor="bottom", text=text, showarrow=False, font={"size": 13, "color": theme.MUTED})
    figure.add_annotation(x=-0.46, xanchor="left", y=-0.5, yanchor="bottom", text="read at this step", showarrow=False, font={"size": 13, "color": theme.MUTED})
    figure.update_xaxes(range=[-0.6, n + 1.95])
    figure.update_yaxes(range=[n - 0.4, -1.5])
    return _blank(figure, 70 + (46 if n <= WRAPPED else 34) * n)


def curve(taken: Sequence[float], most: int, places: Array | None = None, *, height: int = 250) -> go.Figure:
    """The mean loss before any step and after each, thick; thin lines are the single places. Shapes: places (step + 1, m).

    >>> curve([0.5, 0.4], 8).data[-1].y
    (0.5, 0.4)
    """
    figure, steps = go.Figure(), list(range(len(taken)))
    for line in () if places is None else np.asarray(places, float).T:
        figure.add_scatter(x=steps, y=line, mode="lines", line={"color": theme.SEQUENTIAL[3], "width": 1.2}, hoverinfo="skip", showlegend=False)
    figure.add_scatter(x=steps, y=list(taken), mode="lines+markers", line={"color": theme.CATEGORICAL[1], "width": 3}, marker={"size": 9}, showlegend=False,
                       hovertemplate="after step %{x}: %{y:.4f}<extra></extra>")  # fmt: skip
    figure.update_xaxes(range=[-0.25, most + 0.25], dtick=1, title_text="optimiser steps", showgrid=False, zeroline=False, fixedrange=True)
    figure.update_yaxes(rangemode="tozero", title_text="loss", zeroline=False, fixedrange=True, nticks=5)
    return figure.update_layout(template=theme.template(), height=height, margin={"l": 8, "r": 12, "t": 26, "b": 8})


def products(ways: Sequence[tuple[str, Sequence[str], Sequence[float]]], others: Sequence[Sequence[float]] = (), *, told: bool = True, parts: int = 0) -> go.Figure:
    """How probable the text is so far, token by token, on a logarithmic axis: greedy and the better way, named at their ends.

    ways: (name, tokens, products), greedy first; `parts` is the first place where they differ. `others` are pale.
    Not `told`: only the first step of every way is drawn.

    >>> figure = products([("greedy", ["a", "a"], [0.5, 0.2]), ("best", ["b", "b"], [0.4, 0.36])])
    >>> [line.name for line in figure.data]
    ['greedy', 'best']
    """
    figure = go.Figure()
    longest = max(len(values) for _, _, values in ways)
    for values in others:
        figure.add_scatter(x=list(range(len(values) + 1 if told else 2)), y=[1.0, *values][: None if told else 2], mode="lines", opacity=0.7, line={"color": theme.MUTED, "width": 1.5}, hoverinfo="skip", showlegend=False)
    for which, (name, tokens, values) in enumerate(ways):
        colour, shown = theme.CATEGORICAL[1 if which == 0 else 2], len(values) if told else 1
        figure.add_scatter(
            x=list(range(shown + 1)), y=[1.0, *values[:shown]], mode="lines+markers", name=name, line={"color": colour, "width": 3}, marker={"size": 8}, showlegend=False,
            customdata=["start", *map(_token, tokens[:shown])], hovertemplate="%{customdata}: %{y:.4f} so far<extra></extra>",
        )  # fmt: skip
        for place in range(shown):
            if (which and place < parts) or tokens[place] == END:
                continue
            over = values[place] >= _value(ways[1 - which][2], place)
            figure.add_annotation(x=place + 1, y=np.log10(values[place]), text=_token(tokens[place]), showarrow=False, yshift=(15 if over else -15) * (1.2 if longest > 6 else 1),
                                  textangle=-40 if longest > 6 else 0,
                                  font={"size": 13 if longest > 4 else 16, "color": colour if place >= parts else theme.TEXT})  # fmt: skip
        if told:
            over = values[-1] > ways[1 - which][2][-1]
            figure.add_annotation(x=len(values), y=np.log10(values[-1]), text=f"{name}{' ' if longest < 4 else '<br>'}<b>{number(values[-1], 3 if values[-1] < 0.1 else 2)}</b>", showarrow=False,
                                  xanchor="left", xshift=12, yanchor="bottom" if over else "top", yshift=-5 if over else 5, align="left", font={"size": 15, "color": colour})  # fmt: skip
    low = min([min(values if told else values[:1]) for _, _, values in ways] + [min(values if told else values[:1]) for values in others])
    figure.update_xaxes(range=[-0.15, longest + max(0.9, longest * 0.24)], dtick=1, tick0=0, showgrid=False, zeroline=False, fixedrange=True, title_text="tokens written")
    ticks = [tick for tick in (1, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.001, 1e-4, 1e-5, 1e-6) if tick >= low / 2]
    figure.update_yaxes(type="log", range=[np.log10(low) - 0.18, 0.12], tickvals=ticks, ticktext=[f"{tick:g}" for tick in ticks], title_text="probability so far", zeroline=False, fixedrange=True)
    return figure.update_layout(template=theme.template(), height=300 if longest < 4 else 340, margin={"l": 8, "r": 8, "t": 12, "b": 8})


def _value(values: Sequence[float], place: int) -> float:
    return values[min(place, len(values) - 1)]


def _token(token: str) -> str:
    """A piece as Plotly text: never markup, its leading space not drawn.

    >>> _token(" <b>")
    '&lt;b&gt;'
    """
    return plain(token.removeprefix(" ") or token)


def _blank(figure: go.Figure, height: int) -> go.Figure:
    figure.add_scatter(x=[None], y=[None], showlegend=False, hoverinfo="skip")
    figure.update_xaxes(visible=False, fixedrange=True)
    figure.update_yaxes(visible=False, fixedrange=True)
    return figure.update_layout(template=theme.template(), height=height, margin={"l": 4, "r": 4, "t": 4, "b": 4})
