"""One number for each layer, such as the cosine of a word's two vectors: a line with its numbers. Numbers and words in, an Altair chart out."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np

from viz import theme
from viz.charts.parts import vega
from viz.charts.parts.figures import draw_once

Array = np.ndarray[Any, np.dtype[Any]]
NARROW = 52
"""Pixels of a place below which a number has two decimals: with three it would touch the next one."""


@draw_once
def by_layer(
    word: str, values: Array, names: Sequence[str], *, known: int | None = None
) -> alt.TopLevelMixin:
    """A word's cosines over the layers, a line with its number at every point; only the first `known` points are drawn (None: all).

    Shapes: values (layer,), `names` of the layers.

    >>> by_layer("bank", np.array([1.0, 0.5]), ["table", "after 1"], known=1).to_dict()["layer"][-1]["mark"]["text"]
    '?'
    """
    n = len(names)
    cut = n if known is None else known
    cells = [
        {
            "at": place,
            "value": float(value),
            "line": word,
            "said": f"{value:.3f}",
            "fell": bool(place and value < values[place - 1] - 0.02),
        }
        for place, value in enumerate(values[:cut])
    ]
    low = max(-1.0, min(0.5, float(values.min()) - 0.1)) if known is None else 0.0
    axis = alt.Axis(
        values=list(range(n)),
        grid=False,
        labelExpr=json.dumps([name.split() for name in names]) + "[datum.value]",
        labelAngle=0,
        labelFontSize=13,
        labelOverlap="greedy",
    )
    base = vega.rows(
        cells,
        x=alt.X("at:Q", title=None, scale=vega.exact_scale(-0.4, n - 0.4), axis=axis),
        y=alt.Y("value:Q", title="cosine", scale=vega.exact_scale(low, 1.06), axis=alt.Axis(tickCount=5)),
        color=vega.colour_channel("line:N", {word: theme.CATEGORICAL[0]}),
        tooltip=vega.tooltip(("line:N", "of"), ("said:N", "cosine")),
    )
    said = alt.ExprRef(f"width / {n} < {NARROW} ? format(datum.value, '.2f') : datum.said")
    layers: list[Any] = [base.mark_line(strokeWidth=3), base.mark_circle(size=90, opacity=1)]
    for fell, aside in ((False, -14), (True, 17)):  # a number stands where the line does not come from
        layers.append(
            base.transform_filter(f"datum.fell == {str(fell).lower()}")
            .mark_text(dy=aside, fontSize=13, fontWeight=600, text=said)
            .encode(color=alt.value(theme.TEXT))
        )
    if cut < n:
        middle = vega.rows([{"at": (cut + n - 1) / 2, "value": (low + 1) / 2}], x="at:Q", y="value:Q")
        layers.append(middle.mark_text(text="?", fontSize=34, color=theme.MUTED))
    return alt.layer(*layers).properties(padding=vega.AROUND, view=vega.BARE, height=290)
