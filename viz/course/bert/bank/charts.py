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

    >>> on_a_map(np.zeros((1, 2)), ["1"], ["money"], ["money", "river"]).to_dict()["layer"][0]["mark"]["type"]
    'point'
    """
    cells = [
        {"x": float(x), "y": float(y), "name": shorten(phrase(name), 80), "short": str(at + 1), "kind": kind}
        for at, ((x, y), name, kind) in enumerate(zip(places, names, senses, strict=True))
    ]
    reach = [1.15 * max(float(np.abs(places[:, axis]).max(initial=0)), 1e-6) for axis in range(2)]
    bare = {"title": None, "axis": alt.Axis(labels=False, ticks=False, tickCount=3)}
    base = vega.rows(
        cells,
        x=alt.X("x:Q", scale=vega.exact_scale(-reach[0], reach[0]), **bare),
        y=alt.Y("y:Q", scale=vega.exact_scale(-reach[1], reach[1]), **bare),
        tooltip=vega.tooltip(("short:N", "sentence"), ("name:N", "text"), ("kind:N", "meaning")),
    )
    points = base.mark_point(filled=True, size=190, opacity=0.9).encode(
        color=vega.colour_channel(
            "kind:N", dict(zip(order, theme.CATEGORICAL, strict=False)), vega.legend(orient="bottom")
        ),
        shape=_shapes(order, ("circle", "square", "diamond")),
    )
    numbers = base.mark_text(dx=18, fontSize=15, fontWeight=600).encode(text="short:N")
    return alt.layer(points, numbers).properties(view=vega.BARE, height=340)


def _shapes(order: Sequence[str], shapes: Sequence[str], **more: Any) -> alt.Shape:
    """Return an encoding that gives each kind a shape, with its legend, which Vega merges with that of the colours."""
    key = vega.legend(orient="bottom", **more)
    scale = alt.Scale(domain=list(order), range=list(shapes[: len(order)]))
    return alt.Shape("kind:N", scale=scale, legend=key)


@draw_once
def nearer(
    texts: Sequence[str],
    partners: Sequence[tuple[str, str]],
    same: Array | None,
    alike: Array,
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
    both = {} if same is None else {"same meaning": same, "same words": alike}
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
