"""How a word is cut: one line for each look into the vocabulary, the letters that were looked up, and whether they were there."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from viz import theme
from viz.labels import plain

MOST = 12
"""So many looks are drawn: the first ones."""
Look = tuple[int, int, str, bool]
"""From which letter to which, the piece, whether it is there."""


def cutting(word: str, looks: Sequence[Look] | None, *, height: int = 280) -> go.Figure:
    """Each line shows the letters looked up: full where the piece was found, an empty frame where not. None: still covered.

    >>> figure = cutting("toy", [(0, 3, "toy", False), (0, 2, "to", True), (2, 3, "##y", True)])
    >>> figure.data[0].customdata
    ('toy: no', 'to: yes', '##y: yes')
    """
    figure = go.Figure()
    letters, shown = word[:24], list(looks or ())[:MOST]
    n, lines = max(1, len(letters)), max(1, len(shown))
    if looks is None:
        figure.add_scatter(x=[0], y=[0], opacity=0, hoverinfo="skip")
        figure.add_annotation(text="?", x=0.5, y=0.5, xref="paper", yref="paper", showarrow=False, font={"size": 44, "color": theme.MUTED})
    else:
        for y, (start, end, _, found) in enumerate(shown):
            colour = theme.CATEGORICAL[2 if found else 5]
            figure.add_shape(type="rect", x0=start - 0.46, x1=end - 0.54, y0=y - 0.4, y1=y + 0.4, layer="below", opacity=0.34 if found else 1.0,
                             fillcolor=colour if found else theme.BACKGROUND, line={"width": 0 if found else 1, "color": theme.HATCH, "dash": "dot"})  # fmt: skip
        x = [at for start, end, _, _ in shown for at in range(start, min(end, n))]
        y = [line for line, (start, end, _, _) in enumerate(shown) for _ in range(start, min(end, n))]
        figure.add_scatter(x=[n] * len(shown), y=list(range(len(shown))), mode="text", textposition="middle right", cliponaxis=False,
                           text=[f"{plain(piece)} {'✓' if found else '✗'}" for _, _, piece, found in shown], textfont={"size": 14, "color": theme.TEXT},
                           customdata=[f"{plain(piece)}: {'yes' if found else 'no'}" for _, _, piece, found in shown], hovertemplate="%{customdata}<extra></extra>")  # fmt: skip
        figure.add_scatter(x=x, y=y, mode="text", text=[plain(letters[at]) for at in x], textfont={"size": 15, "color": theme.TEXT}, hoverinfo="skip", cliponaxis=False)
    figure.update_xaxes(visible=False, range=[-0.6, 1.75 * n + 1.5], fixedrange=True)
    figure.update_yaxes(visible=False, range=[lines - 0.4, -0.6], fixedrange=True)
    return figure.update_layout(template=theme.template(), height=height, margin={"l": 4, "r": 4, "t": 4, "b": 4}, showlegend=False, dragmode=False)
