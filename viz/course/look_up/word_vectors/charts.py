"""Words as places of a plane with the sum that leads from three of them to a fourth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from viz import theme
from viz.charts.parts.figures import draw_once
from viz.labels import plotly_label, shorten
from viz.languages import _

Array = np.ndarray[Any, np.dtype[Any]]


WIDE, TALL, LETTER = 1000, 400, 21
"""The map's width and height, and the font size of its names in Present, in pixels."""
SIDES = {
    "top center": (0, 1),
    "bottom center": (0, -1),
    "middle right": (1, 0),
    "middle left": (-1, 0),
    "top right": (1, 1),
    "top left": (-1, 1),
    "bottom right": (1, -1),
    "bottom left": (-1, -1),
}


def clear_sides(places: Array, letters: Sequence[int]) -> list[str]:
    """Return for each point the side on which its name covers least of the other names and points.

    `places` (word, 2) are in pixels, the second upwards; `letters` is the number of letters of each name.

    >>> clear_sides(np.array([[0.0, 0.0], [10.0, 0.0]]), [6, 6])
    ['top center', 'bottom center']
    """
    taken = [(x - 6, y - 6, x + 6, y + 6) for x, y in places.tolist()]
    chosen = []
    for i, (x, y) in enumerate(places.tolist()):
        boxes = {side: _box(x, y, 0.56 * LETTER * letters[i], *way) for side, way in SIDES.items()}
        side = min(
            boxes,
            key=lambda side: sum(_shared(boxes[side], other) for at, other in enumerate(taken) if at != i),
        )
        taken.append(boxes[side])
        chosen.append(side)
    return chosen


def _box(x: float, y: float, width: float, right: int, up: int) -> tuple[float, float, float, float]:
    middle_x, middle_y = x + right * (width / 2 + 8), y + up * (LETTER / 2 + 8)
    return middle_x - width / 2, middle_y - LETTER / 2, middle_x + width / 2, middle_y + LETTER / 2


def _shared(a: tuple[float, float, float, float], b: tuple[float, float, float, float]) -> float:
    """Return the area of the overlap of two boxes (left, bottom, right, top)."""
    return max(0.0, min(a[2], b[2]) - max(a[0], b[0])) * max(0.0, min(a[3], b[3]) - max(a[1], b[1]))


@draw_once
def word_map(names: Sequence[str], places: Array, best: int) -> go.Figure:
    """Draw words as points of a plane, an arrow from b to a, and the same arrow from c to the sum c + a - b, which is a ring.

    `places` (word + 1, 2) has the words a, b and c first, then other words, and the sum last; `best` is the index of the highlighted word.

    >>> word_map(["a", "b", "c", "d"], np.array([[1.0, 1], [1, 0], [0, 0], [0, 1], [0, 1]]), 3).data[0].text
    ('a', 'b', 'c', 'd')
    """
    figure, shown = go.Figure(), [plotly_label(shorten(name, 16)).replace("·", " ") for name in names]
    x, y = places[:, 0].astype(float), places[:, 1].astype(float)
    colours = [
        theme.CATEGORICAL[1] if i == best else theme.TEXT if i < 3 else theme.MUTED for i in range(len(names))
    ]
    room = 0.14 * max(float(np.ptp(x)), float(np.ptp(y)), 1e-6)
    scale = min(WIDE / (float(np.ptp(x)) + 3.2 * room), TALL / (float(np.ptp(y)) + 2.3 * room))
    sides = clear_sides(scale * places[:-1], [len(name) for name in shown])
    figure.add_scatter(
        x=x[:-1],
        y=y[:-1],
        mode="markers+text",
        text=shown,
        textposition=sides,
        textfont={"size": 14, "color": colours},
        marker={"size": [11 if i < 3 or i == best else 7 for i in range(len(names))], "color": colours},
        hoverinfo="skip",
        cliponaxis=False,
    )
    figure.add_scatter(
        x=x[-1:],
        y=y[-1:],
        mode="markers",
        marker={"size": 20, "symbol": "circle-open", "color": theme.CATEGORICAL[1], "line": {"width": 3}},
        hovertemplate=_("the sum") + "<extra></extra>",
    )
    in_data = {"xref": "x", "yref": "y", "axref": "x", "ayref": "y"}
    arrow: dict[str, Any] = {"showarrow": True, "text": "", "standoff": 8, "startstandoff": 6}
    arrow |= {"arrowhead": 2, "arrowsize": 1.2, "arrowwidth": 2, "arrowcolor": theme.PRIMARY}
    for start, end in ((1, 0), (2, len(places) - 1)):
        figure.add_annotation(x=x[end], y=y[end], ax=x[start], ay=y[start], **in_data, **arrow)
    bare = {"showticklabels": False, "zeroline": False, "fixedrange": True}
    figure.update_xaxes(range=[x.min() - 1.6 * room, x.max() + 1.6 * room], **bare)
    figure.update_yaxes(range=[y.min() - room, y.max() + 1.3 * room], scaleanchor="x", scaleratio=1, **bare)
    return figure.update_layout(
        template=theme.template(), height=TALL, margin=dict.fromkeys("lrtb", 4), showlegend=False
    )
