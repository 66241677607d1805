"""The vectors of one word in many sentences: a map, what is nearer. Numbers and words in, an Altair chart out."""

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
from viz.labels import phrase, shorten

Array = np.ndarray[Any, np.dtype[Any]]


@draw_once
def on_a_map(
    places: Array, names: Sequence[str], senses: Sequence[str], order: Sequence[str]
) -> alt.TopLevelMixin:
    """Draw points of a plane, numbered from 1, with a colour and a shape for each meaning; both axes are without numbers.

    `names` are the tooltips of the points, `senses` their meanings, `order` all meanings in the order of the legend. Shapes: places (point, 2).

    >>> on_a_map(np.zeros((1, 2)), ["1"], ["money"], ["money", "river"]).to_dict()["data"]["values"][0]["label"]
    '1'
    """
    table = pd.DataFrame(
        {
            "across": places[:, 0],
            "up": places[:, 1],
            "sentence": [str(at + 1) for at in range(len(names))],
            "text": [shorten(phrase(name), 80) for name in names],
            "meaning": senses,
        }
    )
    reach = [1.15 * max(float(np.abs(places[:, axis]).max(initial=0)), 1e-6) for axis in range(2)]
    return marks.scatter(
        table,
        "across",
        "up",
        kind="meaning",
        hues=dict(zip(order, theme.CATEGORICAL, strict=False)),
        shapes=("circle", "square", "diamond")[: len(order)],
        sizes=[190],
        label="sentence",
        notes=["sentence", "text", "meaning"],
        ends=((-reach[0], reach[0]), (-reach[1], reach[1])),
        forms=("", ""),
        height=340,
    )


@draw_once
def nearer(
    texts: Sequence[str],
    partners: Sequence[tuple[str, str]],
    same: Array | None,
    similar: Array,
    *,
    low: float,
    high: int = 30,
) -> alt.TopLevelMixin:
    """Draw a row for each sentence with two points on an axis of cosines: to a sentence of the same meaning, and to one of the same words.

    Shapes: same and alike (sentence,); `same` None: question marks in place of the points. `partners`: those two sentences of each row.
    `low`: the start of the axis. `high`: the height of a row in pixels.

    >>> nearer(["a"], [("b", "c")], None, np.array([0.9]), low=0.5).to_dict()["data"]["values"]
    []
    """
    both = {} if same is None else {"same meaning": same, "same words": similar}
    table = pd.DataFrame(
        [
            (float(values[at]), at, kind, partners[at][which], f"{values[at]:.3f}")
            for which, (kind, values) in enumerate(both.items())
            for at in range(len(texts))
        ],
        columns=["cosine", "row", "kind", "sentence", "exact"],
    )
    lines = [{"x": ends.min(), "x2": ends.max(), "y": row} for row, ends in table.groupby("row")["cosine"]]
    line = vega.rows(lines, x="x:Q", x2="x2:Q", y="y:Q").mark_rule(strokeWidth=3, color=theme.LINE)
    return marks.scatter(
        table,
        "cosine",
        "row",
        kind="kind",
        hues={"same meaning": theme.CATEGORICAL[2], "same words": theme.CATEGORICAL[1]},
        shapes=("circle", "square"),
        sizes=[130],
        notes=["sentence", "kind", "exact"],
        rows=[shorten(text, 34) for text in texts],
        overlay=[line],
        ends=((low, 1), None),
        forms=(".2f", ""),
        covered=not both,
        height=high * len(texts) + 96,
    )
