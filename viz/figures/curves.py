"""Curves over position and over distance: numbers and names in, a Plotly figure out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from viz import theme
from viz.labels import plain

Array = np.ndarray[Any, np.dtype[Any]]
Band = tuple[Array, Array, Array, Array]
"""x, mean, low, high of one quantity; low and high equal mean where nothing varies."""


def number(value: float, places: int = 2) -> str:
    """A number for a label, with a true minus and no "-0.00".

    >>> number(-0.5), number(-0.001)
    ('−0.50', '0.00')
    """
    text = f"{value:.{places}f}"
    return (text.removeprefix("-") if float(text) == 0 else text).replace("-", "−")


def lanes(
    samples: Array,
    names: Sequence[str],
    *,
    x: Array | None = None,
    smooth: Array | None = None,
    limit: float = 1.0,
    low: float | None = None,
    marked: int | None = None,
    hues: Sequence[int] | None = None,
    x_title: str = "position",
    height: int | None = None,
) -> go.Figure:
    """One lane a curve, one below the other, over whole positions: a column through all lanes is one vector.

    Every lane reaches from -limit, or from `low`, to limit. `marked` draws one column and writes its values;
    `hues` gives each lane a categorical colour by number.
    Shapes: samples (lane, pos); x (point,) and smooth (lane, point) are the same curves between the positions.

    >>> lanes(np.zeros((2, 3)), ["a", "b"]).layout.yaxis2.range
    (-1.18, 1.18)
    """
    n_lanes, n_positions = samples.shape
    positions = np.arange(n_positions)
    between = (positions, samples) if x is None or smooth is None or not len(x) else (x, smooth)
    gap = min(0.36 / n_lanes, 0.12)
    figure = make_subplots(rows=n_lanes, cols=1, shared_xaxes=True, vertical_spacing=gap if n_lanes > 1 else 0)
    dot = float(np.clip(250 / n_positions, 2.5, 6))
    for lane, name in enumerate(names):
        colour = theme.CATEGORICAL[(hues[lane] if hues else 0) % len(theme.CATEGORICAL)]
        figure.add_trace(
            go.Scatter(
                x=between[0], y=between[1][lane].astype(np.float32), mode="lines", hoverinfo="skip", showlegend=False,
                line={"color": colour, "width": 1.6 if between[0] is x else 0.8},
            ),
            row=lane + 1, col=1,
        )  # fmt: skip
        figure.add_trace(
            go.Scatter(
                x=positions, y=samples[lane].astype(np.float32), mode="markers", showlegend=False, name=_label(name),
                marker={"color": colour, "size": dot},
                hovertemplate=f"{x_title} %{{x}}: %{{y:.4f}}<extra></extra>",
            ),
            row=lane + 1, col=1,
        )  # fmt: skip
        where = f"{x_title} {marked}: " if lane == 0 else ""
        _lane_name(figure, lane, name, samples[lane], marked, where, dot, colour)
    low = -limit if low is None else low
    room = 0.09 * (limit - low)
    figure.update_yaxes(range=[low - room, limit + room], fixedrange=True, zeroline=False, nticks=6)
    if n_lanes > 1:  # a low lane has room for three ticks
        ticks = sorted({low, 0.0, limit})
        places = 0 if float(limit).is_integer() else 2
        figure.update_yaxes(tickvals=ticks, ticktext=[number(v, places) for v in ticks])
    figure.update_xaxes(range=[-0.6, n_positions - 0.4], showgrid=False, zeroline=False, fixedrange=True)
    figure.update_xaxes(title_text=x_title, row=n_lanes, col=1)
    if marked is not None:
        figure.add_vline(x=marked, line={"color": theme.MUTED, "width": 1, "dash": "dot"}, layer="below")
    figure.update_layout(
        template=theme.template(), height=height or int(min(88 * n_lanes, 340 + 14 * n_lanes)) + 58,
        margin={"l": 8, "r": 12, "t": 26, "b": 8}, hovermode="closest",
    )  # fmt: skip
    return figure


def _label(name: str) -> str:
    """A name of ours as Plotly text: never markup, its spaces left alone."""
    return plain(name).replace("·", " ")


def _lane_name(
    figure: go.Figure, lane: int, name: str, values: Array, marked: int | None, where: str, dot: float, colour: str
) -> None:
    """The name above its lane at the left; the marked value above it at the right, and its larger dot."""
    axis = "" if lane == 0 else str(lane + 1)
    words = {"xref": "paper", "yref": f"y{axis} domain", "y": 1.0, "yanchor": "bottom", "showarrow": False}
    figure.add_annotation(
        text=_label(name), x=0, xanchor="left", font={"size": 13, "color": theme.TEXT}, **words
    )
    if marked is None:
        return
    figure.add_annotation(
        text=where + number(float(values[marked]), 4), x=1, xanchor="right",
        font={"size": 13, "color": theme.TEXT}, **words,
    )  # fmt: skip
    figure.add_trace(
        go.Scatter(
            x=[marked], y=[float(values[marked])], mode="markers", hoverinfo="skip", showlegend=False,
            marker={"color": colour, "size": max(dot + 4, 9), "line": {"color": theme.BACKGROUND, "width": 1.5}},
        ),
        row=lane + 1, col=1,
    )  # fmt: skip


def profiles(
    upper: Mapping[str, Band],
    lower: Mapping[str, Band],
    *,
    titles: tuple[str, str],
    x_title: str = "distance k, in positions",
) -> go.Figure:
    """Two panels over distance: a mean line with dots at the whole distances and the range over all places behind.

    Each line is named at its right end; lines of one family (the first word of a name) share a colour.
    Shapes: a band is (x, mean, low, high), each (point,).

    >>> k = np.arange(3.0)
    >>> [t.name for t in profiles({"a": (k, k, k, k)}, {}, titles=("p", "q")).data]
    ['a', 'a']
    """
    figure = make_subplots(rows=2, cols=1, shared_xaxes=True, vertical_spacing=0.13)
    farthest = 0.0
    for title, axis in zip(titles, ("y", "y2"), strict=True):
        figure.add_annotation(text=_label(title), x=0, xref="paper", xanchor="left", y=1, yref=f"{axis} domain",
                              yanchor="bottom", showarrow=False, font={"size": 14, "color": theme.TEXT})  # fmt: skip
    families = {name: hue for hue, name in enumerate(upper)}
    for name in lower:
        families.setdefault(name.split()[0], len(families))
    colours = {name: theme.CATEGORICAL[families[name if name in upper else name.split()[0]] % len(theme.CATEGORICAL)]
               for name in (*upper, *lower)}  # fmt: skip
    for row, bands in enumerate((upper, lower), start=1):
        ends: dict[str, float] = {}
        for name, (x, mean, low, high) in bands.items():
            _band(figure, row, name, colours[name], x, mean, low, high)
            ends[name] = float(mean[-1])
            farthest = max(farthest, float(x[-1]))
        heights = [v for _, mean, low, high in bands.values() for v in (float(low.min()), float(high.max()))] or [0, 1]
        room = (max(heights) - min(heights)) or 1.0
        places = spread_labels(list(ends.values()), room * 0.105)
        for name, place in zip(ends, places, strict=True):
            figure.add_annotation(
                text=_label(name), x=1.0, xref="paper", xanchor="left", xshift=6, y=place,
                yref=f"y{'' if row == 1 else row}", showarrow=False, font={"size": 13, "color": colours[name]},
            )  # fmt: skip
    longest = max((len(name) for bands in (upper, lower) for name in bands), default=0)
    figure.update_xaxes(range=[-0.01 * farthest - 0.3, farthest + 0.3], zeroline=False, showgrid=False, fixedrange=True)
    figure.update_yaxes(zeroline=False, fixedrange=True, nticks=5)
    figure.update_xaxes(title_text=x_title, row=2, col=1)
    figure.update_layout(
        template=theme.template(), height=470, margin={"l": 8, "r": 16 + 7 * longest, "t": 30, "b": 8}
    )
    return figure


def _band(
    figure: go.Figure, row: int, name: str, colour: str, x: Array, mean: Array, low: Array, high: Array
) -> None:
    """The range as a pale ribbon, the mean as a line, a dot at each whole distance."""
    quiet = {"hoverinfo": "skip", "showlegend": False, "name": _label(name)}
    if not np.allclose(low, high, atol=1e-9):
        figure.add_trace(
            go.Scatter(
                x=np.concatenate((x, x[::-1])), y=np.concatenate((high, low[::-1])), mode="lines", fill="toself",
                line={"width": 0}, fillcolor=colour, opacity=0.22, **quiet,
            ),
            row=row, col=1,
        )  # fmt: skip
    figure.add_trace(go.Scatter(x=x, y=mean, mode="lines", line={"color": colour, "width": 1.8}, **quiet), row=row, col=1)
    whole = np.isclose(x, np.round(x))
    figure.add_trace(
        go.Scatter(
            x=np.round(x[whole]), y=mean[whole], mode="markers", marker={"color": colour, "size": 3.5},
            customdata=np.stack((low[whole], high[whole]), axis=1), showlegend=False, name=quiet["name"],
            hovertemplate=quiet["name"] + ", distance %{x}: %{y:.3f}"
            "<br>from %{customdata[0]:.3f} to %{customdata[1]:.3f}<extra></extra>",
        ),
        row=row, col=1,
    )  # fmt: skip


RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def power_of_ten(power: int) -> str:
    """10 with its exponent in letters of their own, which stay as large as the line.

    >>> power_of_ten(-7)
    '10⁻⁷'
    """
    return f"10{str(power).translate(RAISED)}"


def tiny(value: float) -> str:
    """A very small number.

    >>> tiny(2.4e-16), tiny(0.0), tiny(0.25)
    ('2·10⁻¹⁶', '0', '0.25')
    """
    if value == 0:
        return "0"
    digit, _, power = f"{value:.0e}".partition("e")
    return f"{value:.2f}" if value > 0.005 else f"{digit}·{power_of_ten(int(power))}"


def spread_labels(wanted: Sequence[float], least: float) -> list[float]:
    """Heights for labels as near as possible to the wanted ones, at least `least` apart, in the same order.

    >>> spread_labels([0.0, 0.1, 5.0], 1.0)
    [-0.45, 0.55, 5.0]
    """
    order = sorted(range(len(wanted)), key=lambda i: wanted[i])
    groups: list[tuple[list[int], float]] = []  # the labels that touch, and the centre they share
    for i in order:
        members, centre = [i], float(wanted[i])
        while groups:
            before, other = groups[-1]
            if centre - other >= least * (len(members) + len(before)) / 2:
                break
            groups.pop()
            members = before + members
            centre = sum(float(wanted[m]) for m in members) / len(members)
        groups.append((members, centre))
    places = [0.0] * len(wanted)
    for members, centre in groups:
        for rank, member in enumerate(members):
            places[member] = round(centre + (rank - (len(members) - 1) / 2) * least, 9)
    return places
