"""The pictures of the exhibit on letters and frames: a spectrogram with the weights of each letter below it, and what shrinks."""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import numpy as np
from numpy.typing import NDArray
from PIL import Image

from viz import theme
from viz.charts.parts import panels, vega
from viz.charts.parts.figures import draw_once
from viz.labels import percent, visible

Array = NDArray[Any]
SOUND = 0.2
"""The share of the height that the spectrogram takes, and the line of words below it."""
WORDS = 0.06
END = 1.9
"""Where the axis of the rates ends: what was written has its place behind the longest bar."""
CROWDED = 16
"""Pixels of a row below which letters, in the type of Present, touch those of the next row."""


@draw_once
def over_frames(
    mel: Array,
    words: Sequence[tuple[str, float, float]],
    letters: Sequence[str],
    weights: Array,
    step: float,
    *,
    upto: int | None = None,
    line: bool = False,
    until: float | None = None,
    height: float = 430,
) -> vega.Layers:
    """Time from left to right: the spectrogram, the words where they sound, and a row of weights for each letter.

    mel (frame, band), words (name, begin, end) in seconds, weights (letter, place), a place `step` seconds. Rows from
    `upto` on are still covered. line: a dot at each row's mean second. until: where the axis ends, for pictures that
    are compared.

    >>> chart = over_frames(np.zeros((8, 3)), [("4", 0.0, 0.1)], ["f", "END"], np.eye(2), 0.08).to_dict()
    >>> [row["weight"] for row in chart["layer"][2]["data"]["values"]]
    ['100%', '100%']
    """
    n, m = weights.shape
    end = until or max(m * step, mel.shape[0] * step / 4)
    top = SOUND + WORDS
    tall = (1 - top) / n
    shown = n if upto is None else upto
    strongest = float(weights.max()) or 1.0
    cells = [
        {
            "left": place * step,
            "right": (place + 1) * step,
            "top": top + row * tall,
            "bottom": top + (row + 1) * tall,
            "colour": theme.shade(float(weights[row, place]) / strongest)[0],
            "letter": visible(letters[row]),
            "weight": percent(float(weights[row, place]), 1),
            "second": f"{place * step:.2f} to {(place + 1) * step:.2f} s",
        }
        for row in range(shown)
        for place in range(m)
        if weights[row, place] >= 0.004
    ]
    dots = [
        {
            "x": float(weights[row] @ ((np.arange(m) + 0.5) * step)),
            "y": top + (row + 0.5) * tall,
            "order": row,
        }
        for row in range(shown if line else 0)
    ]
    covered = [{"left": 0, "right": end, "top": top + shown * tall, "bottom": 1}] if shown < n else []
    said = [
        {
            "left": begin,
            "right": finish,
            "x": (begin + finish) / 2,
            "y": SOUND + WORDS / 2,
            "word": visible(name),
        }
        for name, begin, finish in words
    ]
    edges = [{"x": x, "y": 0, "y2": 1} for _, begin, finish in words for x in (begin, finish)]
    sound = [{"left": 0, "right": mel.shape[0] * step / 4, "top": 0, "bottom": SOUND, "image": _png(mel)}]
    crowded = tall * height < CROWDED
    apart = "\u2800" * 2  # blank, but no space that Vega would trim: each row has its letter, in two columns
    names = {
        round(top + (row + 0.5) * tall, 6): visible(letters[row]) + (apart if crowded and row % 2 else "")
        for row in range(shown)
    }
    names[SOUND / 2] = "pitch"
    across = alt.X(
        "left:Q",
        title="seconds",
        scale=vega.exact_scale(0, end),
        axis=alt.Axis(grid=False, domain=False, tickCount=8, format=".1f"),
    )
    down = alt.Y(
        "top:Q",
        title=None,
        scale=vega.exact_scale(1, 0),
        axis=vega.bare_axis(
            values=list(names),
            labelExpr=vega.label_expression(names),
            labelFontSize=12,
            labelOverlap=False if 2 * tall * height >= CROWDED else "greedy",
        ),
    )

    def placed(rows: list[dict[str, Any]], x: str = "x:Q", y: str = "y:Q") -> alt.Chart:
        return vega.rows(rows).encode(x=panels.with_field(across, x), y=panels.with_field(down, y))

    def boxes(rows: list[dict[str, Any]]) -> alt.Chart:
        return vega.rows(rows).encode(x=across, x2="right:Q", y=down, y2="bottom:Q")

    tips = vega.tooltip(("letter:N", "letter"), ("second:N", "sound"), ("weight:N", "weight"))
    layers = [
        boxes(sound).mark_image(aspect=False, smooth=False).encode(url="image:N"),
        placed(edges).mark_rule(color=theme.LINE, strokeDash=[3, 3]).encode(y2="y2:Q"),
        boxes(cells).mark_rect().encode(color=vega.raw_channel(), tooltip=tips),
        boxes(covered).mark_rect(color=theme.SURFACE),
        placed(said).mark_text(fontSize=14, color=theme.TEXT).encode(text="word:N"),
        placed(dots).mark_line(color=theme.CATEGORICAL[1], strokeWidth=2).encode(order="order:Q"),
        placed(dots).mark_circle(color=theme.CATEGORICAL[1], size=46, opacity=1),
    ]
    return vega.frame(*layers, height=height)


