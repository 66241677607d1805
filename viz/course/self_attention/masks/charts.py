"""The masks in pictures: how often the next digit is said right, sums over the words so far, what leaks through a number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import numpy as np

from viz import theme
from viz.charts.parts import panels, vega
from viz.charts.parts.figures import draw_once
from viz.labels import phrase, shorten, visible

Array = np.ndarray[Any, np.dtype[Any]]
LOW = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
MOST_NUMBERS = 14
"""Up to so many words a line's weights are written into its cells."""
"""How much of a place its bars take."""


@draw_once
def sums(weights: Array, words: Sequence[str], shown: int, *, height: int | None = None) -> vega.Layers:
    """The prefix form as lines: y_i is as many cells as words were read, each with its weight, a plus between them.

    Only the first `shown` lines are drawn; what a line does not sum has no cell at all. Shapes: weights (query key).

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
        for query in range(shown)
        for key in range(query + 1)
    ]
    pluses = [
        {"x": key + 0.5, "y": query} for query in range(shown if written else 0) for key in range(query)
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


@draw_once
def leak(fills: Array, curves: Mapping[str, Array], *, marked: float, height: int = 330) -> vega.Layers:
    """The largest leak of a row (0 to 1) over the number that stands for -inf, one line a curve.

    `fills` are negative; the axis runs to the right towards -inf in equal factors. `marked` draws the number chosen.
    Shapes: fills (point,), each curve (point,).
    Errors: ValueError when a number is not negative or a curve has another length.

    >>> chart = leak(np.array([-1.0, -10.0]), {"outside": np.array([0.2, 0.0])}, marked=-10).to_dict()
    >>> [row["size"] for row in chart["layer"][0]["data"]["values"]]
    [1.0, 10.0]
    """
    if not (fills < 0).all():
        raise ValueError(f"fills={fills.tolist()} must all be negative")
    if any(len(curve) != len(fills) for curve in curves.values()):
        raise ValueError(f"each curve needs {len(fills)} points, one a number")
    names = [phrase(name) for name in curves]
    rows = [
        {
            "size": -float(fill),
            "fill": f"−{-fill:.3g}",
            "leak": float(leaked),
            "leaks": f"{100 * leaked:.2f}%",
            "name": name,
        }
        for name, curve in zip(names, curves.values(), strict=True)
        for fill, leaked in zip(fills, curve, strict=True)
    ]
    ticks = [value for value in (1, 10, 100, 1000, 10_000) if -fills.max() <= value <= -fills.min()]
    across = alt.X(
        "size:Q",
        title="the number in place of −∞",
        scale=vega.exact_scale(-float(fills.max()), -float(fills.min()), type="log"),
        axis=vega.bare_axis(values=ticks, labelExpr="'−' + format(datum.value, ',.0f')", labelPadding=6),
    )
    up = alt.Y(
        "leak:Q",
        title="largest leak of a row",
        scale=vega.exact_scale(-0.01, 1.02),
        axis=alt.Axis(
            format=".0%", values=[0, 0.25, 0.5, 0.75, 1], domain=False, ticks=False, labelPadding=6
        ),
    )
    key = vega.legend(
        direction="vertical",
        symbolType="stroke",
        symbolStrokeWidth=2.5,
        labelFontSize=13,
        labelLimit=320,
        offset=4,
    )
    base = vega.rows(rows).encode(
        x=across,
        y=up,
        color=vega.colour_channel("name:N", vega.assign_colours(names), key, sort=names),
        tooltip=vega.tooltip(("fill:N", "number"), "leaks:N", ("name:N", "added")),
    )
    return vega.frame(
        base.mark_line(strokeWidth=2.5),
        base.mark_circle(size=90, opacity=0),
        vega.reference_line(across, -float(marked)),
        height=height,
    )
