"""The target and, below it, what the decoder reads: the same words one place to the right, START before them."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from viz import theme
from viz.labels import plain

START = "START"


def shifted(target: Sequence[str], *, shift: bool = True, height: int = 190) -> go.Figure:
    """Rows: what is to be written (target and END) and what is read there. Arrows say where a word goes; without `shift` it stays.

    >>> [note.text for note in shifted(["De", "nada"]).layout.annotations if note.text][-3:]
    ['START', 'De', 'nada']
    """
    wanted = (*target, "END")
    read = (START, *target) if shift else wanted
    figure, n = go.Figure(), len(wanted)
    figure.add_scatter(x=[-0.5, n - 0.5], y=[-0.5, 1.5], mode="markers", marker={"opacity": 0}, hoverinfo="skip", showlegend=False)
    moves = [(t, t + 1) for t in range(n - 1)] if shift else [(t, t) for t in range(n)]
    for here, there in moves:
        figure.add_annotation(x=there - 0.06 * (there - here), y=0.17, ax=here + 0.06 * (there - here), ay=0.83, xref="x", yref="y", axref="x", ayref="y", text="",
                              showarrow=True, arrowhead=2, arrowwidth=1.8, arrowcolor=theme.CATEGORICAL[0] if shift else theme.CATEGORICAL[1])  # fmt: skip
    size = 15 if n <= 8 else 12 if n <= 14 else 11
    for y, words in ((1, wanted), (0, read)):
        for x, word in enumerate(words):
            first = y == 0 and x == 0 and shift
            figure.add_annotation(x=x, y=y, text=plain(word), showarrow=False, font={"size": size, "color": theme.BACKGROUND if first else theme.TEXT},
                                  bgcolor=theme.PRIMARY if first else theme.SURFACE, bordercolor=theme.LINE, borderwidth=1, borderpad=3)  # fmt: skip
    figure.update_xaxes(visible=False, range=[-0.6, n - 0.4], fixedrange=True)
    figure.update_yaxes(tickvals=[0, 1], ticktext=["reads", "writes"], range=[-0.4, 1.4], showgrid=False, zeroline=False, fixedrange=True,
                        ticks="", tickfont={"size": 13, "color": theme.MUTED})  # fmt: skip
    figure.update_layout(template=theme.template(), height=height, margin={"l": 4, "r": 4, "t": 4, "b": 4}, showlegend=False)
    return figure
