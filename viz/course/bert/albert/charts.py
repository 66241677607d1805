"""ALBERT in pictures: tables to scale, whose weights a layer uses, pairs as cards. Numbers and words in, an Altair chart out."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap
from typing import Literal

import altair as alt

from viz import theme
from viz.charts.parts import panels, vega
from viz.charts.parts.figures import draw_once
from viz.labels import phrase

SIDES: tuple[Literal["left"], Literal["right"]] = ("left", "right")
LETTERS, LINE = 46, 21
"""Letters in a line of a card, and pixels of a line."""


@draw_once
def tables(V: int, E: int, H: int, *, covered: bool = False, height: int = 300) -> vega.Layers:
    """V x H above, V x E and E x H below, all by the same two scales: equal areas are equally many numbers. covered: no counts of the factors.

    >>> [row["said"] for row in tables(10, 2, 4).to_dict()["layer"][1]["data"]["values"]]
    ['V × H = 40', 'V × E = 20']
    """
    apart, deep = 0.02 * V, max(H, E)
    gap = 0.3 * deep
    names = (
        f"V × H = {V * H:,}",
        *(f"{name} = {n:,}" for name, n in zip(("V × E", "E × H"), (V * E, E * H), strict=True)),
    )
    below = H + gap
    boxes = [
        {"x": 0, "right": V, "y": 0, "bottom": H, "of": "BERT"},
        {"x": 0, "right": V, "y": below, "bottom": below + E, "of": "ALBERT"},
        {
            "x": V + apart,
            "right": V + apart + E,
            "y": below,
            "bottom": below + H,
            "of": "ALBERT",
        },
    ]
    for box, name in zip(boxes, names, strict=True):
        box["said"] = "?" if covered and box["of"] == "ALBERT" else name
    words = [
        {"x": 0, "y": -0.04 * deep, "said": names[0]},
        {"x": 0, "y": below - 0.04 * deep, "said": boxes[1]["said"]},
        {"x": V + apart + E, "y": below - 0.04 * deep, "said": boxes[2]["said"]},
    ]
    across, down = vega.hidden_axes((-0.005 * V, V * 1.03 + E), (below + deep * 1.02, -0.2 * deep))
    drawn = vega.rows(
        boxes,
        x=across,
        x2="right:Q",
        y=down,
        y2="bottom:Q",
        tooltip=vega.tooltip("of:N", ("said:N", "numbers")),
    )
    hues = {"BERT": theme.CATEGORICAL[0], "ALBERT": theme.CATEGORICAL[1]}
    colour = vega.colour_channel("of:N", hues, vega.legend(labelFontSize=13))
    edge = alt.Stroke("of:N", scale=alt.Scale(domain=list(hues), range=list(hues.values())), legend=None)
    left, right = (
        vega.rows(some, x=panels.with_field(across, "x:Q"), y=panels.with_field(down, "y:Q")).mark_text(
            align=align, baseline="bottom", fontSize=14, color=theme.TEXT
        )
        for some, align in zip((words[:2], words[2:]), SIDES, strict=True)
    )
    return vega.frame(
        drawn.mark_rect(strokeWidth=1.5).encode(color=colour, stroke=edge),
        left.encode(text="said:N"),
        right.encode(text="said:N"),
        height=height,
    )


@draw_once
def crossing(V: int, E: int, H: int, *, covered: bool = False, height: int = 190) -> vega.Layers:
    """Numbers of both kinds of table over E, with the chosen E and where they cross; covered: the factors' line comes later.

    >>> len(crossing(10, 2, 4).to_dict()["layer"][0]["data"]["values"])
    4
    """
    even = V * H / (V + H)
    far = max(1.5 * even, 1.1 * E)
    lines = {"V × H": (V * H, V * H), "V × E + E × H": (0, far * (V + H))}
    if covered:
        lines.pop("V × E + E × H")
    rows = [
        {"E": at * far, "n": value / 1e6, "of": name}
        for name, ends in lines.items()
        for at, value in enumerate(ends)
    ]
    across = alt.X("E:Q", title="E", scale=vega.exact_scale(0, far), axis=alt.Axis(tickCount=6, grid=False))
    up = alt.Y("n:Q", title="millions", scale=alt.Scale(domainMin=0), axis=alt.Axis(tickCount=4))
    hues = {"V × H": theme.CATEGORICAL[0], "V × E + E × H": theme.CATEGORICAL[1]}
    key = vega.legend(symbolType="stroke", symbolStrokeWidth=3, labelFontSize=13, labelLimit=260)
    line = vega.rows(
        rows,
        x=across,
        y=up,
        color=vega.colour_channel("of:N", hues, key),
        tooltip=vega.tooltip("of:N", ("n:Q", "millions", ",.3f")),
    )
    marks = [] if covered else [{"E": even, "n": V * H / 1e6, "said": f"E = {even:,.1f}"}]
    point = vega.rows(marks, x=panels.with_field(across, "E:Q"), y=panels.with_field(up, "n:Q"))
    return vega.frame(
        line.mark_line(strokeWidth=3),
        point.mark_circle(size=110, opacity=1, color=theme.TEXT),
        point.mark_text(dx=9, dy=15, fontSize=13, align="left", color=theme.TEXT).encode(text="said:N"),
        vega.reference_line(across, E),
        height=height,
    )


@draw_once
def owners(places: Sequence[tuple[int, str, int, int]], *, height: int = 150) -> vega.Layers:
    """Layers from left to right, their parts in rows: one colour for one address in memory, and the layer that had it first.

    `places`: of each its layer, its part, its address, and the first layer with that address.

    >>> chart = owners([(0, "attention", 64, 0), (1, "attention", 64, 0)]).to_dict()
    >>> [cell["said"] for cell in chart["data"]["values"]]
    ['L0', 'L0']
    """
    names = list(dict.fromkeys(part for _, part, _, _ in places))
    cells = [
        {
            "layer": layer,
            "place": names.index(part),
            "said": f"L{owner}",
            "owner": f"L{owner} {part}",
            "address": hex(address),
            "of": f"layer {layer}, {part}",
            "colour": theme.CATEGORICAL[(owner + names.index(part)) % len(theme.CATEGORICAL)],
        }
        for layer, part, address, owner in places
    ]
    n = max(cell["layer"] for cell in cells) + 1
    base = vega.rows(
        cells,
        x=alt.X(
            "layer:O",
            title="layer",
            axis=vega.bare_axis(labelAngle=0, labelFontSize=13),
            scale=alt.Scale(paddingInner=0.08),
        ),
        y=vega.row_axis(names, spacing=(0.12, 0.05)),
        tooltip=vega.tooltip(("of:N", "part"), ("owner:N", "weights of"), ("address:N", "address")),
    )
    rect = base.mark_rect(cornerRadius=4, opacity=0.55).encode(color=vega.raw_channel())
    said = base.mark_text(fontSize=13, color=theme.TEXT, limit=alt.ExprRef(f"width / {n}")).encode(
        text="said:N"
    )
    return vega.frame(rect, said, height=height)


@draw_once
def alike(rows: Sequence[tuple[str, Sequence[float]]], *, height: int = 230) -> vega.Layers:
    """A line a model: the cosine of what enters and what leaves each layer. Of two near each other the larger is said above.

    >>> len(alike([("bert-mini", [0.5, 0.9])]).to_dict()["data"]["values"])
    2
    """
    names = [phrase(name) for name, _ in rows]
    cells = [
        {
            "layer": layer,
            "cosine": float(value),
            "model": name,
            "said": f"{value:.2f}",
            "above": bool(value >= max(other[layer] for _, other in rows if layer < len(other))),
        }
        for name, (_, values) in zip(names, rows, strict=True)
        for layer, value in enumerate(values)
    ]
    low = min(0.0, *(cell["cosine"] for cell in cells))
    base = vega.rows(
        cells,
        x=alt.X("layer:O", title="layer", axis=vega.bare_axis(labelAngle=0)),
        y=alt.Y(
            "cosine:Q",
            title="cosine of in and out",
            scale=vega.exact_scale(low, 1.08),
            axis=alt.Axis(tickCount=5),
        ),
        color=vega.colour_channel("model:N", vega.assign_colours(names), vega.legend(labelFontSize=13)),
        tooltip=vega.tooltip("model:N", "layer:O", ("said:N", "cosine")),
    )
    said = [
        base.transform_filter(where).mark_text(dy=dy, fontSize=13).encode(text="said:N")
        for where, dy in (("datum.above", -13), ("!datum.above", 17))
    ]
    return vega.frame(
        base.mark_line(strokeWidth=3), base.mark_circle(size=90, opacity=1), *said, height=height
    )


@draw_once
def cards(rows: Sequence[tuple[str, Sequence[tuple[str, int]]]], *, letters: int = LETTERS) -> vega.Layers:
    """Pairs below each other: a heading, then each text in lines, in the colour of its number.

    >>> chart = cards([("c = 1", [("a b", 0), ("c", 1)])]).to_dict()
    >>> [row["text"] for row in chart["layer"][1]["data"]["values"]]
    ['c = 1', 'a b', 'c']
    """
    lines, boxes, at = [], [], 0.0
    for heading, texts in rows:
        lines.append({"y": at + 0.5, "text": heading, "bold": True})
        at += 1.15
        for text, which in texts:
            wrapped = wrap(phrase(text), letters) or [""]
            boxes.append(
                {
                    "top": at,
                    "bottom": at + len(wrapped) + 0.3,
                    "x": 0,
                    "right": 1,
                    "colour": theme.CATEGORICAL[which],
                    "said": text,
                }
            )
            lines += [{"y": at + 0.65 + i, "text": line, "bold": False} for i, line in enumerate(wrapped)]
            at += len(wrapped) + 0.42
        at += 0.5
    across, down = vega.hidden_axes((0, 1), (at, 0))
    box = vega.rows(
        boxes,
        x=across,
        x2="right:Q",
        y=panels.with_field(down, "top:Q"),
        y2="bottom:Q",
        tooltip=vega.tooltip(("said:N", "text")),
    )
    base = vega.rows(lines, x=alt.value(9), y=panels.with_field(down, "y:Q"), text="text:N")
    return vega.frame(
        box.mark_rect(opacity=0.22, cornerRadius=4).encode(color=vega.raw_channel()),
        base.mark_text(align="left", baseline="middle", fontSize=13, color=theme.TEXT).encode(
            opacity=alt.condition("datum.bold", alt.value(0), alt.value(1))
        ),
        base.mark_text(
            align="left", baseline="middle", fontSize=14, fontWeight=600, color=theme.TEXT, dx=-8
        ).encode(opacity=alt.condition("datum.bold", alt.value(1), alt.value(0))),
        height=LINE * at,
    )
