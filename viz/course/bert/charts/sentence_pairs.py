"""Two texts side by side as BERT reads them: their tokens, and what is said of them.

Numbers and words in, an Altair chart out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from viz import theme
from viz.charts import marks
from viz.charts.parts import vega
from viz.charts.parts.figures import draw_once
from viz.labels import percent, shorten, visible

Array = np.ndarray[Any, np.dtype[Any]]
ACROSS, HIGH = 7, 34
"""Tokens in a line, and pixels of a line."""
HUES = ("A", "B")


@draw_once
def tokens(
    names: Sequence[str],
    segments: Sequence[int],
    *,
    quiet: Sequence[str] = (),
    across: int = ACROSS,
    high: int = HIGH,
) -> alt.TopLevelMixin:
    """Draw tokens as boxes in lines, those of text A in one colour and those of text B in another; text B begins a new line.

    `segments` is 0 for A and 1 for B; tokens in `quiet` are grey; `across` is the most boxes of a line, `high` the height of one in pixels.

    >>> tokens(["[CLS]", "a", "[SEP]", "b", "[SEP]"], [0, 0, 0, 1, 1]).to_dict()["layer"][1]["mark"]["type"]
    'text'
    """
    cells, line, column = [], 0, 0
    for place, (name, segment) in enumerate(zip(names, segments, strict=True)):
        if place and (column == across or segment != segments[place - 1]):
            line, column = line + 1, 0
        cells.append(
            {
                "x": column,
                "y": line,
                "name": shorten(visible(name), 14),
                "exact": visible(name),
                "text": HUES[segment],
                "place": place,
                "quiet": name in quiet,
            }
        )
        column += 1
    wide = max(cell["x"] for cell in cells) + 1
    base = vega.rows(cells).encode(
        x=alt.X("x:O", axis=None, scale=alt.Scale(domain=list(range(wide)), paddingInner=0.06)),
        y=alt.Y("y:O", axis=None, scale=alt.Scale(paddingInner=0.14)),
        tooltip=vega.tooltip(("exact:N", "token"), ("text:N", "text"), ("place:Q", "place")),
    )
    hue = alt.Color("text:N", scale=alt.Scale(domain=list(HUES), range=theme.CATEGORICAL[:2]), legend=None)
    rect = base.mark_rect(cornerRadius=4, opacity=0.28).encode(color=hue)
    text = base.mark_text(fontSize=14, limit=alt.ExprRef(f"width / {wide} - 4")).encode(
        text="name:N", color=alt.condition("datum.quiet", alt.value(theme.MUTED), alt.value(theme.TEXT))
    )
    return alt.layer(rect, text).properties(view=vega.BARE, height=high * (line + 1))


@draw_once
def decisions(
    values: Array | None, follows: Sequence[bool], texts: Sequence[str], cut: float, *, height: int = 250
) -> alt.TopLevelMixin:
    """Draw a dot for each pair of sentences over P(IsNext): above the pairs whose second sentence follows, below the others.

    The colour says whether the decision at the threshold `cut`, the vertical line, is right or wrong. None: question marks instead of dots.
    Shapes: values (pair,).

    >>> decisions(np.array([0.6, 0.6]), [True, False], ["a", "b"], 0.5).to_dict()["data"]["values"][0]["kind"]
    'right'
    """
    score, n = "P(IsNext) by bert-mini", [0, 0]
    rows = []
    for true, text, chance in zip(follows, texts, () if values is None else values.tolist(), strict=False):
        n[true] += 1
        row = int(not true) + 0.62 * (n[true] * 0.618 % 1) - 0.31
        rows.append((chance, row, "right" if (chance >= cut) == true else "wrong", shorten(text, 120)))
    table = pd.DataFrame(rows, columns=[score, "row", "kind", "pair"])
    return marks.scatter(
        table.assign(P=[percent(chance, 2) for chance in table[score]]),
        score,
        "row",
        kind="kind",
        hues={"right": theme.CATEGORICAL[2], "wrong": theme.CATEGORICAL[3]},
        shapes=("circle", "diamond"),
        notes=["pair", "P", "kind"],
        rows=["B follows", "B is not the next sentence"],
        ends=((0, 1), None),
        forms=(".0%", ""),
        overlay=marks.rules({"threshold": cut}),
        covered=values is None,
        height=height,
    )
