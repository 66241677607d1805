"""The vectors of one word in many sentences: cosines over the layers, a map, what is nearer. Numbers and words in, an Altair chart out."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import numpy as np

from viz import theme
from viz.charts.parts.kept import kept
from viz.labels import phrase, shorten

Array = np.ndarray[Any, np.dtype[Any]]
BARE = alt.ViewBackground(strokeWidth=0)


@kept
def by_layer(
    lines: Mapping[str, Array], names: Sequence[str], *, known: int | None = None, height: int = 290
) -> alt.TopLevelMixin:
    """Cosines over the layers, a line each with its number at every point; only the first `known` points are drawn (None: all).

    Shapes: each line (layer,), `names` of the layers.

    >>> by_layer({"bank": np.array([1.0, 0.5])}, ["table", "after 1"], known=1).to_dict()["layer"][-1]["mark"]["text"]
    '?'
    """
    n = len(names)
    cut = n if known is None else known
    cells = [
        {
            "at": place,
            "value": float(value),
            "line": name,
            "said": f"{value:.3f}",
            "fell": bool(place and value < values[place - 1] - 0.02),
        }
        for name, values in lines.items()
        for place, value in enumerate(values[:cut])
    ]
    low = min([0.5, *(float(values.min()) - 0.1 for values in lines.values())]) if known is None else 0.0
    base = alt.Chart(alt.Data(values=cells)).encode(
        x=alt.X(
            "at:Q",
            title=None,
            scale=alt.Scale(domain=[-0.3, n - 0.7], nice=False),
            axis=alt.Axis(
                values=list(range(n)),
                grid=False,
                labelExpr=json.dumps(list(names)) + "[datum.value]",
                labelAngle=0,
                labelFontSize=13,
                labelOverlap=False,
            ),
        ),
        y=alt.Y(
            "value:Q",
            title="cosine",
            scale=alt.Scale(domain=[max(-1.0, low), 1.06], nice=False),
            axis=alt.Axis(tickCount=5),
        ),
        color=alt.Color(
            "line:N",
            scale=alt.Scale(domain=list(lines), range=theme.CATEGORICAL[: len(lines)]),
            legend=None
            if len(lines) < 2
            else alt.Legend(title=None, orient="bottom", direction="horizontal", labelLimit=300),
        ),
        tooltip=[alt.Tooltip("line:N", title="of"), alt.Tooltip("said:N", title="cosine")],
    )
    layers: list[Any] = [base.mark_line(strokeWidth=3), base.mark_circle(size=90, opacity=1)]
    if len(lines) == 1:
        for fell, aside in ((False, -14), (True, 17)):  # a number stands where the line does not come from
            layers.append(
                base.transform_filter(f"datum.fell == {str(fell).lower()}")
                .mark_text(dy=aside, fontSize=13, fontWeight=600)
                .encode(text="said:N", color=alt.value(theme.TEXT))
            )
    if cut < n:
        layers.append(
            alt.Chart(alt.Data(values=[{"at": (cut + n - 1) / 2, "value": (max(-1.0, low) + 1) / 2}]))
            .mark_text(text="?", fontSize=34, color=theme.MUTED)
            .encode(x="at:Q", y="value:Q")
        )
    return alt.layer(*layers).properties(view=BARE, height=height)


@kept
def on_a_map(
    places: Array, names: Sequence[str], kinds: Sequence[str], order: Sequence[str], *, height: int = 340
) -> alt.TopLevelMixin:
    """Points of a plane with their names, a colour and a shape for each kind; both axes without numbers.

    Shapes: places (point, 2).

    >>> on_a_map(np.zeros((1, 2)), ["1"], ["money"], ["money", "river"]).to_dict()["layer"][0]["mark"]["type"]
    'point'
    """
    cells = [
        {"x": float(x), "y": float(y), "name": shorten(phrase(name), 80), "short": str(at + 1), "kind": kind}
        for at, ((x, y), name, kind) in enumerate(zip(places, names, kinds, strict=True))
    ]
    reach = [1.15 * max(float(np.abs(places[:, axis]).max(initial=0)), 1e-6) for axis in range(2)]
    bare = {"title": None, "axis": alt.Axis(labels=False, ticks=False, tickCount=3)}
    base = alt.Chart(alt.Data(values=cells)).encode(
        x=alt.X("x:Q", scale=alt.Scale(domain=[-reach[0], reach[0]], nice=False), **bare),
        y=alt.Y("y:Q", scale=alt.Scale(domain=[-reach[1], reach[1]], nice=False), **bare),
        tooltip=[
            alt.Tooltip("short:N", title="sentence"),
            alt.Tooltip("name:N", title="text"),
            alt.Tooltip("kind:N", title="meaning"),
        ],
    )
    legend = alt.Legend(title=None, orient="bottom", direction="horizontal")
    hues = alt.Color(
        "kind:N", scale=alt.Scale(domain=list(order), range=theme.CATEGORICAL[: len(order)]), legend=legend
    )
    points = base.mark_point(filled=True, size=190, opacity=0.9).encode(
        color=hues,
        shape=alt.Shape(
            "kind:N",
            scale=alt.Scale(domain=list(order), range=["circle", "square", "diamond"][: len(order)]),
            legend=legend,
        ),
    )
    return alt.layer(
        points, base.mark_text(dx=18, fontSize=15, fontWeight=600).encode(text="short:N")
    ).properties(view=BARE, height=height)


@kept
def bars(
    rows: Sequence[tuple[str, float, str]], order: Sequence[str], *, covered: bool = False, high: int = 26
) -> alt.TopLevelMixin:
    """Cosines as bars from 0 (name, value, kind), each kind in its colour; covered: "?".

    >>> bars([("river", 0.4, "river")], ["money", "river"]).to_dict()["layer"][0]["mark"]["type"]
    'bar'
    """
    cells = [
        {
            "place": at,
            "value": 0.0 if covered else value,
            "kind": kind,
            "said": "?" if covered else f"{value:.2f}",
        }
        for at, (_, value, kind) in enumerate(rows)
    ]
    low = 0.0 if covered else min([0.0, *(value for _, value, _ in rows)])
    base = alt.Chart(alt.Data(values=cells)).encode(
        x=alt.X(
            "value:Q", title=None, scale=alt.Scale(domain=[low, 1], nice=False), axis=alt.Axis(tickCount=5)
        ),
        y=alt.Y(
            "place:O",
            title=None,
            axis=alt.Axis(
                labelExpr=json.dumps([shorten(phrase(name), 44) for name, _, _ in rows]) + "[datum.value]",
                labelLimit=260,
                labelPadding=8,
                domain=False,
                ticks=False,
                labelFontSize=14,
                labelColor=theme.TEXT,
            ),
        ),
        tooltip=[alt.Tooltip("said:N", title="cosine"), alt.Tooltip("kind:N", title="meaning")],
    )
    bar = base.mark_bar(height=high * 0.62, cornerRadius=2).encode(
        color=alt.Color(
            "kind:N",
            scale=alt.Scale(domain=list(order), range=theme.CATEGORICAL[: len(order)]),
            legend=alt.Legend(title=None, orient="bottom", direction="horizontal"),
        )
    )
    return alt.layer(bar, base.mark_text(align="left", dx=5, fontSize=13).encode(text="said:N")).properties(
        view=BARE, height=high * len(rows) + 56
    )


@kept
def nearer(
    texts: Sequence[str],
    partners: Sequence[tuple[str, str]],
    same: Array | None,
    alike: Array,
    *,
    low: float,
    high: int = 30,
) -> alt.TopLevelMixin:
    """A row a sentence with two points: the cosine with what means the same (None: covered) and with what only looks alike.

    Shapes: same and alike (sentence,). `partners`: those two sentences of each row. `low`: where the axis begins.

    >>> nearer(["a"], [("b", "c")], None, np.array([0.9]), low=0.5).to_dict()["layer"][1]["mark"]["type"]
    'point'
    """
    kinds = ("same meaning", "same words")
    cells = [
        {
            "place": at,
            "value": float(values[at]),
            "kind": kind,
            "said": f"{values[at]:.3f}",
            "text": partners[at][which],
        }
        for which, (kind, values) in enumerate(zip(kinds, (same, alike), strict=True))
        if values is not None and same is not None
        for at in range(len(texts))
    ]
    spans = (
        [
            {"place": at, "from": float(min(same[at], alike[at])), "to": float(max(same[at], alike[at]))}
            for at in range(len(texts))
        ]
        if same is not None
        else []
    )
    across = alt.Scale(domain=[low, 1], nice=False)
    up = alt.Y(
        "place:O",
        title=None,
        scale=alt.Scale(domain=list(range(len(texts)))),
        axis=alt.Axis(
            labelExpr=json.dumps([shorten(text, 34) for text in texts]) + "[datum.value]",
            labelLimit=230,
            labelPadding=8,
            domain=False,
            ticks=False,
            labelFontSize=14,
            labelColor=theme.TEXT,
            grid=True,
        ),
    )
    lines = (
        alt.Chart(alt.Data(values=spans))
        .mark_rule(strokeWidth=3, color=theme.LINE)
        .encode(
            x=alt.X("from:Q", title="cosine", scale=across, axis=alt.Axis(tickCount=5, format=".2f")),
            x2="to:Q",
            y=up,
        )
    )
    points = (
        alt.Chart(alt.Data(values=cells))
        .mark_point(filled=True, size=130, opacity=1)
        .encode(
            x=alt.X("value:Q", scale=across),
            y=up,
            tooltip=[
                alt.Tooltip("text:N", title="sentence"),
                alt.Tooltip("kind:N"),
                alt.Tooltip("said:N", title="cosine"),
            ],
            color=alt.Color(
                "kind:N",
                scale=alt.Scale(domain=list(kinds), range=[theme.CATEGORICAL[2], theme.CATEGORICAL[1]]),
                legend=alt.Legend(title=None, orient="bottom", direction="horizontal", labelLimit=300),
            ),
            shape=alt.Shape(
                "kind:N",
                scale=alt.Scale(domain=list(kinds), range=["circle", "square"]),
                legend=alt.Legend(title=None, orient="bottom", direction="horizontal", labelLimit=300),
            ),
        )
    )
    hidden = (
        alt.Chart(
            alt.Data(
                values=[{"place": at, "value": (1 + low) / 2} for at in range(len(texts))]
                if same is None
                else []
            )
        )
        .mark_text(text="?", fontSize=16, color=theme.MUTED)
        .encode(x=alt.X("value:Q", scale=across), y=up)
    )
    return alt.layer(lines, points, hidden).properties(view=BARE, height=high * len(texts) + 70)
