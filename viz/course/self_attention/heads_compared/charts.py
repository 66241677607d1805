"""The heads of a layer over the words of a sentence: bars from one word, and all of them as small maps."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np

from viz import theme
from viz.charts.parts import vega
from viz.charts.parts.figures import draw_once
from viz.course.self_attention.charts.head_grids import TINT, colour
from viz.labels import percent, shorten, visible

Array = np.ndarray[Any, np.dtype[Any]]
ROW = 29
TELLS, NAMES = 0.3, 0.12
"""Weights from which on a piece of a bar says its head with the weight, or its head alone."""
NAME, KEY = 24, 44
"""Pixels of the name above a map, and of the scale below all of them."""
COLUMN = 7
"""The most letters of a word below a column."""
NARROW = 110
"""Pixels of a map below which its name takes two lines."""
GAP = 0.09
"""The room between two maps, as a share of one."""


@draw_once
def looks(
    weights: Array, words: Sequence[str], asking: int, *, only: int | None = None, pixels: int = ROW
) -> alt.TopLevelMixin:
    """Draw for each word a horizontal bar, stacked from the attention weights of all heads from the query `asking` to it. Weights (head, key).

    The weights of each head add up to 1. `only`: a single head is drawn, and a question mark in place of the others. A head that is chosen in
    the legend is strong, the others pale. `pixels` is the height of a row.

    >>> figure = looks(np.array([[0.9, 0.1], [0.2, 0.8]]), ["a", "cat"], 1).to_dict()
    >>> [(piece["head"], piece["from"], piece["to"], piece["text"]) for piece in figure["data"]["values"]][1:3]
    [('H0', 0.0, 0.1, ''), ('H1', 0.9, 1.1, 'H1')]
    """
    heads = [head for head in range(len(weights)) if only in (None, head)]
    ends = np.cumsum(weights[heads].astype(np.float64), axis=0)
    pieces = [
        {
            "place": place,
            "head": f"H{head}",
            "from": round(float(ends[at, place] - weights[head, place]), 6),
            "to": round(float(ends[at, place]), 6),
            "weight": round(float(weights[head, place]), 6),
            "text": _label(head, float(weights[head, place])),
            "word": visible(words[place]),
        }
        for at, head in enumerate(heads)
        for place in range(len(words))
    ]
    names = [visible(word) for word in words]
    names[asking] += " →"
    most = 1.3 if only is not None else max(1.0, float(weights.sum(0).max()))
    sides: dict[str, Any] = {"axis": None, "scale": vega.exact_scale(0, most * 1.01)}
    weight = alt.condition(f"datum.value == {asking}", alt.value("bold"), alt.value("normal"))
    of_words: dict[str, Any] = {
        "labelFontSize": 15,
        "labelPadding": 6,
        "labelLimit": 150,
        "labelOverlap": False,
    }
    y = vega.row_axis(names, spacing=(0.2, 0.1), labelFontWeight=weight, **of_words)
    chosen = alt.selection_point(name="head", fields=["head"], bind="legend")
    key = vega.legend(
        symbolType="square",
        symbolOpacity=TINT + 0.1,
        symbolStrokeWidth=0,
        columns=alt.ExprRef("max(1, floor(width / 58))"),
        offset=4,
    )
    hue = vega.colour_channel("head:N", {f"H{head}": colour(head) for head in heads}, key)
    tips = vega.tooltip("head:N", ("word:N", "attends to"), ("weight:Q", "", ".1%"))
    base = vega.Chart().encode(y=y, tooltip=tips)
    bars = (
        base.mark_bar()
        .encode(
            x=alt.X("from:Q", **sides),
            x2="to:Q",
            color=hue,
            opacity=alt.condition(chosen, alt.value(TINT + 0.1), alt.value(0.1)),
        )
        .add_params(chosen)
    )
    told = (
        base.mark_text(fontSize=12, color=theme.TEXT)
        .transform_filter("datum.text")
        .transform_calculate(middle="(datum.from + datum.to) / 2")
    )
    faint = alt.condition(chosen, alt.value(1.0), alt.value(0.25))
    layers = [bars, told.encode(x=alt.X("middle:Q", **sides), text="text:N", opacity=faint)]
    if only is not None:
        at: dict[str, Any] = {"x": alt.ExprRef("width * 0.85"), "y": alt.ExprRef("height / 2")}
        layers.append(vega.rows([{}]).mark_text(text="?", fontSize=40, color=theme.MUTED, **at))
    return alt.layer(*layers, data=vega.Rows(values=pieces)).properties(
        view=vega.BARE,
        height=36 + pixels * len(words),
        padding={"left": 4, "right": 4, "top": 2, "bottom": 2},
    )


def _label(head: int, weight: float) -> str:
    return f"H{head} {percent(weight)}" if weight >= TELLS else f"H{head}" if weight >= NAMES else ""


@draw_once
def maps(
    weights: Array,
    words: Sequence[str],
    asking: int,
    *,
    allowed: Array | None = None,
    height: int = 400,
    across: int = 4,
    all_names: bool = False,
    below: int = 0,
) -> alt.TopLevelMixin:
    """Draw the attention of every head (head, query, key) as a small map, queries downwards and keys to the right, all on one colour scale from 0 to 1.

    The row of the query `asking` is framed; the title of a map has the word that gets most of its attention. `allowed` False: no cell.
    `all_names`: the names of all words are beside the first map of each row, else only that of the query. `below`: pixels below the lowest maps for
    the names of the columns, visible where a column is wide enough. `across`: maps in a row.

    >>> figure = maps(np.full((2, 3, 3), 1 / 3), ["a", "b", "c"], 1).to_dict()
    >>> [name["title"].split() for name in figure["layer"][3]["data"]["values"]], figure["layer"][1]["encoding"]["color"]["scale"]["domain"]
    ([['H0', '→', 'a'], ['H1', '→', 'a']], [0, 1])
    """
    n_heads, n = weights.shape[:2]
    across = min(across, n_heads)
    down = -(-n_heads // across)
    height = height if down > 1 else height * 3 // 5
    floor = height - KEY - below
    tall = floor / down
    cell, step = (tall - NAME) / n, n * (1 + GAP)
    left = [step * (head % across) for head in range(n_heads)]
    top = [tall * (head // across) + NAME for head in range(n_heads)]
    said = [visible(word) for word in words]
    there = np.ones(weights.shape, dtype=bool) if allowed is None else allowed
    cells = [
        {"h": int(h), "q": int(q), "k": int(k), "w": round(float(weights[h, q, k]), 4)}
        for h, q, k in np.argwhere(there)
    ]
    grounds = [
        {
            "x": left[head],
            "x2": left[head] + n,
            "y": top[head],
            "y2": top[head] + n * cell,
            "text": f"H{head}",
            "title": f"H{head} →\n{shorten(said[int(np.argmax(np.where(there, weights, -1)[head, asking]))], 9)}",
            "colour": colour(head),
        }
        for head in range(n_heads)
    ]
    frames = [
        ground | {"y": ground["y"] + asking * cell, "y2": ground["y"] + (asking + 1) * cell}
        for ground in grounds
    ]
    seen = list(range(n)) if all_names else [asking]
    marks = {round(row * tall + NAME + (i + 0.5) * cell, 2): said[i] for row in range(down) for i in seen}
    axis = vega.bare_axis(
        values=list(marks),
        labelExpr=vega.label_expression(marks),
        labelFontSize=12,
        labelPadding=5,
        labelOverlap=False,
    )
    x = alt.X("x:Q", axis=None, scale=vega.exact_scale(0, step * (across - 1) + n))
    pixel = f"width / {step * (across - 1) + n:.3f}"
    wide = f"{pixel} >= {below / 4}"
    end = alt.ExprRef(f"{wide} ? {height - KEY} : {floor}")  # the maps take what the words leave
    scale = alt.Scale(domain=[end, 0], nice=False)
    y = alt.Y("y:Q", title=None, axis=axis, scale=scale)
    box = {"x": x, "x2": "x2:Q", "y": y, "y2": "y2:Q"}
    ground = vega.rows(grounds).mark_rect(color=theme.SURFACE).encode(**box)
    places = {
        "x": f"{json.dumps(left)}[datum.h] + datum.k",
        "y": f"{json.dumps(top)}[datum.h] + datum.q * {cell}",
        "head": f"{json.dumps([ground['text'] for ground in grounds])}[datum.h]",
        "word": f"{json.dumps(said)}[datum.q]",
        "at": f"{json.dumps(said)}[datum.k]",
    }
    drawn = (
        vega.rows(cells)
        .transform_calculate(**places)
        .transform_calculate(x2="datum.x + 1", y2=f"datum.y + {cell}")
    )
    key = vega.legend(
        orient="bottom", gradientLength=220, gradientThickness=9, format="%", values=[0, 0.5, 1], offset=8
    )
    shares = alt.Color(
        "w:Q", scale=alt.Scale(domain=[0, 1], range=theme.SEQUENTIAL, interpolate="rgb"), legend=key
    )
    tips = vega.tooltip("head:N", "word:N", ("at:N", "attends to"), ("w:Q", "weight", ".1%"))
    boxes = drawn.mark_rect(stroke=theme.SURFACE, strokeWidth=1).encode(**box, color=shares, tooltip=tips)
    asked = vega.rows(frames).mark_rect(fillOpacity=0, strokeWidth=2.5)
    looks: tuple[tuple[bool, str, dict[str, Any]], ...] = (
        (False, "replace(datum.title, '\\n', ' ')", {"fontSize": 13, "dy": -4}),
        (True, "datum.title", {"fontSize": 11, "dy": -15, "lineBreak": "\n", "lineHeight": 12}),
    )
    headings = [
        vega.rows(grounds)
        .mark_text(
            baseline="bottom",
            color=theme.TEXT,
            fontWeight="bold",
            opacity=alt.ExprRef(f"({pixel} * {n} < {NARROW}) == {str(narrow).lower()} ? 1 : 0"),
            **look,
        )
        .transform_calculate(x="(datum.x + datum.x2) / 2", text=text)
        .encode(x=x, y=y, text="text:N")
        for narrow, text, look in looks
    ]
    asked = asked.encode(**box, stroke=alt.Stroke("colour:N", scale=None))
    lowest = [max(head for head in range(n_heads) if head % across == column) for column in range(across)]
    columns = [
        {"x": left[head] + key + 0.5, "y": top[head] + n * cell, "text": shorten(word, COLUMN)}
        for head in lowest
        for key, word in enumerate(said)
    ]
    words_below = (
        vega.rows(columns if below else [])
        .mark_text(
            fontSize=12,
            angle=270,
            align="right",
            baseline="middle",
            dx=-4,
            color=theme.TEXT,
            opacity=alt.ExprRef(f"{wide} ? 1 : 0"),
        )
        .encode(x=x, y=y, text="text:N")
    )
    return alt.layer(ground, boxes, asked, *headings, words_below).properties(
        view=vega.BARE, height=height, padding={"left": 2, "right": 2, "top": 2, "bottom": 2}
    )
