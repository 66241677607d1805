"""What is left as a text grows longer: quality and slopes over length, a colour a cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from viz import theme
from viz.labels import plain

Points = Sequence[tuple[float, float]]


@dataclass(frozen=True)
class Curve:
    """(length, value) points of one model: a colour by number, dashed or not, strong or pale."""

    name: str
    points: Points
    hue: int
    dashed: bool = False
    strong: bool = True


def quality(curves: Sequence[Curve], *, trained: int, own: Mapping[str, tuple[float, float]] | None = None) -> go.Figure:
    """Share of letters right over length; a dotted line at the longest text in training, diamonds for the visitor's own.

    >>> quality([Curve("a", [(1, 1.0), (20, 0.4)], 0)], trained=20, own={"a": (16, 0.5)}).data[1].x
    (16,)
    """
    figure = go.Figure()
    for curve in curves:
        figure.add_trace(_line(curve, "%{x} letters: %{y:.1%} right"))
    hues = {curve.name: curve.hue for curve in curves}
    for name, (x, y) in (own or {}).items():
        figure.add_scatter(
            x=[x], y=[y], mode="markers", showlegend=False, name=_words(name), cliponaxis=False,
            marker={"symbol": "diamond", "size": 13, "color": theme.CATEGORICAL[hues[name]], "line": {"color": theme.BACKGROUND, "width": 2}},
            hovertemplate="your word: %{y:.1%} right<extra>%{fullData.name}</extra>",
        )  # fmt: skip
    figure.add_vline(x=trained, line={"color": theme.MUTED, "width": 1, "dash": "dot"}, layer="below")
    figure.add_annotation(text="longest in training", x=trained, xanchor="right", xshift=-4, y=1.0, yref="y domain", yanchor="bottom",
                          showarrow=False, font={"size": 12, "color": theme.MUTED})  # fmt: skip
    figure.update_xaxes(title_text="letters in the word", rangemode="tozero", zeroline=False, showgrid=False, fixedrange=True)
    figure.update_yaxes(title_text="letters right", tickformat=".0%", range=[-0.02, 1.04], zeroline=False, fixedrange=True, nticks=6)
    figure.update_layout(
        template=theme.template(), height=370, margin={"l": 8, "r": 12, "t": 24, "b": 8}, hovermode="closest",
        legend={"orientation": "h", "x": 0, "y": -0.3, "yanchor": "top", "entrywidth": 150},
    )  # fmt: skip
    return figure


def slopes(over: Sequence[Curve], places: Sequence[Curve], letters: Sequence[str], *, titles: tuple[str, str]) -> go.Figure:
    """Above: |d c / d x_1| over length, a power of ten a step. Below: |d c / d x_i| at each letter of one word.

    >>> figure = slopes([Curve("a", [(1, 3.0), (5, 0.01)], 0)], [Curve("a", [(0, 0.8), (1, 0.2)], 0)], "hi", titles=("p", "q"))
    >>> figure.layout.yaxis.type, figure.layout.xaxis2.ticktext
    ('log', ('h', 'i'))
    """
    figure = make_subplots(rows=2, cols=1, vertical_spacing=0.2, row_heights=[0.56, 0.44])
    for curve in over:
        figure.add_trace(_line(curve, "%{x} letters: %{y:.2g}"), row=1, col=1)
    for curve in places:
        figure.add_trace(_line(curve, "letter %{x}: %{y:.2f}", legend=False), row=2, col=1)
    for title, axis in zip(titles, ("y", "y2"), strict=True):
        figure.add_annotation(text=_words(title), x=0, xref="paper", xanchor="left", y=1, yref=f"{axis} domain", yanchor="bottom",
                              showarrow=False, font={"size": 14, "color": theme.TEXT})  # fmt: skip
    top = max([value for curve in over for _, value in curve.points] + [1.0])
    figure.update_yaxes(zeroline=False, fixedrange=True)
    figure.update_yaxes(type="log", exponentformat="power", dtick=2, range=[-8.3, _power(top)], row=1, col=1)
    figure.update_yaxes(rangemode="tozero", nticks=4, row=2, col=1)
    figure.update_xaxes(showgrid=False, zeroline=False, fixedrange=True)
    figure.update_xaxes(title_text="letters read", rangemode="tozero", row=1, col=1)
    figure.update_xaxes(tickvals=list(range(len(letters))), ticktext=[plain(letter) for letter in letters], tickangle=0,
                        range=[-0.6, len(letters) - 0.4], tickfont={"size": 14 if len(letters) < 24 else 11}, row=2, col=1)  # fmt: skip
    figure.update_layout(
        template=theme.template(), height=460, margin={"l": 8, "r": 12, "t": 30, "b": 8}, hovermode="closest",
        legend={"orientation": "h", "x": 0, "y": -0.12, "yanchor": "top"},
    )  # fmt: skip
    return figure


def _power(value: float) -> float:
    return len(f"{int(value)}") + 0.1 if value >= 1 else 0.1


def _line(curve: Curve, hover: str, legend: bool = True) -> go.Scatter:
    colour = theme.CATEGORICAL[curve.hue % len(theme.CATEGORICAL)]
    return go.Scatter(
        x=[x for x, _ in curve.points], y=[y for _, y in curve.points], mode="lines+markers", name=_words(curve.name),
        showlegend=legend, opacity=1.0 if curve.strong else 0.4, cliponaxis=True,
        line={"color": colour, "width": 3 if curve.strong else 1.4, "dash": "dot" if curve.dashed else "solid"},
        marker={"color": colour, "size": 6 if curve.strong else 4}, hovertemplate=hover + "<extra>%{fullData.name}</extra>",
    )  # fmt: skip


def _words(name: str) -> str:
    return plain(name).replace("·", " ")
