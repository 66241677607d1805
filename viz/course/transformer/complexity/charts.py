"""Costs of self-attention and recurrence: a table's rows as bars, the path between two words; costs over the length are `viz.charts.over_length`.

Numbers and words in, an Altair chart out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import altair as alt
import numpy as np
import pandas as pd

from viz import theme
from viz.charts import marks
from viz.charts.parts import panels, vega
from viz.charts.parts.figures import draw_once

HUES = {
    "self-attention": theme.CATEGORICAL[0],
    "recurrence": theme.CATEGORICAL[1],
    "LSTM": theme.CATEGORICAL[1],
}
WORDS = 13
"""Words of a chain that are drawn; of a longer one the first and the last."""


@draw_once
def table(rows: Sequence[tuple[str, Mapping[str, tuple[str, float]]]]) -> vega.Layers:
    """Draw the rows of a table as groups of bars, each group on a logarithmic scale of its own: the formula and its number after a bar.

    `rows`: (title, for each kind of layer its formula and its value).

    >>> [bar["label"] for bar in table([("steps", {"self-attention": ("O(1)", 1.0), "recurrence": ("O(n)", 50.0)})]).to_dict()["data"]["values"]]
    ['O(1) = 1', 'O(n) = 50']
    """
    values = pd.DataFrame(
        [{name: np.log10(value) for name, (_, value) in cells.items()} for _, cells in rows],
        [title for title, _ in rows],
    )
    return marks.bars(
        (values + 0.25).div(values.max(axis=1) + 1, axis=0),
        [f"{formula} = {value:,.0f}" for _, cells in rows for formula, value in cells.values()],
        title="each on its own log scale",
    )


@draw_once
def reach(n: int) -> vega.Layers:
    """Draw the path from the first of n words to the last: above by recurrence, n - 1 steps from state to state, below by attention, one step.

    >>> [row["x"] for row in reach(3).to_dict()["layer"][0]["data"]["values"]]
    [0, 1]
    """
    whole = n <= WORDS
    places = list(range(n)) if whole else [*range(WORDS // 2), *range(n - WORDS // 2, n)]
    xs = list(range(n)) if whole else [*range(WORDS // 2), *range(WORDS // 2 + 1, WORDS)]
    width = n if whole else WORDS
    far = f"min(15, 0.37 * width / {width})"  # pixels from the middle of a word to its rim
    arrows = [{"x": left, "x2": right, "y": 0} for left, right in pairwise(xs) if right - left == 1]
    words = [
        {"x": x, "y": y, "text": f"{place + 1}", "hue": HUES[name] if i in (0, len(xs) - 1) else theme.HATCH}
        for y, name in ((0, "recurrence"), (2, "self-attention"))
        for i, (x, place) in enumerate(zip(xs, places, strict=True))
    ]
    end = float(xs[-1])
    bow = [
        {"x": end * t, "y": 1.66 - 1.17 * 2 * t * (1 - t), "order": i}
        for i, t in enumerate(np.linspace(0, 1, 41).tolist())
    ]
    heads = [
        {"y": -0.68, "text": f"recurrence: {n - 1:,} steps, one after the other", "hue": HUES["recurrence"]},
        {"y": 2.72, "text": "self-attention: 1 step between any two words", "hue": HUES["self-attention"]},
    ]
    across, up = vega.hidden_axes((-0.6, width - 0.4), (2.95, -1.05))
    way, node, arch, said = (vega.rows(rows, x=across, y=up) for rows in (arrows, words, bow, heads))
    done = alt.value(HUES["recurrence"])
    begin, stop, rim = (alt.ExprRef(each) for each in (f"{far} + 3", f"-{far} - 5", f"3.14 * pow({far}, 2)"))
    head = {"shape": "triangle-right", "size": alt.ExprRef(f"6.5 * {far}"), "xOffset": stop}
    dot = {"filled": True, "opacity": 1}
    layers = [
        way.mark_rule(strokeWidth=2.5, xOffset=begin, x2Offset=stop).encode(x2="x2:Q", color=done),
        way.mark_point(**dot, **head).encode(x=panels.with_field(across, "x2:Q"), color=done),
        arch.mark_line(strokeWidth=3, color=HUES["self-attention"]).encode(order="order:Q"),
        node.mark_point(**dot, fill=theme.BACKGROUND, strokeWidth=2.5, size=rim).encode(
            stroke=vega.raw_channel("hue:N", alt.Stroke)
        ),
        node.mark_text(fontSize=12 if width > 9 else 13, color=theme.TEXT).encode(text="text:N"),
        said.mark_text(align="left", fontSize=15).encode(
            x=alt.value(4), text="text:N", color=vega.raw_channel("hue:N")
        ),
    ]
    if not whole:
        gaps = vega.rows([{"x": WORDS // 2, "y": y} for y in (0, 2)], x=across, y=up)
        layers.append(gaps.mark_text(text="…", fontSize=22, color=theme.MUTED))
    return vega.frame(*layers, height=260)
