"""How long a word's vector is behind each box that it passes, with the place where we are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from viz import theme
from viz.charts.parts.figures import draw_once
from viz.charts.parts.plotted import QUIET, add_note, apply_frame, legend_above, plain_text

Array = np.ndarray[Any, np.dtype[Any]]


@draw_once
def trip(
    sizes: Array,
    names: Sequence[str],
    stream: Sequence[bool],
    place: int,
    parts: Sequence[tuple[int, str]],
    height: int = 210,
) -> go.Figure:
    """Draw the length of a word's vector after each box as a dot; a line joins the residual stream, the other dots are outputs that are added to it.

    `stream` says which boxes are the residual stream, `place` is the index of the current box. `parts`: (first box of a stretch, its name).
    Shapes: sizes (box,).

    >>> [trace.name for trace in trip(np.array([1.0, 2.0, 3.0]), ["a", "b", "c"], [True, False, True], 1, [(0, "enc")]).data]
    ['residual stream', 'output of a box', 'here']
    """
    x = np.arange(1, len(sizes) + 1)
    on = np.array(stream, bool)
    figure = go.Figure()
    labels = list(map(plain_text, names))
    for name, which, mode, colour in (
        ("residual stream", on, "lines+markers", theme.CATEGORICAL[0]),
        ("output of a box", ~on, "markers", theme.CATEGORICAL[1]),
    ):
        figure.add_scatter(
            x=x[which],
            y=sizes[which].astype(np.float32),
            mode=mode,
            name=name,
            text=[labels[i] for i in np.flatnonzero(which)],
            marker={"size": 6, "color": colour},
            line={"width": 1.8, "color": colour},
            hovertemplate="%{x}. %{text}: %{y:.2f}<extra></extra>",
        )
    figure.add_scatter(
        x=[x[place]],
        y=[float(sizes[place])],
        mode="markers",
        name="here",
        showlegend=False,
        hoverinfo="skip",
        marker={"size": 15, "color": "rgba(0,0,0,0)", "line": {"width": 3, "color": theme.TEXT}},
    )
    top = float(sizes.max()) or 1.0
    for start, name in parts:
        figure.add_vline(x=start + 0.5, line={"width": 1, "color": theme.LINE}, layer="below")
        add_note(
            figure, plain_text(name), start + 0.7, 1.1 * top, 12, theme.MUTED, xanchor="left", yanchor="top"
        )
    figure.update_xaxes(range=[0.4, len(sizes) + 0.6], showticklabels=False, **QUIET)
    figure.update_yaxes(range=[0, 1.12 * top], title_text="length", fixedrange=True, nticks=4)
    return apply_frame(figure, height, legend=legend_above(-0.02, "top"))
