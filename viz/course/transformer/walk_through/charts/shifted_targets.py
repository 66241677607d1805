"""The target and, below it, what the decoder reads: the same words one place to the right, START before them."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from viz import theme
from viz.charts.parts.figures import draw_once
from viz.charts.parts.plotted import HIDDEN, QUIET, add_arrow, add_note, apply_frame
from viz.labels import plotly_label

START = "START"


@draw_once
def shifted(
    target: Sequence[str], *, shift: bool = True, upright: bool = False, height: int = 190
) -> go.Figure:
    """Draw the tokens to be written (target and END) above those that the decoder reads, with an arrow from each token to where it is read.

    `shift`: the input is the target one position to the right, after START; without it, the target itself.
    `upright`: two columns, for a narrow space in Present.

    >>> [note.text for note in shifted(["De", "nada"]).layout.annotations if note.text][-3:]
    ['START', 'De', 'nada']
    """
    wanted = (*target, "END")
    read = (START, *target) if shift else wanted
    figure, n = go.Figure(), len(wanted)
    ends = ([-0.5, n - 0.5], [-0.5, 1.5])
    figure.add_scatter(
        x=ends[upright],
        y=ends[not upright],
        mode="markers",
        marker={"opacity": 0},
        hoverinfo="skip",
        showlegend=False,
    )
    moves = [(t, t + 1) for t in range(n - 1)] if shift else [(t, t) for t in range(n)]
    for here, there in moves:
        near = 0.3 if upright else 0.17
        (x, y), (ax, ay) = (
            _point(there - 0.06 * (there - here), near, upright),
            _point(here + 0.06 * (there - here), 1 - near, upright),
        )
        add_arrow(figure, (ax, ay), (x, y), theme.CATEGORICAL[0 if shift else 1], arrowwidth=1.8)
    letters = sum(map(len, wanted))
    size = 15 if letters <= 22 else 12 if n <= 14 else 11  # a phone has 300 pixels for them
    for row, words in ((1, wanted), (0, read)):
        for place, word in enumerate(words):
            first = row == 0 and place == 0 and shift
            x, y = _point(place, row, upright)
            box = {"bordercolor": theme.LINE, "borderwidth": 1, "borderpad": 3}
            ink, ground = (theme.BACKGROUND, theme.PRIMARY) if first else (theme.TEXT, theme.SURFACE)
            add_note(figure, plotly_label(word), x, y, size, ink, bgcolor=ground, **box)
    along, names = (
        (figure.update_yaxes, figure.update_xaxes) if upright else (figure.update_xaxes, figure.update_yaxes)
    )
    along(**HIDDEN, range=[n - 0.4, -0.6] if upright else [-0.6, n - 0.4])
    names(
        tickvals=[0, 1],
        ticktext=["writes", "reads"] if upright else ["reads", "writes"],
        range=[-0.4, 1.4],
        ticks="",
        tickfont={"size": 13, "color": theme.MUTED},
        **QUIET,
    )
    return apply_frame(figure, height, showlegend=False)


def _point(place: float, row: float, upright: bool) -> tuple[float, float]:
    return (1 - row, place) if upright else (place, row)
