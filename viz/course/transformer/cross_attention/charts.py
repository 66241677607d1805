"""Cross-attention in pictures: who brings queries, keys and values, with shapes; and what each step of writing computes."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from viz import theme
from viz.charts.parts.kept import kept
from viz.charts.parts.plotted import HIDDEN, QUIET, arrow, framed, key, note, said
from viz.labels import plain

TARGET, SOURCE = theme.CATEGORICAL[1], theme.CATEGORICAL[0]
HALF = (0.46, 0.27)
"""Half the width and half the height of a box."""


@kept
def flow(n: int, m: int, d: int, heads: int, d_head: int, *, height: int = 400) -> go.Figure:
    """Boxes from top to bottom, each with its shape: queries from the decoder, keys and values from the encoder.

    `n` source and `m` target tokens, `d` numbers a word.

    >>> figure = flow(6, 7, 256, 8, 32)
    >>> [note.text for note in figure.layout.annotations if note.text.startswith("K:")]
    ['K: 8 × 6 × 32']
    """
    figure = go.Figure()
    boxes = (
        (0.0, 4, HALF[0], TARGET, "decoder", f"{m} × {d}"),
        (1.5, 4, 0.96, SOURCE, "encoder’s output", f"{n} × {d}"),
        (0.0, 3, HALF[0], TARGET, "Q", f"{heads} × {m} × {d_head}"),
        (1.0, 3, HALF[0], SOURCE, "K", f"{heads} × {n} × {d_head}"),
        (2.0, 3, HALF[0], SOURCE, "V", f"{heads} × {n} × {d_head}"),
        (0.5, 2, 0.96, theme.MUTED, "softmax(Q Kᵀ / √d)", f"{heads} × {m} × {n}"),
        (1.25, 1, 1.2, theme.MUTED, "weights times V", f"{heads} × {m} × {d_head}"),
        (1.25, 0, 1.2, TARGET, "output projection, to the decoder", f"{m} × {d}"),
    )
    for x, y, half, colour, name, shape in boxes:
        tall = HALF[1] + (0.13 if y == 4 else 0)
        figure.add_shape(
            type="rect",
            x0=x - half,
            x1=x + half,
            y0=y - HALF[1],
            y1=y - HALF[1] + 2 * tall,
            line={"color": colour, "width": 2},
            fillcolor=theme.BACKGROUND,
            layer="below",
        )
        note(figure, f"{said(name)}{'<br>' if y == 4 else ': '}{shape}", x, y - HALF[1] + tall)
    arrows = (
        (0, 4, 0, 3, "times W of Q"),
        (1, 4, 1, 3, "times W of K"),
        (2, 4, 2, 3, "times W of V"),
        (0, 3, 0, 2, ""),
        (1, 3, 1, 2, ""),
        (0.5, 2, 0.5, 1, ""),
        (2, 3, 2, 1, ""),
        (1.25, 1, 1.25, 0, ""),
    )
    for x, y, to_x, to_y, name in arrows:
        arrow(figure, (x, y - HALF[1]), (to_x, to_y + HALF[1]), arrowwidth=1.6)
        if name:
            note(figure, name, x, y - 0.5, 13, theme.MUTED, xanchor="left", xshift=7)
    figure.update_xaxes(range=[-0.5, 2.5], **HIDDEN)
    figure.update_yaxes(range=[-0.32, 4.58], **HIDDEN)
    return framed(figure, height, (2, 2, 2, 2), showlegend=False)


@kept
def computed(
    own: Sequence[int], source: Sequence[int], anew: Sequence[int], words: Sequence[str], *, height: int = 330
) -> go.Figure:
    """For each word written: the rows of keys and values that were computed, of its own words and of the source; a line for
    what they would be without a cache.

    >>> [trace.name for trace in computed([1, 1], [3, 0], [4, 5], ["a", "b"]).data]
    ['source words', 'own words', 'without the cache']
    """
    places = list(range(len(words)))
    figure = go.Figure()
    for name, values, colour in (("source words", source, SOURCE), ("own words", own, TARGET)):
        figure.add_bar(
            x=places,
            y=list(values),
            name=name,
            marker={"color": colour, "line": {"width": 0}},
            hovertemplate="%{y} rows<extra>%{fullData.name}</extra>",
            text=[str(v) if v > 1 else "" for v in values],
            textposition="inside",
            insidetextanchor="middle",
            textangle=0,
            textfont={"size": 13, "color": theme.BACKGROUND},
        )
    figure.add_scatter(
        x=places,
        y=list(anew),
        name="without the cache",
        mode="lines+markers",
        line={"color": theme.MUTED, "width": 2, "dash": "dash"},
        marker={"size": 7},
        hovertemplate="%{y} rows<extra>without the cache</extra>",
    )
    names = {"tickvals": places, "ticktext": [plain(word) for word in words], "tickfont": {"size": 14}}
    figure.update_xaxes(title_text="written", **names, **QUIET)
    figure.update_yaxes(title_text="rows of K and V computed", rangemode="tozero", fixedrange=True, nticks=6)
    return framed(figure, height, (8, 8, 34, 8), barmode="stack", bargap=0.3, legend=key(1.02))
