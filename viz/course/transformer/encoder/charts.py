"""Something of every word over the layers of a stack: thin lines, the chosen word and the mean in strong ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from viz import theme
from viz.charts.parts.figures import draw_once
from viz.charts.parts.plotted import apply_frame, legend_above, plain_text
from viz.labels import plotly_label

Array = np.ndarray[Any, np.dtype[Any]]


@draw_once
def over_layers(
    curves: Sequence[tuple[str, Array]], words: Sequence[str], chosen: int, *, height: int = 320
) -> go.Figure:
    """Each of the named curves (layer + 1, word): a thin line for each word, a thick one for the chosen word; cosines from -1 to 1.

    >>> [trace.name for trace in over_layers([("itself", np.ones((3, 2)))], ["a", "b"], 1).data if trace.name]
    ['itself: b']
    """
    figure = go.Figure()
    low = min(0.0, *(float(np.nanmin(values, initial=0.0)) for _, values in curves))
    for number, (name, values) in enumerate(curves):
        colour, x = theme.CATEGORICAL[number], list(range(len(values)))
        for word in range(values.shape[1]):
            if word != chosen:
                figure.add_scatter(
                    x=x,
                    y=values[:, word].astype(np.float32),
                    mode="lines",
                    line={"width": 1, "color": colour},
                    opacity=0.3,
                    showlegend=False,
                    hovertemplate=plotly_label(words[word]) + ": %{y:.3f}<extra></extra>",
                )
        figure.add_scatter(
            x=x,
            y=values[:, chosen].astype(np.float32),
            mode="lines+markers",
            line={"width": 3, "color": colour},
            marker={"size": 8},
            name=f"{plain_text(name)}: {plotly_label(words[chosen])}",
            hovertemplate="%{y:.3f}<extra></extra>",
        )
    n = len(curves[0][1])
    names = ["before any", *(f"after L{i}" for i in range(n - 1))]
    along = {"tickvals": list(range(n)), "ticktext": names, "range": [-0.15, n - 0.85]}
    figure.update_xaxes(**along, fixedrange=True, showgrid=False)
    figure.update_yaxes(range=[low - 0.05, 1.05], title_text="cosine", fixedrange=True)
    return apply_frame(figure, height, (4, 8, 4, 4), legend=legend_above(-0.14, "top"))
