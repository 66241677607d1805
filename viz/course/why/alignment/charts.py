"""One written word looks back: scores, weights, and the states that they mix, column below column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np

from viz import theme
from viz.charts.parts import panels, vega
from viz.charts.parts.figures import draw_once
from viz.course.why.charts.unrolled import cells
from viz.labels import phrase
from viz.languages import _
from viz.number_text import number

TILE_ROWS, WIDE, BAR = 16, 0.86, 0.62
"""Numbers below each other in a tile; the width of a tile and of a bar, of their room."""
SCORES, WEIGHTS, STATES, NAMES = (46, 118), (172, 234), (272, 368), 374
"""Pixels from above between which bars and tiles stand, and where the words begin."""
MANY, LETTER = 12, 7.5
"""Words up to which they stand upright; the pixels of a letter."""


@draw_once
def mixing(
    scores: np.ndarray, weights: np.ndarray, states: np.ndarray, context: np.ndarray, words: Sequence[str]
) -> vega.Layers:
    """Draw for each source word its score s_ij and its weight a_ij as bars and its state h_j as a tile; at the right the context c_i, the states mixed by a_ij.

    Shapes: scores, weights (key,), states (key, d), context (d,). Tiles share one scale centred on 0.

    >>> layers = mixing(np.zeros(2), np.array([0.5, 0.5]), np.ones((2, 4)), np.ones(4), ["a", "b"]).to_dict()["layer"]
    >>> [bar["said"] for bar in layers[1]["data"]["values"]], len(layers[2]["data"]["values"])
    (['0.50', '0.50'], 3)
    """
    n, names = len(words), [phrase(word) for word in words]
    foot = NAMES + (36 if n <= MANY else 70)
    across, down = vega.hidden_axes((-0.55, n + 0.85), (foot, 0))
    low, high, limit = min(scores.min(), 0.0), max(scores.max(), 0.0), float(np.abs(scores).max()) or 1.0
    heard = _bars(scores, names, low, high, SCORES)
    given = _bars(weights, names, 0.0, max(weights.max(), 0.3), WEIGHTS)
    rows = [
        {
            "left": place - WIDE / 2,
            "right": place + WIDE / 2,
            "top": STATES[0],
            "bottom": STATES[1],
            "rows": TILE_ROWS,
            "columns": -(-len(state) // TILE_ROWS),
            "name": name,
            "value": [round(float(value), 4) for value in state],
        }
        for place, name, state in zip(
            (*range(n), n + 0.3), (*names, _("the mix")), (*states, context), strict=True
        )
    ]
    titles = [
        {"x": -0.5, "y": top[0] - (22 if top is not STATES else 6), "said": said}
        for said, top in (
            (_("scores sᵢⱼ"), SCORES),
            (_("weights aᵢⱼ, they add up to 1"), WEIGHTS),
            (_("states hⱼ"), STATES),
        )
    ]
    mixed = [{"x": n + 0.3 + WIDE / 2, "y": STATES[0] - 6, "said": _("cᵢ, the mix")}]
    above = {"baseline": "bottom", "fontSize": 14}
    below = [{"x": place, "y": NAMES, "said": name} for place, name in enumerate(names)]
    tile = f"width / {n + 1.4}"
    narrow = f"{tile} < {LETTER * max(map(len, names))}"  # every other word on a second line
    upright = {
        "baseline": "top",
        "dy": alt.ExprRef(f"{narrow} && datum.x % 2 ? 15 : 0"),
        "limit": alt.ExprRef(f"({narrow} ? 2 : 1) * {tile}"),
    }
    slanted = {"angle": 300, "align": "right", "baseline": "middle", "limit": 80}
    return (
        vega.frame(
            _coloured_cells(heard, across, down, theme.DIVERGING, (-limit, limit)),
            _coloured_cells(given, across, down, theme.SEQUENTIAL, (0.0, 1.0)),
            cells(rows, across, down, 1.0),
            _text_marks(
                [*heard, *given],
                "middle:Q",
                across,
                down,
                dy=-3,
                baseline="bottom",
                fontSize=13 if n <= MANY else 11,
            ),
            _text_marks(titles, "x:Q", across, down, align="left", color=theme.MUTED, **above),
            _text_marks(mixed, "x:Q", across, down, align="right", **above),
            _text_marks(
                below,
                "x:Q",
                across,
                down,
                fontSize=14 if n <= MANY else 12,
                **(upright if n <= MANY else slanted),
            ),
            height=foot,
        )
    ).resolve_scale(color="independent")


def _bars(
    values: np.ndarray, names: Sequence[str], low: float, high: float, between: tuple[float, float]
) -> list[dict[str, Any]]:
    """Return a vertical bar for each value, from 0, on a scale from `low` to `high` that takes the pixels `between` (top, bottom)."""
    top, bottom = between
    places = bottom - (bottom - top) * (np.array([*values, 0.0]) - low) / ((high - low) or 1.0)
    *ends, zero = places.tolist()
    return [
        {
            "x": at - BAR / 2,
            "x2": at + BAR / 2,
            "middle": at,
            "y": min(end, zero),
            "y2": max(end, zero),
            "word": name,
            "number": float(value),
            "said": number(float(value)),
        }
        for at, (end, name, value) in enumerate(zip(ends, names, values, strict=True))
    ]


def _coloured_cells(
    bars: Sequence[dict[str, Any]],
    across: alt.X,
    down: alt.Y,
    colours: Sequence[str],
    ends: tuple[float, float],
) -> alt.Chart:
    hue = alt.Color(
        "number:Q", legend=None, scale=alt.Scale(domain=list(ends), range=list(colours), interpolate="rgb")
    )
    tips = vega.tooltip("word:N", ("number:Q", "", ".3f"))
    mark = {"stroke": theme.MUTED, "strokeWidth": 1}
    return vega.rows(bars, x=across, x2="x2:Q", y=down, y2="y2:Q", color=hue, tooltip=tips).mark_rect(**mark)


def _text_marks(rows: Sequence[dict[str, Any]], x: str, across: alt.X, down: alt.Y, **mark: Any) -> alt.Chart:
    """Draw the words of rows at their positions."""
    mark.setdefault("color", theme.TEXT)
    return vega.rows(rows, x=panels.with_field(across, x), y=down, text="said:N").mark_text(**mark)
