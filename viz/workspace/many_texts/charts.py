"""All texts as points on one scale, in a row for each group."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from viz.charts import marks
from viz.charts.parts import vega
from viz.charts.parts.figures import draw_once
from viz.labels import shorten
from viz.number_text import number

LETTERS = 60
ROW, AXIS, LEAST, MOST = 24, 52, 130, 330
SPREAD = 7
"""Steps between the middle and the edge of a row on which points of near values are drawn, so that they do not hide one another."""


@draw_once
def strip(
    values: Sequence[float],
    groups: Sequence[str],
    names: Sequence[str],
    lines: Sequence[int],
    title: str,
    selected: int | None = None,
) -> vega.Layers:
    """Draw a point for each text at its value, in a row for each group; `selected` (a line) in a ring. A click selects the field `line`.

    >>> strip([1.0, 2.0], ["a", "a"], ["one", "two"], [1, 2], "loss").to_dict()["layer"][0]["mark"]["type"]
    'point'
    """
    rows = list(dict.fromkeys(groups))
    table = pd.DataFrame(
        {
            title: values,
            "row": [
                rows.index(group) + ((3 * at) % SPREAD - SPREAD // 2) / (2 * SPREAD)
                for at, group in enumerate(groups)
            ],
            "text": [shorten(name, LETTERS) for name in names],
            "value": [number(value, 3) for value in values],
            "line": list(lines),
            "selected": [line == selected for line in lines],
        }
    )
    return marks.scatter(
        table,
        title,
        "row",
        notes=["text", "value"],
        rows=rows or [""],
        highlighted="selected",
        clickable="line",
        height=min(MOST, max(LEAST, AXIS + ROW * len(rows))),
    )
