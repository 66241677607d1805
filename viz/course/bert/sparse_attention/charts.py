"""The mask in blocks, and how a word reaches another one layer after layer. Arrays in, Altair charts out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import numpy as np

from viz import theme
from viz.charts.parts import vega
from viz.charts.parts.figures import draw_once

Bools = np.ndarray[Any, np.dtype[np.bool_]]
HUES = {"global": theme.CATEGORICAL[1], "window": theme.CATEGORICAL[0], "random": theme.CATEGORICAL[2]}
"""Where two parts hold the same block the first of these is drawn."""
WIDE = 2.2
"""A mask is drawn square: at most so many times as wide as high, with room beside it."""


@draw_once
def mask(parts: Mapping[str, Bools], block: int, *, height: int = 380) -> vega.Layers:
    """Draw a block-sparse attention mask: each kept pair of blocks is a square in the colour of its part; queries downwards, keys to the right.

    `block` is the number of tokens of a block. Shapes: each of `parts` (query key).

    >>> drawn = mask({"window": np.eye(2, dtype=bool)}, 4).to_dict()["layer"][1]["data"]["values"]
    >>> [(cell["query"], cell["key"], cell["part"]) for cell in drawn]
    [('tokens 0 to 3', 'tokens 0 to 3', 'window'), ('tokens 4 to 7', 'tokens 4 to 7', 'window')]
    """
    n = len(next(iter(parts.values())))
    order = [name for name in HUES if name in parts]
    owner = np.full((n, n), "", dtype=object)
    for name in reversed(order):
        owner[parts[name]] = name
    unit = f"min(width, height) / {n}"
    cells = [
        {
            "x": int(key) + 0.5 - n / 2,
            "y": int(query) + 0.5,
            "part": owner[query, key],
            "query": _tokens(query, block),
            "key": _tokens(key, block),
        }
        for query, key in np.argwhere(owner != "")
    ]
    across = alt.X("x:Q", axis=None, scale=alt.Scale(domain=[-1, 1], nice=False, zero=False))
    # a square of n units in the middle, whatever the width is
    across = across.scale(
        domainMin=alt.ExprRef(f"-width / ({unit}) / 2"),
        domainMax=alt.ExprRef(f"width / ({unit}) / 2"),
        nice=False,
    )
    up = alt.Y("y:Q", axis=None, scale=alt.Scale(domain=[n, 0], nice=False))
    whole = {"size": alt.ExprRef(f"pow({n} * {unit}, 2)"), "shape": "square", "opacity": 1}
    ground = vega.rows([{"x": 0, "y": n / 2}], x=across, y=up).mark_point(
        **whole, filled=True, color=theme.SURFACE, stroke=theme.LINE
    )
    key = vega.legend(offset=6, symbolType="square", labelFontSize=14)
    drawn = (
        vega.rows(cells, x=across, y=up)
        .mark_point(
            shape="square", filled=True, opacity=1, strokeWidth=0, size=alt.ExprRef(f"pow({unit} * 0.94, 2)")
        )
        .encode(
            color=vega.colour_channel("part:N", {name: HUES[name] for name in order}, key),
            tooltip=vega.tooltip(("query:N", "block of queries"), ("key:N", "reads"), "part:N"),
        )
    )
    return vega.frame(ground, drawn, height=height)


def _tokens(place: int, block: int) -> str:
    return f"tokens {place * block:,} to {place * block + block - 1:,}"


@draw_once
def way(
    reached: Bools,
    path: Sequence[int],
    parts: Sequence[str],
    source: int,
    target: int,
    *,
    covered: bool = False,
    height: int = 300,
) -> vega.Layers:
    """Draw how information of a block spreads, layers upwards and blocks to the right: shaded are the blocks that it can have reached by a layer.

    The shortest path from `source` to `target` is a line, each step in the colour of the part of the mask that it uses.
    Shapes: reached (layer + 1, block). `covered`: only source and target are drawn.

    >>> drawn = way(np.array([[1, 0], [1, 1]], dtype=bool), [0, 1], ["window"], 0, 1).to_dict()["layer"]
    >>> len(drawn[0]["data"]["values"]), [step["part"] for step in drawn[1]["data"]["values"]]
    (3, ['window'])
    """
    n_rows, n = reached.shape
    shaded = [
        {
            "x": int(block) - 0.5,
            "x2": int(block) + 0.5,
            "y": int(row) - 0.32,
            "y2": int(row) + 0.32,
            "layer": _layer(row),
        }
        for row, block in ([] if covered else np.argwhere(reached))
    ]
    steps = [
        {"x": before, "x2": after, "y": row, "y2": row + 1, "part": part}
        for row, (before, after, part) in enumerate(
            [] if covered else zip(path[:-1], path[1:], parts, strict=True)
        )
    ]
    ends = [{"x": source, "y": 0, "text": "from"}], [{"x": target, "y": n_rows - 1, "text": "to"}]
    beside: dict[str, Any] = {"dy": -14}  # the way leaves to the other side
    if source <= target and source > 0.12 * n:
        beside = {"align": "right", "dx": -11}
    elif source > target and source < 0.88 * n:
        beside = {"align": "left", "dx": 11}
    puts: tuple[dict[str, Any], ...] = (beside, {"dy": -14})
    dot = min(70.0, 1400 / len(path)) if path else 70.0
    middle = [{"x": block, "y": row} for row, block in enumerate([] if covered else path)]
    across = alt.X(
        "x:Q",
        title="block",
        scale=vega.exact_scale(-0.7, n - 0.3),
        axis=vega.bare_axis(tickMinStep=1, tickCount=8, format=",d", labelFontSize=13),
    )
    names = vega.label_expression([_layer(row) for row in range(n_rows)])
    up = alt.Y(
        "y:Q",
        title=None,
        scale=vega.exact_scale(-0.6, n_rows - 0.3),
        axis=vega.bare_axis(
            values=list(range(n_rows)) if n_rows < 12 else [0, n_rows - 1], labelExpr=names, labelFontSize=13
        ),
    )
    present = list(dict.fromkeys(step["part"] for step in steps))
    key = (
        vega.legend(offset=6, symbolType="stroke", symbolStrokeWidth=3, labelFontSize=14) if present else None
    )
    layers: list[alt.Chart] = [
        vega.rows(shaded, x=across, y=up)
        .mark_rect(color=theme.CATEGORICAL[0], opacity=0.18)
        .encode(x2="x2:Q", y2="y2:Q", tooltip=vega.tooltip("layer:N")),
        vega.rows(steps, x=across, y=up)
        .mark_rule(strokeWidth=3)
        .encode(
            x2="x2:Q",
            y2="y2:Q",
            color=vega.colour_channel("part:N", {name: HUES[name] for name in present}, key),
        ),
        vega.rows(middle, x=across, y=up).mark_circle(size=dot, opacity=1, color=theme.TEXT),
        *(vega.rows(end, x=across, y=up).mark_circle(size=150, opacity=1, color=theme.TEXT) for end in ends),
        *(
            vega.rows(end, x=across, y=up)
            .mark_text(fontSize=14, color=theme.TEXT, **put)
            .encode(text="text:N")
            for end, put in zip(ends, puts, strict=True)
        ),
    ]
    if covered:
        layers.append(vega.question_mark())
    return vega.frame(*layers, height=height, top=18)


def _layer(row: int) -> str:
    return "input" if row == 0 else f"after layer {row - 1}"
