"""The pictures of the exhibit on Vision Transformers: patches as tiles, in their places or as a row of words, and classes."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np
from numpy.typing import NDArray
from PIL import Image

from viz import theme
from viz.charts.parts import panels, vega
from viz.charts.parts.figures import draw_once

Array = NDArray[Any]
GAP = 0.14
"""Between two tiles, in tiles."""
NUMBERED = 60
"""So many tiles have their numbers written below them."""


@draw_once
def tiles(
    images: Sequence[Array], columns: int, *, first: str = "", numbered: bool = False, height: float = 300
) -> vega.Layers:
    """Draw grey images (row column) of numbers from 0 to 255 as tiles, `columns` in a line; `first`, if not empty, is a tile with a word before them.

    `numbered`: the position of each tile is below it, from 1, or from 0 where `first` has a tile. `height` in pixels.

    >>> chart = tiles([np.zeros((2, 2))] * 3, 2, first="class", numbered=True).to_dict()
    >>> [(round(row["left"], 2), round(row["top"], 2)) for row in chart["layer"][0]["data"]["values"]]
    [(1.14, 0.0), (0.0, 1.64), (1.14, 1.64)]
    """
    below = 0.5 if numbered else 0.0
    lead = bool(first)
    boxes = [
        {
            "left": (place % columns) * (1 + GAP),
            "right": (place % columns) * (1 + GAP) + 1,
            "top": (place // columns) * (1 + GAP + below),
            "bottom": (place // columns) * (1 + GAP + below) + 1,
            "middle": (place % columns) * (1 + GAP) + 0.5,
            "foot": (place // columns) * (1 + GAP + below) + 1,
            "number": str(place if lead else place + 1),
        }
        for place in range(len(images) + lead)
    ]
    lines = -(-len(boxes) // columns)
    wide, tall = columns * (1 + GAP) - GAP, lines * (1 + GAP + below) - GAP
    unit = f"min(width / {wide:.4f}, {height:g} / {tall:.4f})"
    begin = f"(width - {wide:.4f} * {unit}) / 2"
    across = alt.X(
        "left:Q",
        axis=None,
        scale=vega.exact_scale(
            0, wide, zero=False, range=[alt.ExprRef(begin), alt.ExprRef(f"{begin} + {wide:.4f} * {unit}")]
        ),
    )
    down = alt.Y(
        "top:Q",
        axis=None,
        scale=vega.exact_scale(0, tall, zero=False, range=[0, alt.ExprRef(f"{tall:.4f} * {unit}")]),
    )

    def placed(rows: Sequence[dict[str, Any]], x: str = "left:Q", y: str = "top:Q") -> alt.Chart:
        return vega.rows(rows).encode(x=panels.with_field(across, x), y=panels.with_field(down, y))

    held = [box | {"image": png(image)} for box, image in zip(boxes[lead:], images, strict=True)]
    word = [boxes[0] | {"word": first, "high": 0.5}] if lead else []
    layers = [
        placed(held)
        .mark_image(aspect=False, smooth=False)
        .encode(x2="right:Q", y2="bottom:Q", url="image:N", tooltip=vega.tooltip(("number:N", "place"))),
        placed(word)
        .mark_rect(fill=theme.SURFACE, stroke=theme.CATEGORICAL[0], strokeWidth=2)
        .encode(x2="right:Q", y2="bottom:Q"),
        placed(word, "middle:Q", "high:Q").mark_text(fontSize=12, color=theme.TEXT).encode(text="word:N"),
        placed(boxes if numbered and len(boxes) <= NUMBERED else [], "middle:Q", "foot:Q")
        .mark_text(baseline="top", dy=2, fontSize=11, color=theme.MUTED)
        .encode(text="number:N"),
    ]
    return vega.frame(*layers, height=height)


def coloured(image: Array) -> Array:
    """Return grey from 0 to 1 as red, green and blue; a bluish grey where it is not a number.

    >>> coloured(np.array([[1.0, np.nan]]))[0].tolist()
    [[1.0, 1.0, 1.0], [0.42, 0.45, 0.5]]
    """
    hidden = np.array([0.42, 0.45, 0.5])
    return np.where(np.isnan(image)[..., None], hidden, np.nan_to_num(image)[..., None])


def png(image: Array) -> str:
    """Return an image of grey numbers from 0 to 255 as a data URL."""
    out = io.BytesIO()
    Image.fromarray(np.asarray(image, dtype=np.uint8)).save(out, "PNG")
    return "data:image/png;base64," + base64.b64encode(out.getvalue()).decode()
