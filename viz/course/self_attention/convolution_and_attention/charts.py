"""The pictures of the exhibit on convolution and attention: the field as a tree, answers by what is on, answers by place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
from numpy.typing import NDArray

from viz import theme
from viz.charts.parts import panels, vega
from viz.charts.parts.figures import draw_once
from viz.labels import percent, visible

Array = NDArray[Any]
UP = 26
"""Pixels of a level."""


@draw_once
def field(
    signs: Sequence[str],
    levels: Sequence[Sequence[int]],
    dilations: Sequence[int],
    *,
    moves: Array | None = None,
    framed: tuple[int, int] | None = None,
    up: float = UP,
) -> vega.Layers:
    """Draw the receptive field of a stack of dilated convolutions: positions to the right, layers upwards; lit is what reaches the topmost position.

    Lines join the lit dots of successive layers. `levels` are lit positions by level, the input first; there may be fewer than `dilations`
    have, and the rest is then unlit. `moves` (pos,) is how much each symbol changes the top in measured runs, from 0 to 1: the shade behind the
    symbols. `framed` (first, last) are the symbols of the shown pair that determines the answer.

    >>> chart = field(list("abcd"), [(0, 1, 2, 3), (1, 3), (3,)], (1, 2)).to_dict()
    >>> len(chart["layer"][1]["data"]["values"]), len(chart["layer"][2]["data"]["values"])
    (6, 12)
    """
    n, tall = len(signs), len(dilations)
    lit = [set(level) for level in levels]
    lines = [
        {"x": place - back, "x2": place, "y": level, "y2": level + 1}
        for level, step in enumerate(dilations)
        if level + 1 < len(lit)
        for place in sorted(lit[level + 1])
        for back in (0, step)
        if place - back in lit[level]
    ]
    dots = [
        {
            "x": place,
            "y": level,
            "lit": level < len(lit) and place in lit[level],
            "sign": visible(signs[place]),
            "place": place + 1,
            "level": "input" if not level else f"convolution {level}, dilation {dilations[level - 1]}",
        }
        for level in range(tall + 1)
        for place in range(n)
    ]
    shades = [
        {
            "left": place - 0.5,
            "right": place + 0.5,
            "top": -0.45,
            "bottom": -1.55,
            "said": percent(float(size), 1),
            "sign": visible(signs[place]),
            **dict(zip(("colour", "ink"), theme.shade(float(size)), strict=True)),
        }
        for place, size in enumerate(moves if moves is not None else ())
    ]
    words = [
        {"x": place, "y": -1, "text": visible(sign), "ink": shades[place]["ink"] if shades else theme.TEXT}
        for place, sign in enumerate(signs)
    ]
    frame = (
        [{"left": framed[0] - 0.5, "right": framed[1] + 0.5, "top": -0.4, "bottom": -1.6}] if framed else []
    )
    named = {0.0: "input", -1.0: "symbols"} | {
        float(level + 1): f"dilation {step}" for level, step in enumerate(dilations)
    }
    across = alt.X("x:Q", axis=None, scale=vega.exact_scale(-0.7, n - 0.3))
    down = alt.Y(
        "y:Q",
        title=None,
        scale=vega.exact_scale(-1.7, tall + 0.5),
        axis=vega.bare_axis(values=list(named), labelExpr=vega.label_expression(named), labelFontSize=12),
    )

    def placed(rows: list[dict[str, Any]], x: str = "x:Q", y: str = "y:Q") -> alt.Chart:
        return vega.rows(rows).encode(x=panels.with_field(across, x), y=panels.with_field(down, y))

    small = n > 30
    layers = [
        placed(shades, "left:Q", "top:Q")
        .mark_rect()
        .encode(
            x2="right:Q",
            y2="bottom:Q",
            color=vega.raw_channel(),
            tooltip=vega.tooltip(("sign:N", "symbol"), ("said:N", "change at the top")),
        ),
        placed(lines).mark_rule(strokeWidth=1.6, color=theme.CATEGORICAL[0]).encode(x2="x2:Q", y2="y2:Q"),
        placed(dots)
        .mark_circle(opacity=1)
        .encode(
            size=alt.condition("datum.lit", alt.value(46 if small else 90), alt.value(12 if small else 20)),
            color=alt.condition("datum.lit", alt.value(theme.CATEGORICAL[0]), alt.value(theme.HATCH)),
            tooltip=vega.tooltip(("sign:N", "symbol"), ("place:Q", "position"), ("level:N", "level")),
        ),
        placed(words)
        .mark_text(fontSize=11 if small else 14)
        .encode(text="text:N", color=vega.raw_channel("ink:N")),
        placed(frame, "left:Q", "top:Q")
        .mark_rect(filled=False, stroke=theme.CATEGORICAL[1], strokeWidth=2)
        .encode(x2="right:Q", y2="bottom:Q"),
    ]
    return vega.frame(*layers, height=up * (tall + 2.4))
