"""How a model learns where a word stands: two first ideas, criteria with ticks, the wave as clocks, a table as a path, a word said twice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from viz import theme
from viz.figures.curves import spread_labels
from viz.labels import plain

Array = np.ndarray[Any, np.dtype[Any]]
GOOD, BAD = theme.PRIMARY, theme.CATEGORICAL[1]


def _words(text: str) -> str:
    return plain(text).replace("·", " ")


def by_layer(lines: Mapping[str, Array], *, top: float, height: int = 300) -> go.Figure:
    """How far apart two vectors are, layer by layer; each line (layer + 1,) is named at its end.

    >>> len(by_layer({"a": np.zeros(3)}, top=1.0).data)
    1
    """
    figure = go.Figure()
    last = max(len(line) for line in lines.values()) - 1
    places = spread_labels([float(line[-1]) for line in lines.values()], 0.28 * top)
    for hue, ((name, line), place) in enumerate(zip(lines.items(), places, strict=True)):
        colour = theme.CATEGORICAL[hue]
        figure.add_scatter(x=list(range(len(line))), y=[float(v) for v in line], mode="lines+markers", line={"color": colour, "width": 2.4}, marker={"size": 7},
                           showlegend=False, name=_words(name), hovertemplate="layer %{x}: %{y:.3f}<extra></extra>")  # fmt: skip
        figure.add_annotation(text=_words(name).replace(" ", "<br>", 1), x=last, y=place, xanchor="left", xshift=10, yanchor="middle", align="left", showarrow=False, font={"size": 13, "color": colour})
    figure.update_xaxes(range=[-0.3, 1.5 * last], tickvals=list(range(last + 1)), ticktext=["input", *map(str, range(1, last + 1))], title_text="after layer", showgrid=False, zeroline=False, fixedrange=True)
    figure.update_yaxes(range=[-0.05 * top, 1.16 * top], title_text="distance / length", zeroline=False, fixedrange=True, nticks=5)
    return figure.update_layout(template=theme.template(), height=height, margin={"l": 8, "r": 12, "t": 10, "b": 8})


def ideas(short: int, long: int, *, covered: bool = False, height: int = 300) -> go.Figure:
    """Two sentences, one dot a word, at the number that the word gets: above as a fraction of the way, below counted.

    `covered` leaves out the fractions of the long sentence.

    >>> [len(trace.x) for trace in ideas(3, 5).data]
    [3, 5, 3, 5]
    """
    titles = ("First idea: how much of the way, t / (n − 1)", "Second idea: count, t")
    figure = make_subplots(rows=2, cols=1, vertical_spacing=0.34)
    for panel, title in enumerate(titles):
        for row, n in enumerate((short, long)):
            values = np.arange(n) / (1 if panel else max(n - 1, 1))
            hidden = covered and row == 1 and panel == 0
            figure.add_scatter(
                x=[None] * n if hidden else values.tolist(), y=[row] * n, mode="lines+markers", showlegend=False, row=panel + 1, col=1,
                line={"color": theme.LINE, "width": 2}, marker={"color": theme.CATEGORICAL[row], "size": 9}, hovertemplate="%{x:.4g}<extra></extra>",
            )  # fmt: skip
        axis = "" if panel == 0 else "2"
        figure.add_annotation(text=title, x=0, xref="paper", xanchor="left", y=1, yref=f"y{axis} domain", yanchor="bottom", showarrow=False, font={"size": 14, "color": theme.TEXT})
        figure.update_yaxes(tickvals=[0, 1], ticktext=[f"{short} words", f"{long} words"], range=[1.6, -0.6], showgrid=False, zeroline=False, fixedrange=True,
                            tickfont={"size": 14, "color": theme.TEXT}, row=panel + 1, col=1)  # fmt: skip
    if covered:
        figure.add_annotation(text="?", x=0.5, xref="x", y=1, yref="y", showarrow=False, font={"size": 26, "color": theme.MUTED})
    figure.update_xaxes(fixedrange=True, zeroline=False, nticks=6)
    for row, end in ((1, 1.0), (2, long - 1.0)):
        figure.update_xaxes(range=[-0.03 * end, 1.03 * end], row=row, col=1)
    return figure.update_layout(template=theme.template(), height=height, margin={"l": 8, "r": 12, "t": 28, "b": 8})


def ticks(names: Sequence[str], columns: Sequence[str], kept: Array, grounds: Sequence[Sequence[str]], *, chosen: int, height: int = 330) -> go.Figure:
    """A table of ticks and crosses; what each rests on is told on touching it. The chosen row is framed.

    Shapes: kept (name, column), boolean.

    >>> [note.text for note in ticks(["a"], ["u", "v"], np.array([[True, False]]), [["1", "2"]], chosen=0).layout.annotations]
    ['✓', '✗']
    """
    figure = go.Figure(go.Heatmap(
        z=kept.astype(float), zmin=0, zmax=1, colorscale=[[0, theme.DIVERGING[4]], [1, theme.DIVERGING[6]]], showscale=False, xgap=4, ygap=4,
        customdata=np.array(grounds, dtype=object), hovertemplate="%{customdata}<extra></extra>",
    ))  # fmt: skip
    for (row, column), good in np.ndenumerate(kept):
        figure.add_annotation(x=column, y=row, text="✓" if good else "✗", showarrow=False, font={"size": 22, "color": GOOD if good else BAD})
    figure.add_shape(type="rect", x0=-0.5, x1=len(columns) - 0.5, y0=chosen - 0.5, y1=chosen + 0.5, line={"color": theme.TEXT, "width": 2})
    quiet = {"showgrid": False, "zeroline": False, "fixedrange": True, "ticks": "outside", "ticklen": 6, "tickcolor": "rgba(0,0,0,0)", "tickfont": {"size": 13, "color": theme.TEXT}}
    figure.update_xaxes(tickvals=list(range(len(columns))), ticktext=[_words(name).replace(" / ", "<br>") for name in columns], side="top", tickangle=0, **quiet)
    figure.update_yaxes(tickvals=list(range(len(names))), ticktext=[_words(name) for name in names], range=[len(names) - 0.5, -0.5], **quiet)
    return figure.update_layout(template=theme.template(), height=height, margin={"l": 8, "r": 12, "t": 50, "b": 6})


def clocks(angles: Array, rim: Array, names: Sequence[str], *, height: int = 270) -> go.Figure:
    """A clock for each pair of dimensions: the hand stands at the chosen position, dots on the rim are all positions.

    Shapes: angles (pair,), rim (pos, pair), radians clockwise from the top.

    >>> figure = clocks(np.array([0.0, np.pi / 2]), np.zeros((3, 2)), ["a", "b"])
    >>> [round(v, 6) for v in figure.data[3].x], len(figure.data)
    ([3.0, 3.85], 4)
    """
    figure = go.Figure()
    for clock, (angle, name) in enumerate(zip(angles, names, strict=True)):
        middle, colour = 2.6 * clock + 0.4, theme.CATEGORICAL[0]
        figure.add_shape(type="circle", x0=middle - 1, x1=middle + 1, y0=-1, y1=1, line={"color": theme.HATCH, "width": 1.5}, layer="below")
        figure.add_scatter(x=(middle + np.sin(rim[:, clock])).tolist(), y=np.cos(rim[:, clock]).tolist(), mode="markers", showlegend=False,
                           marker={"color": theme.SEQUENTIAL[4], "size": 7}, text=[f"position {i}" for i in range(len(rim))], hovertemplate="%{text}<extra></extra>")  # fmt: skip
        figure.add_scatter(x=[middle, middle + 0.85 * float(np.sin(angle))], y=[0, 0.85 * float(np.cos(angle))], mode="lines+markers", showlegend=False, hoverinfo="skip",
                           line={"color": colour, "width": 4}, marker={"color": colour, "size": [8, 1]})  # fmt: skip
        figure.add_annotation(text=_words(name).replace(" ", "<br>", 1), x=middle, y=-1.12, yanchor="top", showarrow=False, font={"size": 14, "color": theme.TEXT})
    quiet = {"visible": False, "fixedrange": True}
    figure.update_xaxes(range=[-0.8, 2.6 * (len(names) - 1) + 1.6], constrain="domain", **quiet)
    figure.update_yaxes(range=[-1.95, 1.1], scaleanchor="x", constrain="domain", constraintoward="top", **quiet)
    return figure.update_layout(template=theme.template(), height=height, margin={"l": 4, "r": 4, "t": 4, "b": 4})


def _outside(places: Array, i: int) -> str:
    """Where the number of place i stands clear of the thread: on the side away from the places around it.

    >>> _outside(np.array([[-1.0, 0.0], [0.0, 1.0], [1.0, 0.0]]), 1)
    'top center'
    """
    x, y = places[i] - places[max(0, i - 3) : i + 4].mean(0)
    return f"middle {'right' if x > 0 else 'left'}" if abs(x) > abs(y) else f"{'top' if y >= 0 else 'bottom'} center"


def paths(tables: Mapping[str, Array], *, height: int = 330) -> go.Figure:
    """Position vectors in the plane that shows them best, joined in order; each tenth position has its number.

    Shapes: each table's places (pos, 2).

    >>> len(paths({"learned": np.zeros((11, 2)), "wave": np.zeros((11, 2))}).data)
    2
    """
    figure = make_subplots(rows=1, cols=len(tables), horizontal_spacing=0.06)
    for panel, (name, places) in enumerate(tables.items(), start=1):
        n = len(places)
        figure.add_scatter(
            x=places[:, 0].tolist(), y=places[:, 1].tolist(), mode="lines+markers+text", row=1, col=panel, showlegend=False,
            text=[str(i) if i % 10 == 0 else "" for i in range(n)], textposition=[_outside(places, i) for i in range(n)], textfont={"size": 13, "color": theme.TEXT},
            line={"color": theme.LINE, "width": 1.5}, marker={"size": 8, "color": [theme.SEQUENTIAL[3 + round(6 * i / max(n - 1, 1))] for i in range(n)]},
            customdata=list(range(n)), hovertemplate="position %{customdata}<extra></extra>", cliponaxis=False,
        )  # fmt: skip
        axis = "" if panel == 1 else str(panel)
        figure.add_annotation(text=_words(name), x=0, xref=f"x{axis} domain", xanchor="left", y=1, yref="paper", yanchor="bottom", showarrow=False, font={"size": 14, "color": theme.TEXT})
        figure.update_yaxes(scaleanchor=f"x{axis}", row=1, col=panel)
    figure.update_xaxes(showticklabels=False, zeroline=False, showgrid=False, fixedrange=True, ticks="")
    figure.update_yaxes(showticklabels=False, zeroline=False, showgrid=False, fixedrange=True, ticks="")
    return figure.update_layout(template=theme.template(), height=height, margin={"l": 8, "r": 8, "t": 28, "b": 8})

