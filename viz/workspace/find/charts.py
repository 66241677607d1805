"""Many heads as one picture: points of a plane, a tree of the nearest, the scores of one head on many sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from viz import number_text, theme
from viz.charts.parts.figures import draw_once
from viz.labels import percent, plotly_label
from viz.languages import _, write_number

Array = np.ndarray[Any, np.dtype[Any]]
SIGNS = (
    "circle",
    "square",
    "diamond",
    "triangle-up",
    "cross",
    "x",
    "star",
    "hexagon",
    "triangle-down",
    "pentagon",
    "bowtie",
    "hourglass",
)
ROW = 17
INK = 0.8
"""Of its strength is a drawing under the colours of its patches, as in the instrument."""


@draw_once
def points(
    places: Array,
    kinds: Sequence[str],
    names: Sequence[str],
    *,
    order: Sequence[str] = (),
    selected: int | None = None,
) -> go.Figure:
    """Draw heads as points (head, 2), each kind with a colour and a mark of its own; the chosen one in a ring.

    `order` lists all kinds that there may be, so that a kind looks the same in every map. The number of each head is its
    `customdata`. Both axes have one scale.

    >>> [trace.name for trace in points(np.eye(2), ["first word", "spread out"], ["L0.H0", "L0.H1"]).data]
    ['first word', 'spread out']
    """
    figure = go.Figure()
    _add_heads(figure, places, kinds, names, order, selected)
    bare = {"showticklabels": False, "zeroline": False, "fixedrange": True, "title_text": None}
    figure.update_xaxes(**bare)
    figure.update_yaxes(scaleanchor="x", scaleratio=1, **bare)
    figure.update_layout(
        template=theme.template(),
        height=520,
        margin={"l": 4, "r": 4, "t": 8, "b": 4},
        dragmode=False,
        clickmode="event+select",
        legend={"orientation": "h", "y": -0.02, "yanchor": "top", "x": 0},
    )
    return figure


def _add_heads(
    figure: go.Figure,
    places: Array,
    kinds: Sequence[str],
    names: Sequence[str],
    order: Sequence[str],
    ring: int | None,
    numbers: str = "",
) -> None:
    """Add heads as points, each kind with its colour and mark, and a ring around one of them; `numbers` is what the pointer shows of the axes."""
    known = [*order, *(kind for kind in dict.fromkeys(kinds) if kind not in order)]
    for number, kind in enumerate(known):
        own = [place for place, other in enumerate(kinds) if other == kind]
        if own:
            figure.add_scatter(
                x=places[own, 0].astype(np.float32),
                y=places[own, 1].astype(np.float32),
                mode="markers",
                name=plotly_label(kind).replace("·", " "),
                customdata=own,
                text=[plotly_label(names[place]).replace("·", " ") for place in own],
                hovertemplate=f"%{{text}}{numbers}<extra>%{{fullData.name}}</extra>",
                marker={
                    "size": 12,
                    "symbol": SIGNS[number % len(SIGNS)],
                    "color": theme.CATEGORICAL[number % len(theme.CATEGORICAL)],
                    "line": {"width": 1, "color": theme.BACKGROUND},
                },
                unselected={"marker": {"opacity": 1}},
            )
    if ring is not None:
        heights = places[:, 1]
        below = heights[ring] > heights.min() + 0.8 * np.ptp(
            heights
        )  # above it there is no room for its name
        figure.add_scatter(
            x=places[[ring], 0],
            y=places[[ring], 1],
            mode="markers+text",
            text=[plotly_label(names[ring]).replace("·", " ")],
            textposition="bottom center" if below else "top center",
            textfont={"size": 14, "color": theme.TEXT},
            hoverinfo="skip",
            showlegend=False,
            customdata=[ring],
            unselected={"marker": {"opacity": 1}, "textfont": {"color": theme.TEXT}},
            marker={"size": 22, "symbol": "circle-open", "color": theme.TEXT, "line": {"width": 2}},
        )


@draw_once
def scatter(
    places: Array,
    kinds: Sequence[str],
    names: Sequence[str],
    titles: tuple[str, str],
    *,
    order: Sequence[str] = (),
    ring: int | None = None,
    untrained: Array | None = None,
) -> go.Figure:
    """Draw heads as points (head, 2) between two measures with these titles; the heads of an untrained copy are grey rings behind them.

    >>> figure = scatter(np.eye(2), ["a", "b"], ["L0.H0", "L0.H1"], ("layer", "entropy"))
    >>> figure.layout.xaxis.title.text, len(figure.data)
    ('layer', 2)
    """
    figure = go.Figure()
    if untrained is not None:
        figure.add_scatter(
            x=untrained[:, 0].astype(np.float32),
            y=untrained[:, 1].astype(np.float32),
            mode="markers",
            name=_("untrained copy"),
            hoverinfo="skip",
            unselected={"marker": {"opacity": 1}},
            marker={"size": 7, "symbol": "circle-open", "color": theme.HATCH},
        )
    _add_heads(figure, places, kinds, names, order, ring, " (%{x:.3~g}, %{y:.3~g})")
    axis: dict[str, Any] = {"fixedrange": True, "zeroline": False}
    steps = [{"dtick": 1} if np.array_equal(values, np.round(values)) else {} for values in places.T]
    figure.update_layout(
        template=theme.template(),
        height=520,
        margin={"l": 8, "r": 8, "t": 8, "b": 8},
        dragmode=False,
        clickmode="event+select",
        xaxis=axis | steps[0] | {"title_text": titles[0]},
        yaxis=axis | steps[1] | {"title_text": titles[1]},
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
    )
    return figure


@draw_once
def thumbnail(
    weights: Array,
    queries: Sequence[str],
    keys: Sequence[str],
    *,
    allowed: Array | None = None,
    height: int = 150,
) -> go.Figure:
    """Draw one pattern (query, key) as a small picture from 0 to 1, the words under the pointer; masked cells are shaded.

    >>> thumbnail(np.eye(2), ["a", "b"], ["a", "b"]).data[0].text[1][0]
    'b attends to a'
    """
    rows, columns = ([plotly_label(word).replace("·", " ") for word in words] for words in (queries, keys))
    shown = (
        weights.astype(np.float32)
        if allowed is None
        else np.where(allowed, weights, np.nan).astype(np.float32)
    )
    scale = [[i / (len(theme.SEQUENTIAL) - 1), colour] for i, colour in enumerate(theme.SEQUENTIAL)]
    in_percent, percent = None, "%{z:.0%}"
    if (sign := write_number("%")) != "%":  # Plotly writes a sign of per cent of its own
        in_percent, percent = 100 * shown, f"%{{customdata:.0f}}{sign}"
    heat = go.Heatmap(
        z=shown,
        zmin=0,
        zmax=1,
        colorscale=scale,
        showscale=False,
        hoverongaps=False,
        text=[[_("{query} attends to {key}", query=row, key=column) for column in columns] for row in rows],
        hovertemplate="%{text}: " + percent + "<extra></extra>",
        customdata=in_percent,
    )
    bare = {"visible": False, "fixedrange": True, "constrain": "domain"}
    layout = {  # at once: Plotly looks up each name of a later change
        "template": theme.template(),
        "height": height,
        "margin": {"l": 0, "r": 0, "t": 0, "b": 0},
        "plot_bgcolor": theme.LINE,
        "xaxis": bare | {"range": [-0.5, len(columns) - 0.5]},
        "yaxis": bare | {"range": [len(rows) - 0.5, -0.5], "scaleanchor": "x", "scaleratio": 1},
    }
    return go.Figure(heat, layout)


@draw_once
def tree(
    links: Array, order: Sequence[int], names: Sequence[str], *, selected: int | None = None
) -> go.Figure:
    """Draw which heads join first: a tree from links (join, 4) as `core.analysis.heads.head_embedding.average_linkage` makes them, one row a head.

    >>> tree(np.array([[0.0, 1.0, 0.5, 2.0]]), [0, 1], ["L0.H0", "L0.H1"]).layout.yaxis.ticktext
    ('L0.H0', 'L0.H1')
    """
    n = len(order)
    at = {head: (0.0, float(row)) for row, head in enumerate(order)}
    x: list[float | None] = []
    y: list[float | None] = []
    for step, (one, other, height, _size) in enumerate(links.tolist()):
        (left, low), (right, high) = at[int(one)], at[int(other)]
        x += [left, height, height, right, None]
        y += [low, low, high, high, None]
        at[n + step] = (height, (low + high) / 2)
    figure = go.Figure(
        go.Scatter(x=x, y=y, mode="lines", line={"width": 1.2, "color": theme.PRIMARY}, hoverinfo="skip")
    )
    shown = [plotly_label(names[head]).replace("·", " ") for head in order]
    figure.update_yaxes(
        tickvals=list(range(n)),
        ticktext=[
            f"<b>{name}</b>" if head == selected else name for head, name in zip(order, shown, strict=True)
        ],
        range=[n - 0.5, -0.5],
        showgrid=False,
        zeroline=False,
        fixedrange=True,
        tickfont={"size": 12, "color": theme.TEXT},
    )
    figure.update_xaxes(
        title_text=_("distance at which groups join, √bits"), rangemode="tozero", fixedrange=True
    )
    figure.update_layout(
        template=theme.template(),
        height=70 + ROW * n,
        margin={"l": 4, "r": 8, "t": 4, "b": 44},
        showlegend=False,
    )
    return figure


@draw_once
def one_line(scores: Array, texts: Sequence[str], *, untrained: float | None = None) -> go.Figure:
    """Draw the score of one head on every sentence as points on a line from 0 to 1, with the median and the untrained copy.

    >>> len(one_line(np.array([0.2, 0.4]), ["a", "b"], untrained=0.1).data[0].x)
    2
    """
    lift = np.arange(len(scores)) * 0.618 % 1 / 2 - 0.25  # points that would hide each other stand apart
    figure = go.Figure(
        go.Scatter(
            x=scores.astype(np.float32),
            y=lift.astype(np.float32),
            mode="markers",
            text=[plotly_label(text).replace("·", " ") for text in texts],
            hovertemplate="%{x:.2f}: %{text}<extra></extra>",
            marker={"size": 9, "color": theme.PRIMARY, "opacity": 0.55},
        )
    )
    lines = [(float(np.median(scores)), _("median"), theme.TEXT, "solid")]
    if untrained is not None:
        lines.append((untrained, _("untrained"), theme.MUTED, "dot"))
    for value, word, colour, dash in lines:
        figure.add_shape(
            type="line",
            x0=value,
            x1=value,
            y0=-0.45,
            y1=0.45,
            line={"color": colour, "width": 2, "dash": dash},
        )
        figure.add_annotation(
            x=value,
            y=0.48 if dash == "solid" else -0.48,
            text=f"{word} {number_text.number(value)}",
            showarrow=False,
            xanchor="right" if value > 0.9 else "left" if value < 0.1 else "center",
            yanchor="bottom" if dash == "solid" else "top",
            font={"size": 13, "color": colour},
        )
    figure.update_xaxes(range=[-0.03, 1.03], fixedrange=True, zeroline=False)
    figure.update_yaxes(visible=False, range=[-0.85, 0.85], fixedrange=True)
    figure.update_layout(
        template=theme.template(), height=150, margin={"l": 4, "r": 4, "t": 4, "b": 24}, showlegend=False
    )
    return figure


@draw_once
def on_drawing(pixels: Array, weights: Array, *, height: int = 150) -> go.Figure:
    """Draw weights (row, column) over the patches of a grey drawing, blended as the picture of patches is; the largest is lightest.

    >>> on_drawing(np.zeros((4, 4), dtype=np.uint8), np.eye(2)).data[0].text[3][3]
    'row 2, column 2: 100%'
    """
    high, wide = (size // n for size, n in zip(pixels.shape, weights.shape, strict=True))
    shares = np.repeat(np.repeat(weights, high, axis=0), wide, axis=1)
    ramp = np.array([[int(c[i : i + 2], 16) for i in (1, 3, 5)] for c in theme.DARK.sequential], dtype=float)
    place = shares / (float(weights.max()) or 1.0) * (len(ramp) - 1)
    colours = np.stack([np.interp(place, np.arange(len(ramp)), channel) for channel in ramp.T], axis=-1)
    blended = 255 - (255 - INK * pixels[..., None]) * (255 - colours) / 255
    down, across = weights.shape
    told = [
        [
            _(
                "row {row}, column {column}: {share}",
                row=r + 1,
                column=c + 1,
                share=percent(float(weights[r, c])),
            )
            for c in range(across)
        ]
        for r in range(down)
    ]
    figure = go.Figure(
        go.Image(
            z=blended.round().astype(np.uint8),
            text=[
                [told[y // high][x // wide] for x in range(pixels.shape[1])] for y in range(pixels.shape[0])
            ],
            hovertemplate="%{text}<extra></extra>",
        )
    )
    bare = {"visible": False, "fixedrange": True}
    figure.update_xaxes(**bare)
    figure.update_yaxes(**bare)
    figure.update_layout(
        template=theme.template(), height=height, margin={"l": 2, "r": 2, "t": 2, "b": 2}, dragmode=False
    )
    return figure


@draw_once
def distances(trained: Array, untrained: Array | None, selected: tuple[int, int]) -> go.Figure:
    """Draw a dot for each head over its layer, as high as its mean distance in patches; pale ones are of an untrained copy (Dosovitskiy et al. 2021, figure 7).

    >>> [trace.name for trace in distances(np.ones((2, 3)), np.ones((2, 3)), (0, 0)).data]
    ['untrained copy', 'trained', 'L0.H0']
    """
    figure = go.Figure()
    top = max(float(table.max()) for table in (trained, untrained) if table is not None)
    rows = [(_("trained"), trained, theme.PRIMARY, 11), (_("untrained copy"), untrained, theme.MUTED, 7)]
    for name, table, colour, size in reversed(rows):
        if table is not None:
            layers, _heads = np.indices(table.shape)
            figure.add_scatter(
                x=layers.ravel(),
                y=table.ravel(),
                mode="markers",
                name=name,
                text=[f"L{layer}.H{head}" for layer, head in np.ndindex(table.shape)],
                hovertemplate="%{text}: %{y:.2f} " + _("patches") + "<extra>%{fullData.name}</extra>",
                marker={"color": colour, "size": size, "opacity": 0.8},
            )
    figure.add_scatter(
        x=[selected[0]],
        y=[trained[selected]],
        mode="markers",
        name=f"L{selected[0]}.H{selected[1]}",
        hoverinfo="skip",
        marker={"size": 20, "symbol": "circle-open", "color": theme.TEXT, "line": {"width": 2}},
    )
    figure.update_xaxes(title_text=_("layer"), dtick=1, zeroline=False, showgrid=False, fixedrange=True)
    figure.update_yaxes(
        title_text=_("mean distance, patches"),
        zeroline=False,
        fixedrange=True,
        nticks=6,
        range=[0, 1.12 * top],
    )
    figure.update_layout(
        template=theme.template(),
        height=300,
        margin={"l": 8, "r": 12, "t": 8, "b": 8},
        legend={"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
    )
    return figure
