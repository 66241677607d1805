"""Rows of tiles, one a letter: what was read, and what was written of it. Wrong places are framed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from viz import theme
from viz.charts.parts import panels, vega
from viz.charts.parts.figures import draw_once
from viz.labels import percent, phrase, visible
from viz.languages import _

STRIDE = 1.75
"""Distance of rows, in tiles: the name of a row is above it."""


@dataclass(frozen=True)
class Row:
    """A line of letters: `shades` from 0 to 1 (None: plain tiles), `wrong` marks the framed ones."""

    name: str
    letters: Sequence[str]
    shades: Sequence[float] | None = None
    wrong: Sequence[bool] = ()


@draw_once
def letters(rows: Sequence[Row], *, shade: str = "") -> vega.Layers:
    """Return the rows below each other, position under position; `shade` names the meaning of a shade.

    >>> drawn = letters([Row("read", "ab"), Row("written", "ax", [0.9, 0.4], [False, True])]).to_dict()["layer"]
    >>> [tile["text"] for tile in drawn[3]["data"]["values"]], len(drawn[2]["data"]["values"])
    (['a', 'b', 'a', 'x'], 1)
    """
    longest = max([len(row.letters) for row in rows] + [8])
    size = 18 if longest <= 14 else 15 if longest <= 22 else 12
    tiles = [
        {
            "left": place - 0.47,
            "right": place + 0.47,
            "top": at * STRIDE - 0.5,
            "bottom": at * STRIDE + 0.5,
            "x": place,
            "y": at * STRIDE,
            "row": at,
            "name": phrase(row.name),
            "place": place + 1,
            "text": visible(letter),
            "fontSize": size,
        }
        | (
            {
                "shade": float(row.shades[place]),
                "ink": theme.text_colour(row.shades[place]),
                "sure": f"{phrase(shade)} {percent(row.shades[place])}" if shade else "",
            }
            if row.shades is not None
            else {"ink": theme.TEXT, "sure": ""}
        )
        for at, row in enumerate(rows)
        for place, letter in enumerate(row.letters)
    ]
    frames = [
        {"left": place - 0.46, "right": place + 0.46, "top": at * STRIDE - 0.48, "bottom": at * STRIDE + 0.48}
        for at, row in enumerate(rows)
        for place, wrong in enumerate(row.wrong)
        if wrong
    ]
    names = [{"y": at * STRIDE - 0.58, "text": phrase(row.name)} for at, row in enumerate(rows)]
    across = alt.X("left:Q", axis=None, scale=vega.exact_scale(-0.55, longest - 0.45))
    down = alt.Y("top:Q", axis=None, scale=vega.exact_scale((len(rows) - 1) * STRIDE + 0.55, -1.2))
    told = vega.tooltip("place:Q", ("text:N", _("letter")), ("sure:N", " "))
    shades = alt.Color(
        "shade:Q", legend=None, scale=alt.Scale(domain=[0, 1], range=theme.SEQUENTIAL, interpolate="rgb")
    )

    def placed(rows: Sequence[Mapping[str, Any]]) -> alt.Chart:
        return vega.rows(rows).encode(x=across, x2="right:Q", y=down, y2="bottom:Q")

    read = (
        placed([tile for tile in tiles if "shade" not in tile])
        .mark_rect(color=theme.SURFACE)
        .encode(tooltip=told)
    )
    wrote = placed([tile for tile in tiles if "shade" in tile]).mark_rect().encode(color=shades, tooltip=told)
    frame = placed(frames).mark_rect(filled=False, stroke=theme.CATEGORICAL[1], strokeWidth=3)
    text = (
        vega.rows(tiles)
        .mark_text(
            font=theme.MONO,
            fontSize=alt.ExprRef(f"min(datum.fontSize, 1.6 * width / {longest})"),
            limit=alt.ExprRef(f"width / {longest}"),
        )
        .encode(
            x=panels.with_field(across, "x:Q"),
            y=panels.with_field(down, "y:Q"),
            text="text:N",
            color=vega.raw_channel("ink:N"),
            tooltip=told,
        )
    )
    above = (
        vega.rows(names)
        .mark_text(align="left", baseline="bottom", fontSize=14, color=theme.MUTED)
        .encode(x=alt.value(0), y=panels.with_field(down, "y:Q"), text="text:N")
    )
    return alt.layer(read, wrote, frame, text, above).properties(
        width="container",
        height=int(38 * (STRIDE * len(rows) + 0.1)) + 8,
        padding=vega.AROUND | {"left": 1, "right": 1},
        view=vega.BARE,
    )
