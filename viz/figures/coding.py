"""An autoencoder as a picture: what goes in, the context's few numbers, what comes out; and what is lost by the size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from viz import theme
from viz.labels import plain

Array = np.ndarray[Any, np.dtype[Any]]
ENTRY, MIDDLE, EXIT = (0.0, 0.24), (0.34, 0.62), (0.72, 1.0)
"""Where the three boxes stand, as shares of the width."""


def _words(text: str) -> str:
    return plain(text).replace("·", " ")


def boxes(
    entry: tuple[str, Array, bool], context: Array, exits: Sequence[tuple[str, Array | str | None]], *, limit: float | None = None, height: int = 380
) -> go.Figure:
    """Three boxes from left to right: encoder's input, hidden space, decoders' outputs below one another.

    entry: (name, (row, column) numbers, whether they are signed; unsigned ones are ink from 0 to 1).
    context: (p,), one bar each; `limit` is the end of their scale. exits: (decoder's name, dots or a word; None: covered).

    >>> figure = boxes(("A", np.eye(2), False), np.array([1.0, -2.0]), [("French", "l'arbre")])
    >>> figure.data[1].x.tolist(), [a.text for a in figure.layout.annotations][-1]
    ([1.0, -2.0], "l'arbre")
    """
    name, values, signed = entry
    figure = go.Figure()
    figure.add_trace(_dots(values, signed, "x", "y"))
    colours = [theme.DIVERGING[8] if value >= 0 else theme.DIVERGING[2] for value in context]
    p, end = len(context), limit or float(np.abs(context).max(initial=0)) or 1.0
    figure.add_bar(
        x=context.astype(np.float32), y=list(range(p)), orientation="h", xaxis="x2", yaxis="y2", showlegend=False, width=0.8,
        marker={"color": colours, "line": {"width": 0}}, hovertemplate="c%{customdata}: %{x:.3f}<extra></extra>", customdata=list(range(1, p + 1)),
    )  # fmt: skip
    quiet = {"showgrid": False, "zeroline": False, "fixedrange": True, "showticklabels": False, "ticks": ""}
    layout: dict[str, Any] = {
        "xaxis": {**quiet, "domain": ENTRY, "constrain": "domain"},
        "yaxis": {**quiet, "domain": (0.06, 0.84), "autorange": "reversed", "scaleanchor": "x", "constrain": "domain"},
        "xaxis2": {**quiet, "domain": MIDDLE, "range": [-end, end], "anchor": "y2", "zeroline": True, "zerolinecolor": theme.MUTED},
        "yaxis2": {**quiet, "domain": (0.06, 0.84), "range": [max(p, 3) - 0.4, -0.6], "anchor": "x2"},
    }
    shapes = [_frame(span) for span in (ENTRY, MIDDLE, EXIT)]
    notes = [_note(title, sum(span) / 2, 0.985, 14, theme.TEXT) for title, span in
             ((name, ENTRY), (f"c: {p} number{'s' if p > 1 else ''}", MIDDLE), ("out" if len(exits) == 1 else f"{len(exits)} decoders", EXIT))]  # fmt: skip
    notes += [_arrow(ENTRY[1], MIDDLE[0]), _arrow(MIDDLE[1], EXIT[0])]
    for place, (decoder, made) in enumerate(exits):
        top, bottom = 0.84 - 0.78 * place / len(exits), 0.84 - 0.78 * (place + 1) / len(exits)
        if isinstance(made, np.ndarray):
            axis = place + 3
            figure.add_trace(_dots(made, False, f"x{axis}", f"y{axis}"))
            layout[f"xaxis{axis}"] = {**quiet, "domain": EXIT, "anchor": f"y{axis}", "constrain": "domain"}
            layout[f"yaxis{axis}"] = {**quiet, "domain": (bottom + 0.01, top - (0.06 if len(exits) > 1 else 0)), "anchor": f"x{axis}",
                                      "autorange": "reversed", "scaleanchor": f"x{axis}", "constrain": "domain"}  # fmt: skip
            if len(exits) > 1:
                notes.append(_note(decoder, sum(EXIT) / 2, top, 12, theme.MUTED))
        else:
            notes.append(_note(decoder, sum(EXIT) / 2, top - 0.01, 12, theme.MUTED))
            notes.append(_note(made if made is not None else "?", sum(EXIT) / 2, (top + bottom) / 2 - 0.02, 17, theme.TEXT, middle=True))
    figure.update_layout(template=theme.template(), height=height, margin={"l": 6, "r": 6, "t": 6, "b": 6}, shapes=shapes, annotations=notes, **layout)
    return figure


def _dots(values: Array, signed: bool, xaxis: str, yaxis: str) -> go.Heatmap:
    stops = theme.DIVERGING if signed else theme.SEQUENTIAL
    end = (float(np.abs(values).max()) or 1.0) if signed else 1.0
    return go.Heatmap(
        z=values.astype(np.float32), zmin=-end if signed else 0.0, zmax=end, showscale=False, xgap=1, ygap=1, xaxis=xaxis, yaxis=yaxis,
        colorscale=[[i / (len(stops) - 1), colour] for i, colour in enumerate(stops)], hovertemplate="%{z:.3f}<extra></extra>",
    )  # fmt: skip


def _frame(span: tuple[float, float]) -> dict[str, Any]:
    return {"type": "rect", "xref": "paper", "yref": "paper", "x0": span[0], "x1": span[1], "y0": 0.0, "y1": 1.0,
            "line": {"color": theme.LINE, "width": 1.5}, "layer": "below"}  # fmt: skip


def _note(text: str, x: float, y: float, size: int, colour: str, middle: bool = False) -> dict[str, Any]:
    return {"text": _words(text), "x": x, "y": y, "xref": "paper", "yref": "paper", "xanchor": "center",
            "yanchor": "middle" if middle else "top", "showarrow": False, "font": {"size": size, "color": colour}}  # fmt: skip


def _arrow(start: float, end: float) -> dict[str, Any]:
    return _note("→", (start + end) / 2, 0.5, 26, theme.MUTED, middle=True)


def lost(curves: Mapping[str, Array], learned: Mapping[int, float], at: int, *, height: int = 340) -> go.Figure:
    """What does not come back, in percent, against the size p of the context: lines from closed forms, dots learned.

    curves: by name, (p,) for p = 0, 1, ..; the first is the one with the dots and the mark at `at`.

    >>> figure = lost({"letters": np.array([1.0, 0.5, 0.0])}, {1: 0.5}, 1)
    >>> figure.data[0].y.tolist(), figure.data[1].x
    ([100.0, 50.0, 0.0], (1,))
    """
    figure = go.Figure()
    for place, (name, curve) in enumerate(curves.items()):
        colour = theme.CATEGORICAL[place]
        figure.add_scatter(
            x=list(range(len(curve))), y=100 * curve, mode="lines", name=_words(name), line={"color": colour, "width": 2},
            hovertemplate="p = %{x}: %{y:.1f} % lost<extra></extra>",
        )  # fmt: skip
        if place == 0:
            figure.add_scatter(
                x=list(learned), y=[100 * value for value in learned.values()], mode="markers", name="learned from a random start",
                marker={"color": colour, "size": 8}, hovertemplate="p = %{x}: %{y:.1f} % after learning<extra></extra>",
            )  # fmt: skip
    first = next(iter(curves.values()))
    if at < len(first):
        figure.add_scatter(
            x=[at], y=[100 * float(first[at])], mode="markers", showlegend=False, hoverinfo="skip",
            marker={"symbol": "circle-open", "size": 17, "color": theme.TEXT, "line": {"width": 2}},
        )  # fmt: skip
    figure.update_xaxes(title_text="p, numbers in the context", showgrid=False, zeroline=False, fixedrange=True, rangemode="tozero")
    figure.update_yaxes(title_text="lost, %", range=[0, 103], zeroline=False, fixedrange=True)
    figure.update_layout(template=theme.template(), height=height, margin={"l": 8, "r": 12, "t": 30, "b": 8}, hovermode="closest",
                         legend={"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"})  # fmt: skip
    return figure