@draw_once
def pyramid(shapes: Mapping[str, tuple[int, int]], *, height: float = 240) -> vega.Layers:
    """Draw the states of each level of a pyramidal encoder as a row of blocks, the frames below; a note at the right has their number.

    `shapes`: for each level (states, numbers of each), the frames first.

    >>> chart = pyramid({"frames": (4, 3), "level 0": (4, 2), "level 1": (2, 2)}).to_dict()
    >>> len(chart["layer"][0]["data"]["values"]), [row["said"] for row in chart["layer"][1]["data"]["values"]]
    (10, ['2 states', '4 states', '4 frames'])
    """
    order = list(shapes.items())[::-1]
    blocks = [
        {"left": (i + 0.04) / n, "right": (i + 0.96) / n, "place": at, "top": at + 0.14, "bottom": at + 0.86}
        for at, (_, (n, _)) in enumerate(order)
        for i in range(n)
    ]
    notes = [
        {"x": 1.01, "y": at + 0.5, "said": f"{n} {'frames' if name == 'frames' else 'states'}"}
        for at, (name, (n, _)) in enumerate(order)
    ]
    across = alt.X(
        "left:Q", axis=None, scale=vega.exact_scale(0, 1.25)
    )  # the notes at the right, in the type of Present
    named = {at + 0.5: name for at, (name, _) in enumerate(order)}
    down = alt.Y(
        "top:Q",
        title=None,
        scale=vega.exact_scale(len(order), 0),
        axis=vega.bare_axis(values=list(named), labelExpr=vega.label_expression(named), labelFontSize=13),
    )
    layers = [
        vega.rows(blocks)
        .mark_rect(color=theme.CATEGORICAL[0])
        .encode(x=across, x2="right:Q", y=down, y2="bottom:Q"),
        vega.rows(notes)
        .mark_text(align="left", fontSize=14, color=theme.TEXT)
        .encode(x=panels.with_field(across, "x:Q"), y=panels.with_field(down, "y:Q"), text="said:N"),
    ]
    return vega.frame(*layers, height=height)


def _png(mel: Array) -> str:
    """Return a spectrogram (frame, band) as the data URL of an image, low pitches at the bottom: the louder, the less transparent."""
    low, high = float(mel.min()), float(mel.max())
    loud = ((mel.T[::-1] - low) / ((high - low) or 1.0) * 255).astype(np.uint8)
    colour = [int(theme.CATEGORICAL[0][at : at + 2], 16) for at in (1, 3, 5)]
    pixels = np.dstack([*(np.full_like(loud, part) for part in colour), loud])
    file = io.BytesIO()
    Image.fromarray(pixels, "RGBA").save(file, "PNG")
    return f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}"
