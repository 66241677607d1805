"""ALBERT in pictures: tables to scale, whose weights a layer uses, pairs as cards. Numbers and words in, an Altair chart out."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap
from typing import Literal

import altair as alt
import pandas as pd

from viz import theme
from viz.charts import marks
from viz.charts.parts import panels, vega
from viz.charts.parts.figures import draw_once
from viz.labels import phrase

SIDES: tuple[Literal["left"], Literal["right"]] = ("left", "right")
LETTERS, LINE = 46, 21
"""Letters in a line of a card, and pixels of a line."""


@draw_once
def tables(V: int, E: int, H: int, *, covered: bool = False, height: int = 300) -> vega.Layers:
    """Draw embedding matrices to scale: BERT's V x H above, ALBERT's V x E and E x H below; equal areas are equally many numbers.

    `V` is the size of the vocabulary, `E` the width of ALBERT's embedding, `H` the width of the layers. `covered`: question marks in place of
    the sizes of ALBERT's matrices.

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
def crossing(V: int, E: int, H: int, *, covered: bool = False) -> vega.Layers:
    """Draw the millions of numbers of both kinds of table over E, with the chosen E and where they cross; covered: without the line of the factors."""
    even = V * H / (V + H)
    far = max(1.5 * even, 1.1 * E)
    table = pd.DataFrame({"V × H": [V * H / 1e6] * 2, "V × E + E × H": [0, far * (V + H) / 1e6]}, [0.0, far])
    point = pd.DataFrame({"E": even, "n": V * H / 1e6}, [f"E = {even:,.1f}"])
    return marks.lines(
        table.drop(columns="V × E + E × H") if covered else table,
        x="E",
        title="millions",
        overlay=[*marks.rules({"": E}), *([] if covered else marks.labels(point, "E", "n"))],
        height=190,
    )


@draw_once
def owners(places: Sequence[tuple[int, str, int, int]], *, height: int = 150) -> vega.Layers:
    """Draw the layers of a network from left to right and their parts in rows; a cell names the layer whose weights it uses and has their colour.

    `places`: for each part of a layer its layer, its name, the address of its weights in memory, and the first layer with that address.

    >>> chart = owners([(0, "attention", 64, 0), (1, "attention", 64, 0)]).to_dict()
    >>> [cell["label"] for cell in chart["data"]["values"]]
    ['L0', 'L0']
    """
    table = pd.DataFrame(places, columns=["layer", "part", "address", "owner"])
    parts = list(table["part"].unique())
    table["name"] = [f"L{owner} {part}" for owner, part in zip(table["owner"], table["part"], strict=True)]
    hues = {
        name: theme.CATEGORICAL[(owner + parts.index(part)) % len(theme.CATEGORICAL)]
        for name, owner, part in zip(table["name"], table["owner"], table["part"], strict=True)
    }
    grid = table.pivot(index="part", columns="layer").loc[parts]
    return marks.cells(
        pd.DataFrame(grid["name"]),
        [f"L{owner}" for owner in grid["owner"].to_numpy().ravel()],
        x="layer",
        hues=hues,
        notes=[f"address {address:#x}" for address in grid["address"].to_numpy().ravel()],
        height=height,
    )


@draw_once
def cards(rows: Sequence[tuple[str, Sequence[tuple[str, int]]]], *, letters: int = LETTERS) -> vega.Layers:
    """Draw groups of texts below each other: a heading, then each text on a card, broken into lines of at most `letters` letters.

    `rows`: (heading, its texts); a text is (words, the index of its card's colour in `theme.CATEGORICAL`).

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
