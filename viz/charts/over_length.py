"""Growth of costs: lines over the length of a text, both axes logarithmic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import pandas as pd

from viz.charts import marks
from viz.charts.parts import vega
from viz.charts.parts.figures import draw_once
from viz.languages import _, mark
from viz.number_text import decade


@draw_once
def over_length(
    lines: Mapping[str, Sequence[float]],
    lengths: Sequence[float],
    *,
    title: str,
    marked: Mapping[str, float] | None = None,
    x: str = mark("n, words"),
    unit: str = "",
    scale: marks.Scale = "log",
    covered: bool = False,
    height: int = 330,
) -> vega.Layers:
    """Return one line each over the lengths; `marked` are lengths with a name.

    unit: that of the values, of which the axis names powers of ten. covered: the axes and what is marked alone.

    >>> chart = over_length({"recurrence": [4, 40]}, [1, 10], title="operations", marked={"n = 10": 10}).to_dict()
    >>> [(dot["x"], dot["y"]) for dot in chart["data"]["values"]], chart["encoding"]["x"]["scale"]["type"]
    ([(1, 4.0), (10, 40.0)], 'log')
    """
    return marks.lines(
        pd.DataFrame(lines, list(lengths)),
        x=_(x),
        title=title,
        form=partial(decade, unit=unit),
        scales=(scale, "log"),
        overlay=marks.rules(
            {name: n for name, n in (marked or {}).items() if min(lengths) <= n <= max(lengths)}
        ),
        covered=covered,
        legend=False,
        height=height,
    )
