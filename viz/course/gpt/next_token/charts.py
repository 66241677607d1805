"""A text as a product of conditionals: the logarithm of each token's probability as a bar, and the sum so far below."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np

from viz import theme
from viz.charts.curves import number
from viz.charts.parts.kept import kept
from viz.labels import shorten, visible

Array = np.ndarray[Any, np.dtype[Any]]
Chart = alt.LayerChart | alt.FacetChart
WRITTEN, LETTERS = 14, 14
"""Up to so many bars say their number; so many letters of a token are its name."""
NOW, MARKED, ALL = "the window", "highest surprisal", "everything before"
COLOURS = {ALL: theme.SEQUENTIAL[2], NOW: theme.PRIMARY, MARKED: theme.CATEGORICAL[1]}
PLACE = "place:O"
BARE = alt.ViewBackground(strokeWidth=0)


@kept
def bars(
    tokens: Sequence[str],
    now: Array | None,
    full: Array | None = None,
    *,
    marked: int | None = None,
    height: int = 380,
) -> Chart:
    """ln P of each token as a bar that hangs from 0, and below it the running sum; None: covered.

    `full` draws pale bars and a dotted sum behind: the same with everything in sight. `marked` is a place in another colour. Shapes: (n,).

    >>> [[row["sum"] for row in layer["data"]["values"]] for layer in bars(["a", "b"], np.array([-1.0, -2.0])).to_dict()["layer"] if layer["mark"]["type"] == "line"]
    [[-1.0, -3.0]]
    """
    known = [
        (kind, np.asarray(values, dtype=np.float64))
        for kind, values in ((ALL, full), (NOW, now))
        if values is not None
    ]
    rows = {kind: _rows(tokens, values, kind, marked) for kind, values in known}
    x = _names(tokens)
    upper = alt.Scale(
        domain=[1.2 * min([-1.0, *(float(values.min()) for _, values in known)]), 0],
        nice=False,
        range=[_share(0.6), 0],
    )
    lower = alt.Scale(
        domain=[1.12 * min([-1.0, *(float(values.sum()) for _, values in known)]), 0],
        nice=False,
        range=[_share(1), _share(0.72)],
    )
    layers = _covered(tokens, x, upper, lower) if not known else []
    for kind, found in rows.items():
        first = not layers
        data = alt.Chart(alt.Data(values=found)).encode(x=x)
        layers.append(
            data.mark_bar(
                width={
                    "band": 0.42 if full is not None and kind == NOW else 0.8 if full is not None else 0.66
                }
            ).encode(
                y=_level("value:Q", upper, "ln P", 4 if first else 0),
                y2=alt.Y2(datum=0),
                color=_hue(full is not None and now is not None),
                tooltip=_tips(kind, full is not None),
            )
        )
        layers.append(
            data.mark_line(
                strokeWidth=2.5,
                strokeDash=[2, 4] if kind == ALL else [1, 0],
                color=theme.SEQUENTIAL[4] if kind == ALL else theme.PRIMARY,
                point={"size": 34, "color": theme.SEQUENTIAL[4] if kind == ALL else theme.PRIMARY},
            ).encode(
                y=_level("sum:Q", lower, "sum so far", 3 if first else 0),
                tooltip=[alt.Tooltip("token:N"), alt.Tooltip("sum:Q", title="sum so far", format=".2f")],
            )
        )
    if NOW in rows and len(tokens) <= WRITTEN:
        said = alt.Chart(alt.Data(values=rows[NOW])).mark_text(
            fontSize=13, baseline="top", dy=4, opacity=alt.ExprRef(f"width < {26 * len(tokens)} ? 0 : 1")
        )
        layers.append(said.encode(x=x, y=_level("value:Q", upper), text="said:N"))
    return (
        alt.layer(*layers)
        .resolve_scale(y="independent")
        .properties(width="container", height=height, view=BARE)
    )


def _rows(tokens: Sequence[str], values: Array, kind: str, marked: int | None) -> list[dict[str, Any]]:
    """A row for each token, as a bar and as a point of the sum."""
    sums = np.cumsum(values)
    return [
        {
            "place": place,
            "token": visible(token),
            "value": float(value),
            "P": float(np.exp(value)),
            "sum": float(total),
            "said": number(float(value), 1),
            "kind": MARKED if place == marked and kind == NOW else kind,
        }
        for place, (token, value, total) in enumerate(zip(tokens, values, sums, strict=True))
    ]


def _covered(tokens: Sequence[str], x: alt.X, upper: alt.Scale, lower: alt.Scale) -> list[alt.Chart]:
    """A question mark for each token, and one for the sum."""
    signs = [{"place": place, "token": visible(token), "said": "?"} for place, token in enumerate(tokens)]
    panels = ((signs, upper, "ln P"), (signs[len(signs) // 2 :][:1], lower, "sum so far"))
    return [
        alt.Chart(alt.Data(values=rows))
        .mark_text(fontSize=20, color=theme.CATEGORICAL[1])
        .encode(
            x=x,
            y=alt.Y(datum=scale["domain"][0] / 2, type="quantitative", scale=scale, axis=_axis(title, 0)),
            text="said:N",
            tooltip="token:N",
        )
        for rows, scale, title in panels
    ]


def _names(tokens: Sequence[str]) -> alt.X:
    """The tokens above their places: upright where each has room, else slanted, and on a narrow screen not every one of many."""
    names = [shorten(visible(token), LETTERS) for token in tokens]
    n, slanted = len(names), f"width < {len(names) * (11 * max(map(len, names), default=1) + 6)}"
    return alt.X(
        PLACE,
        title=None,
        scale=alt.Scale(type="band", padding=0),
        axis=alt.Axis(
            orient="top",
            domain=False,
            ticks=False,
            grid=False,
            labelFontSize=14,
            labelColor=theme.TEXT,
            labelPadding=6,
            labelLimit=200,
            labelOverlap=False,
            labelExpr=f"datum.value % max(1, ceil({16 * n} / width)) ? '' : {json.dumps(names)}[datum.value]",
            labelAngle=alt.ExprRef(f"{slanted} ? -50 : 0"),
            labelAlign=alt.ExprRef(f"{slanted} ? 'left' : 'center'"),
            labelBaseline=alt.ExprRef(f"{slanted} ? 'middle' : 'bottom'"),
        ),
    )


def _level(field: str, scale: alt.Scale, title: str = "", ticks: int = 0) -> alt.Y:
    return alt.Y(field, scale=scale, axis=_axis(title, ticks) if ticks else None)


def _axis(title: str, ticks: int) -> alt.Axis:
    return alt.Axis(
        title=title,
        orient="left",
        tickCount=ticks,
        labels=bool(ticks),
        ticks=bool(ticks),
        domain=False,
        grid=bool(ticks),
        minExtent=30,
    )


def _hue(legend: bool) -> alt.Color:
    """The colours of the bars; a legend where two kinds stand in one another."""
    kinds = [ALL, NOW] if legend else list(COLOURS)
    return alt.Color(
        "kind:N",
        scale=alt.Scale(domain=kinds, range=[COLOURS[kind] for kind in kinds]),
        legend=alt.Legend(title=None, orient="bottom", direction="horizontal", offset=4, labelLimit=300)
        if legend
        else None,
    )


def _tips(kind: str, both: bool) -> list[alt.Tooltip]:
    return [
        alt.Tooltip("token:N"),
        alt.Tooltip("value:Q", title=f"ln P, {kind}" if both else "ln P", format=".3f"),
        alt.Tooltip("P:Q", format=".2%"),
    ]


def _share(share: float) -> alt.ExprRef:
    """A place on the way down the picture, whose height a room changes."""
    return alt.ExprRef(f"{share} * height")
