"""The vectors of one word in many sentences: a map, what is nearer. Numbers and words in, an Altair chart out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np

from viz import theme
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

    >>> nearer(["a"], [("b", "c")], None, np.array([0.9]), low=0.5).to_dict()["layer"][1]["mark"]["type"]
    'point'
    """
    hues = {"same meaning": theme.CATEGORICAL[2], "same words": theme.CATEGORICAL[1]}
    places = range(len(texts))
    both = () if same is None else (same, alike)
    cells = [
        {
            "place": at,
            "value": float(values[at]),
            "kind": kind,
            "said": f"{values[at]:.3f}",
            "text": partners[at][which],
        }
        for which, (kind, values) in enumerate(zip(hues, both, strict=False))
        for at in places
    ]
    spans = [
        {"place": at, "from": min(ends), "to": max(ends)}
        for at, ends in enumerate(zip(*(values.tolist() for values in both), strict=True))
    ]
    across = vega.exact_scale(low, 1)
    up = vega.row_axis(
        [shorten(text, 34) for text in texts], scale=alt.Scale(domain=list(places)), labelLimit=230, grid=True
    )
    axis = alt.Axis(tickCount=5, format=".2f")
    begin = alt.X("from:Q", title="cosine", scale=across, axis=axis)
    lines = vega.rows(spans, x=begin, x2="to:Q", y=up).mark_rule(strokeWidth=3, color=theme.LINE)
    value = alt.X("value:Q", scale=across)
    points = vega.rows(
        cells,
        x=value,
        y=up,
        tooltip=vega.tooltip(("text:N", "sentence"), "kind:N", ("said:N", "cosine")),
        color=vega.colour_channel(
            "kind:N", hues, vega.legend(orient="bottom", direction="vertical", labelLimit=300)
        ),
        shape=_shapes(list(hues), ("circle", "square"), direction="vertical", labelLimit=300),
    ).mark_point(filled=True, size=130, opacity=1)
    covers = [] if both else [{"place": at, "value": (1 + low) / 2} for at in places]
    hidden = vega.rows(covers, x=value, y=up).mark_text(text="?", fontSize=16, color=theme.MUTED)
    return alt.layer(lines, points, hidden).properties(view=vega.BARE, height=high * len(texts) + 96)
