"""Scores with and without 1/sqrt(d_k): histograms, a row of weights, measures by width, layers, and where exp ends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from viz import theme
from viz.figures.curves import number, spread_labels
from viz.labels import plain

Array = np.ndarray[Any, np.dtype[Any]]
HUES = {"raw": theme.CATEGORICAL[1], "scaled": theme.CATEGORICAL[0]}
NAMES = {"raw": "q · k", "scaled": "q · k / √d"}
BINS = 48
ROOM_HEIGHT = 370


def histograms(values: Mapping[str, Array], bells: Mapping[str, tuple[Array, Array]], titles: Mapping[str, str]) -> go.Figure:
    """One lane a table of scores, on one axis: how often each score came up, and the closed form's curve over it.

    Names are those of `NAMES`. Shapes: values (any), a bell is x (point,) and its density (point,).

    >>> x = np.linspace(-1.0, 1.0, 5)
    >>> len(histograms({"raw": x}, {"raw": (x, x)}, {"raw": "q · k"}).data)
    2
    """
    figure = _lanes(len(values), gap=0.16)
    limit = max(float(np.abs(v).max()) for v in values.values()) * 1.04
    for row, (name, found) in enumerate(values.items(), start=1):
        end = float(np.abs(found).max())
        heights, edges = np.histogram(found, bins=BINS, range=(-end, end), density=True)
        figure.add_bar(
            x=(edges[:-1] + edges[1:]) / 2, y=heights, width=edges[1] - edges[0], name=_said(NAMES[name]), showlegend=False,
            marker={"color": HUES[name], "opacity": 0.55, "line": {"width": 0}},
            hovertemplate="score %{x:.1f}: density %{y:.4f}<extra></extra>", row=row, col=1,
        )  # fmt: skip
        x, y = bells[name]
        figure.add_scatter(
            x=x, y=y, mode="lines", line={"color": theme.TEXT, "width": 1.6}, hoverinfo="skip", showlegend=False, row=row, col=1
        )
        _title(figure, row, titles[name], HUES[name])
    figure.update_xaxes(range=[-limit, limit], zeroline=True, showgrid=False, fixedrange=True)
    figure.update_xaxes(title_text="score", row=len(values), col=1)
    figure.update_yaxes(visible=False, rangemode="tozero", fixedrange=True)
    return _dressed(figure, 330)


def weights(rows: Mapping[str, Array], titles: Mapping[str, str]) -> go.Figure:
    """One row of softmax weights a lane, the same keys in the same order, on one scale from 0 to 1.

    Shapes: each row (key,).

    >>> weights({"raw": np.array([0.9, 0.1])}, {"raw": "q · k"}).data[0].y.tolist()
    [0.9, 0.1]
    """
    figure = _lanes(len(rows), gap=0.16)
    for row, (name, values) in enumerate(rows.items(), start=1):
        figure.add_bar(
            x=np.arange(1, len(values) + 1), y=values, width=0.7, showlegend=False, name=_said(NAMES[name]),
            marker={"color": HUES[name], "line": {"width": 0}}, hovertemplate="key %{x}: %{y:.4f}<extra></extra>", row=row, col=1,
        )  # fmt: skip
        _title(figure, row, titles[name], HUES[name])
    figure.update_xaxes(range=[0.3, max(len(v) for v in rows.values()) + 0.7], showgrid=False, zeroline=False, fixedrange=True)
    figure.update_xaxes(title_text="the keys, best score first", row=len(rows), col=1)
    figure.update_yaxes(range=[0, 1.02], tickvals=[0, 0.5, 1], fixedrange=True, zeroline=False)
    return _dressed(figure, 340)


def by_width(widths: Sequence[int], panels: Sequence[tuple[str, Mapping[str, Sequence[float]], tuple[float, str]]], *, marked: int) -> go.Figure:
    """One panel a measure over d_k, both tables as lines named at their ends; the dotted line is the limit of an even look.

    panels: title, values by name, (limit, its words). The axis grows by equal factors.
    Errors: ValueError when a line has another number of points than there are widths.

    >>> len(by_width([1, 2], [("t", {"raw": [1, 2]}, (3.0, "even"))], marked=2).data)
    1
    """
    figure = _lanes(len(panels), gap=0.15)
    for row, (title, lines, (limit, words)) in enumerate(panels, start=1):
        ends = [float(line[-1]) for line in lines.values()]
        *places, even = spread_labels([*ends, limit], limit * 0.2)
        for (name, line), place in zip(lines.items(), places, strict=True):
            if len(line) != len(widths):
                raise ValueError(f"{name} has {len(line)} points for {len(widths)} widths")
            figure.add_scatter(
                x=list(widths), y=list(line), mode="lines+markers", line={"color": HUES[name], "width": 2.4}, marker={"size": 6},
                showlegend=False, name=_said(NAMES[name]), hovertemplate="d_k %{x}: %{y:.3f}<extra></extra>", row=row, col=1,
            )  # fmt: skip
            figure.add_annotation(
                text=_said(NAMES[name]), x=1.0, xref="paper", xanchor="left", xshift=6, y=place, yref=_axis(row), showarrow=False,
                font={"size": 13, "color": HUES[name]},
            )  # fmt: skip
        figure.add_hline(y=limit, line={"color": theme.MUTED, "width": 1, "dash": "dot"}, row=row, col=1)  # type: ignore[arg-type]
        figure.add_annotation(
            text=_said(words), x=1.0, xref="paper", xanchor="left", xshift=6, y=even, yref=_axis(row), showarrow=False,
            font={"size": 13, "color": theme.MUTED},
        )  # fmt: skip
        figure.update_yaxes(range=[0, limit * 1.06], row=row, col=1)
        _title(figure, row, title, theme.TEXT)
    figure.add_vline(x=marked, line={"color": theme.MUTED, "width": 1, "dash": "dot"}, layer="below")
    ticks = [w for w in widths if w in (1, 4, 16, 64, 256, 1024)]
    figure.update_xaxes(type="log", tickvals=ticks, ticktext=[f"{w}" for w in ticks], showgrid=False, zeroline=False, fixedrange=True)
    figure.update_xaxes(title_text="d_k, the numbers in a query and a key", row=len(panels), col=1)
    figure.update_yaxes(nticks=4, zeroline=False, fixedrange=True)
    return _dressed(figure, 400, right=108)


def layers(heads: Mapping[str, Array]) -> go.Figure:
    """How even each head looks (0 to 1), a dot a head over the layers, a line through their means.

    Shapes: each table (layer head).

    >>> len(layers({"raw": np.zeros((2, 3))}).data)
    2
    """
    figure = go.Figure()
    for side, (name, table) in enumerate(heads.items()):
        n_layers, n_heads = table.shape
        places = np.arange(n_layers, dtype=float) + 0.09 * (2 * side - 1)
        figure.add_scatter(
            x=np.repeat(places, n_heads), y=table.ravel(), mode="markers", showlegend=False, customdata=np.tile(np.arange(n_heads), n_layers),
            marker={"color": HUES[name], "size": 7, "opacity": 0.45},
            hovertemplate="head %{customdata}: %{y:.1%}<extra></extra>",
        )  # fmt: skip
        figure.add_scatter(
            x=np.arange(n_layers), y=table.mean(1), mode="lines+markers", line={"color": HUES[name], "width": 2.6}, marker={"size": 9},
            name={"raw": "without the division", "scaled": "with 1/√d, as trained"}[name],
            hovertemplate="layer %{x}: %{y:.1%}<extra>mean of the heads</extra>",
        )  # fmt: skip
    n_layers = max(len(table) for table in heads.values())
    figure.update_xaxes(title_text="layer", tickvals=list(range(n_layers)), showgrid=False, zeroline=False, fixedrange=True)
    figure.update_yaxes(range=[-0.02, 1.04], tickformat=".0%", title_text="evenness of a row", zeroline=False, fixedrange=True)
    figure.update_layout(legend={"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"})
    return _dressed(figure, 360, top=40)


def exponentials(
    points: Sequence[tuple[str, float, float]], line: tuple[Array, Array], *, top: float, smallest: float
) -> go.Figure:
    """e^s over s, the axis in equal factors, up to the largest number of float32; beyond it the hatched part has no number.

    points: (name, what goes into exp, its exponential, which may be infinite). line: s and log10(e^s), (point,) each.
    top, smallest: log10 of the largest and of the smallest number above zero.

    >>> x = np.array([0.0, 100.0])
    >>> figure = exponentials([("a", 100.0, np.inf)], (x, x / 2.3), top=38.5, smallest=-45)
    >>> figure.data[-1].text
    ('a: ∞',)
    """
    figure = go.Figure()
    x, y = line
    inside = (y <= top) & (y >= smallest)
    figure.add_scatter(x=x[inside], y=y[inside], mode="lines", line={"color": theme.MUTED, "width": 2}, hoverinfo="skip", showlegend=False)
    beyond = y > top
    figure.add_scatter(x=x[beyond], y=y[beyond], mode="lines", line={"color": theme.MUTED, "width": 1.4, "dash": "dot"}, hoverinfo="skip",
                       showlegend=False)  # fmt: skip
    high = max(float(y.max()), top) + 6
    low = smallest - 8
    left, right = float(x[0]), float(x[-1])
    figure.add_scatter(
        x=[left, right, right, left], y=[top, top, high, high], fill="toself", mode="lines", line={"width": 0}, hoverinfo="skip", showlegend=False,
        fillpattern={"shape": "/", "fgcolor": theme.HATCH, "bgcolor": "rgba(0,0,0,0)", "size": 9, "solidity": 0.12},
    )  # fmt: skip
    figure.add_hline(y=top, line={"color": theme.CATEGORICAL[3], "width": 1.4})
    figure.add_annotation(text="float32 ends here: above is ∞", x=left, xanchor="left", y=top, yanchor="bottom", showarrow=False,
                          font={"size": 13, "color": theme.CATEGORICAL[3]}, bgcolor=theme.BACKGROUND)  # fmt: skip
    for turn, (name, score, value) in enumerate(points):
        lost = not np.isfinite(value)
        place = float(np.log10(value)) if value > 0 and not lost else float(score / np.log(10)) if lost else smallest
        colour = theme.CATEGORICAL[3] if lost else theme.CATEGORICAL[0]
        side = "left" if score > 0.6 * right else "right"
        place_of_name = ("top left", f"bottom {side}", "bottom right" if score > left / 2 else "top right")[turn % 3]
        figure.add_scatter(
            x=[score], y=[place], mode="markers+text", text=[f"{plain(name).replace('·', ' ')}: {_power(value)}"], textposition=place_of_name,
            textfont={"size": 14, "color": colour}, marker={"color": colour, "size": 13, "symbol": "x" if lost else "circle"},
            hoverinfo="skip", showlegend=False, cliponaxis=False,
        )  # fmt: skip
    ticks = [t for t in range(-40, int(high) + 1, 20) if low < t < high]
    figure.update_yaxes(range=[low, high], tickvals=ticks, ticktext=[_ten(t) for t in ticks], title_text="e to the power s", zeroline=False, fixedrange=True)
    figure.update_xaxes(range=[left, right], title_text="s, what goes into exp", zeroline=False, showgrid=False, fixedrange=True)
    return _dressed(figure, 380, right=16)


def fitted(figure: go.Figure, room: bool) -> go.Figure:
    """The figure as it is, or before a room so low that picture, sentence and control fit on one screen of 720 pixels; names at its right keep their place.

    >>> fitted(go.Figure(layout={"height": 400}), room=True).layout.height
    370
    """
    if not room:
        return figure
    margin = figure.layout.margin.r or 0
    return figure.update_layout(height=ROOM_HEIGHT, margin={"r": 1.6 * margin if margin > 40 else margin})


def _power(value: float) -> str:
    if not np.isfinite(value):
        return "∞"
    if value == 0:
        return "0"
    text = f"{value:.2g}"
    head, _, tail = text.partition("e")
    return f"{head} · 10<sup>{int(tail)}</sup>".replace("-", "−") if tail else text


def _ten(power: int) -> str:
    return "1" if power == 0 else f"10<sup>{number(power, 0)}</sup>"


def _said(text: str) -> str:
    """A phrase of ours as Plotly text: never markup, spaces and the dot of a product left alone.

    >>> _said("q · k <1>")
    'q · k &lt;1&gt;'
    """
    return " · ".join(plain(part).replace("·", " ") for part in text.split(" · "))


def _lanes(n: int, gap: float) -> go.Figure:
    return make_subplots(rows=n, cols=1, shared_xaxes=True, vertical_spacing=gap if n > 1 else 0)


def _axis(row: int) -> str:
    return "y" if row == 1 else f"y{row}"


def _title(figure: go.Figure, row: int, text: str, colour: str) -> None:
    figure.add_annotation(
        text=_said(text), x=0, xref="paper", xanchor="left", y=1, yref=f"{_axis(row)} domain", yanchor="bottom", showarrow=False,
        font={"size": 14, "color": colour},
    )  # fmt: skip


def _dressed(figure: go.Figure, height: int, *, right: int = 12, top: int = 28) -> go.Figure:
    return figure.update_layout(
        template=theme.template(), height=height, margin={"l": 8, "r": right, "t": top, "b": 8}, bargap=0, hovermode="closest"
    )
