"""Two ways to tune side by side: bars in groups, and what was measured on the way over steps or seconds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import altair as alt

from viz import theme
from viz.charts.parts import vega
from viz.charts.parts.figures import draw_once

FROZEN, FULL = "frozen", "full fine-tuning"
WAYS = (FROZEN, FULL)
COLOURS = dict(zip(WAYS, theme.CATEGORICAL[:2], strict=True))
COVERED = "?"


@draw_once
def grouped(
    rows: Sequence[tuple[str, str, float | None, str]],
    *,
    title: str,
    ends: tuple[float, float] | None = None,
    at_first: Mapping[str, float] | None = None,
    shares: bool = False,
    height: int = 260,
) -> alt.TopLevelMixin:
    """Bars of (group, way, value, what is written behind it), lying, a group below the other; None is covered. `at_first`: a tick across a
    group; `shares`: the axis is in per cent.

    >>> chart = grouped([("tags", "frozen", 0.9, "90%"), ("tags", "full fine-tuning", None, "?")], title="right", ends=(0, 1), shares=True).to_dict()
    >>> [row["value"] for row in chart["data"]["values"]], [layer["mark"]["type"] for layer in chart["layer"]]
    ([0.9, 0], ['bar', 'text'])
    """
    groups = list(dict.fromkeys(group for group, *_ in rows))
    values = [
        {"group": group, "way": way, "value": value or 0, "told": told} for group, way, value, told in rows
    ]
    most = ends or (0, max([row["value"] for row in values] + [1e-9]) * 1.3)
    side = alt.Axis(labelLimit=200, ticks=False, domain=False)
    axis = alt.Axis(grid=False, tickCount=5, format="%" if shares else "~s")
    base = vega.rows(
        values,
        y=alt.Y("group:N", sort=groups, title=None, scale=alt.Scale(paddingInner=0.2), axis=side),
        yOffset=alt.YOffset("way:N", sort=list(WAYS)),
        x=alt.X("value:Q", title=title, scale=alt.Scale(domain=list(most)), axis=axis),
        color=vega.colour_channel("way:N", COLOURS, vega.legend(offset=2)).sort(list(WAYS)),
        tooltip=vega.tooltip("group:N", "way:N", ("told:N", title)),
    )
    ticks = vega.rows(
        [{"group": group, "value": value} for group, value in (at_first or {}).items()],
        y=alt.Y("group:N", sort=groups),
        x="value:Q",
    ).mark_tick(thickness=2, color=theme.TEXT, bandSize=30)
    said = base.mark_text(align="left", dx=5, fontSize=12).encode(text="told:N", color=alt.value(theme.TEXT))
    layers = [base.mark_bar(cornerRadiusEnd=2), *([ticks] if at_first else []), said]
    return alt.layer(*layers).properties(width="container", height=height, padding=vega.AROUND)


@draw_once
def courses(
    lines: Mapping[str, Sequence[tuple[float, float]]],
    *,
    over: str,
    title: str,
    ends: tuple[float, float] | None = None,
    level: float | None = None,
    height: int = 260,
) -> alt.TopLevelMixin:
    """A line a way, of (step or second, value), a dot where it was measured; a dashed rule at `level`.

    >>> chart = courses({"frozen": [(0, 0.5), (10, 0.6)]}, over="seconds", title="right", ends=(0, 1)).to_dict()
    >>> chart["layer"][0]["encoding"]["x"]["title"], len(chart["data"]["values"])
    ('seconds', 2)
    """
    values = [{"way": way, "at": at, "value": value} for way, points in lines.items() for at, value in points]
    share = ends == (0, 1)
    scale = alt.Scale(domain=list(ends)) if ends else alt.Scale(zero=True)
    base = vega.rows(
        values,
        x=alt.X("at:Q", title=over, axis=alt.Axis(grid=False, tickCount=6, format=",d")),
        y=alt.Y(
            "value:Q", title=title, scale=scale, axis=alt.Axis(tickCount=4, format="%" if share else "~g")
        ),
        color=vega.colour_channel("way:N", COLOURS, vega.legend(offset=2)),
        tooltip=vega.tooltip("way:N", ("at:Q", over, ",.0f"), ("value:Q", title, ".1%" if share else ".3f")),
    )
    layers = [base.mark_line(strokeWidth=2), base.mark_point(filled=True, size=42, opacity=1)]
    if level is not None:
        layers.append(
            vega.rows([{"value": level}], y="value:Q").mark_rule(strokeDash=[4, 4], color=theme.MUTED)
        )
    return alt.layer(*layers).properties(width="container", height=height, padding=vega.AROUND)
