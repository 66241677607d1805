"""The masks in pictures: sums over the words so far."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np

from viz import theme
from viz.charts.parts import panels, vega
from viz.charts.parts.figures import draw_once
from viz.labels import shorten, visible

Array = np.ndarray[Any, np.dtype[Any]]
LOW = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
MOST_NUMBERS = 14
"""Up to so many words a line's weights are written into its cells."""


@draw_once
def sums(
    weights: Array, words: Sequence[str], rows_in_view: int, *, height: int | None = None
) -> vega.Layers:
    """Draw causal attention as sums, one line for each output y_i: a cell for each word up to word i with its weight, a plus between them.

    Only the first `rows_in_view` lines are drawn; a word that a line does not sum has no cell. Shapes: weights (query key).

    >>> chart = sums(np.array([[1.0, 0.0], [0.25, 0.75]]), ["a", "b"], 2).to_dict()
    >>> [cell["said"] for cell in chart["layer"][0]["data"]["values"]]
    ['1.00', '0.25', '0.75']
    """
    n = len(words)
    written = n <= MOST_NUMBERS
    inner, outer = (0.42, 0.43) if written else (0.48, 0.48)
    cells = [
        {
            "x": key,
            "left": key - inner + 0.04,
            "right": key + inner - 0.04,
            "y": query,
            "top": query - outer,
            "bottom": query + outer,
            "said": f"{weights[query, key]:.2f}" if written else "",
            "exact": f"{weights[query, key]:.4f}",
            "line": query + 1,
            "word": visible(words[key]),
            **dict(zip(("colour", "ink"), theme.shade(float(weights[query, key])), strict=True)),
            "edge": 1.0 if weights[query, key] < 0.1 else 0.0,
        }
        for query in range(rows_in_view)
        for key in range(query + 1)
    ]
    pluses = [
        {"x": key + 0.5, "y": query}
        for query in range(rows_in_view if written else 0)
        for key in range(query)
    ]
    words_of: dict[str, Any] = {
        "values": list(range(n)),
        "labelFontSize": 14 if written else 12,
        "labelColor": theme.TEXT,
        "labelOverlap": False,
    }
    along = alt.X(
        "left:Q",
        title=None,
        scale=vega.exact_scale(-0.55, n - 0.45),
        axis=vega.bare_axis(
            **words_of,
            labelExpr=vega.label_expression([visible(shorten(word, 14)) for word in words]),
            orient="top",
            labelLimit=110,
            labelAngle=0 if n <= 9 else -55,
            labelAlign="center" if n <= 9 else "left",
            labelPadding=6,
        ),
    )
    lines = vega.label_expression([f"y{str(line + 1).translate(LOW)} =" for line in range(n)])
    down = alt.Y(
        "top:Q",
        title=None,
        scale=vega.exact_scale(n - 0.5, -0.5),
        axis=vega.bare_axis(**words_of, labelExpr=lines, labelPadding=8),
    )
    base = vega.rows(cells).encode(tooltip=vega.tooltip("line:Q", "word:N", ("exact:N", "weight")))
    rect = base.mark_rect(stroke=theme.MUTED).encode(
        x=along,
        x2="right:Q",
        y=down,
        y2="bottom:Q",
        color=vega.raw_channel(),
        strokeWidth=alt.StrokeWidth("edge:Q", scale=None),
    )
    layers = [rect]
    if written:
        at = {"x": panels.with_field(along, "x:Q"), "y": panels.with_field(down, "y:Q")}
        said = base.mark_text(fontSize=13, limit=alt.ExprRef(f"width / {n}"))
        plus = vega.rows(pluses).mark_text(text="+", fontSize=14, color=theme.MUTED)
        layers += [said.encode(**at, text="said:N", color=vega.raw_channel("ink:N")), plus.encode(**at)]
    return vega.frame(*layers, height=height or 60 + 34 * n)
