"""A text as a product of conditionals: the logarithm of each token's probability as a bar, and the sum so far below."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np

from viz import theme
from viz.charts.curves import number
from viz.charts.parts import vega
from viz.charts.parts.figures import draw_once
from viz.labels import shorten, visible

Array = np.ndarray[Any, np.dtype[Any]]
Chart = alt.LayerChart | alt.FacetChart
WRITTEN, LETTERS = 14, 14
"""Up to so many bars say their number; so many letters of a token are its name."""
NOW, MARKED, ALL = "the window", "highest surprisal", "everything before"
COLOURS = {ALL: theme.SEQUENTIAL[2], NOW: theme.PRIMARY, MARKED: theme.CATEGORICAL[1]}


@draw_once
def bars(
    tokens: Sequence[str],
    now: Array | None,
    full: Array | None = None,
    *,
    marked: int | None = None,
    height: int = 380,
) -> Chart:
    """Draw ln P of each token as a bar that hangs from 0, and below it the running sum; None: covered.

    `full` draws pale bars and a dotted sum behind: the same with everything in sight. `marked` is a place in another colour. Shapes: (n,).

    >>> [[row["sum"] for row in layer["data"]["values"]] for layer in bars(["a", "b"], np.array([-1.0, -2.0])).to_dict()["layer"] if layer["mark"]["type"] == "line"]
    [[-1.0, -3.0]]
    """
    known = {
        kind: np.asarray(values, dtype=np.float64)
        for kind, values in ((ALL, full), (NOW, now))
        if values is not None
    }
    rows = {kind: _rows(tokens, values, kind, marked) for kind, values in known.items()}
    x = _names(tokens)
    lowest, least = (
        min([-1.0, *(float(of(values)) for values in known.values())]) for of in (np.min, np.sum)
    )
    upper, lower = (
        vega.exact_scale(1.2 * lowest, 0, range=[_share(0.6), 0]),
        vega.exact_scale(1.12 * least, 0, range=[_share(1), _share(0.72)]),
    )
    layers = _covered(tokens, x, upper, lower) if not known else []
    for kind, found in rows.items():
        first, pale = not layers, kind == ALL
        line = theme.SEQUENTIAL[4] if pale else theme.PRIMARY
        wide = 0.66 if full is None else 0.8 if pale else 0.42
        data = vega.rows(found, x=x)
        bar = data.mark_bar(width={"band": wide}).encode(
            y=_level("value:Q", upper, "ln P", 4 if first else 0),
            y2=alt.Y2(datum=0),
            color=_hue(full is not None and now is not None),
            tooltip=vega.tooltip(
                "token:N", ("value:Q", "ln P" if full is None else f"ln P, {kind}", ".3f"), ("P:Q", "", ".2%")
            ),
        )
        sums = data.mark_line(
            strokeWidth=2.5,
            strokeDash=[2, 4] if pale else [1, 0],
            color=line,
            point={"size": 34, "color": line},
        ).encode(
            y=_level("sum:Q", lower, "sum so far", 3 if first else 0),
            tooltip=vega.tooltip("token:N", ("sum:Q", "sum so far", ".2f")),
        )
        layers += [bar, sums]
    if NOW in rows and len(tokens) <= WRITTEN:
        fits = alt.ExprRef(f"width < {26 * len(tokens)} ? 0 : 1")
        said = vega.rows(rows[NOW], x=x, y=_level("value:Q", upper), text="said:N")
        layers.append(said.mark_text(fontSize=13, baseline="top", dy=4, opacity=fits))
    return (
        alt.layer(*layers)
        .resolve_scale(y="independent")
        .properties(width="container", height=height, padding=vega.AROUND | {"left": 8}, view=vega.BARE)
    )


def _rows(tokens: Sequence[str], values: Array, kind: str, marked: int | None) -> list[dict[str, Any]]:
    """Return a row for each token, as a bar and as a point of the sum."""
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
    """Return a question mark for each token, and one for the sum."""
    signs = [{"place": place, "token": visible(token), "said": "?"} for place, token in enumerate(tokens)]
    strips = ((signs, upper, "ln P"), (signs[len(signs) // 2 :][:1], lower, "sum so far"))
    return [
        vega.rows(
            rows,
            x=x,
            y=alt.Y(datum=scale["domain"][0] / 2, type="quantitative", scale=scale, axis=_axis(title, 0)),
            text="said:N",
            tooltip="token:N",
        ).mark_text(fontSize=20, color=theme.CATEGORICAL[1])
        for rows, scale, title in strips
    ]


def _names(tokens: Sequence[str]) -> alt.X:
    """Return the tokens above their places: upright where each has room, else slanted, and on a narrow screen not every one of many."""
    names = [shorten(visible(token), LETTERS) for token in tokens]
    n, slanted = len(names), f"width < {len(names) * (11 * max(map(len, names), default=1) + 6)}"
    return alt.X(
        "place:O",
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
    """Return the colours of the bars; a legend where two kinds stand in one another."""
    shown = [ALL, NOW] if legend else list(COLOURS)
    more: dict[str, Any] = {"offset": 4, "labelLimit": 300} if legend else {}
    return vega.colour_channel(
        "kind:N",
        {kind: COLOURS[kind] for kind in shown},
        vega.legend(orient="bottom", **more) if legend else None,
    )


def _share(share: float) -> alt.ExprRef:
    """Return a place on the way down the picture, whose height a room changes."""
    return alt.ExprRef(f"{share} * height")
