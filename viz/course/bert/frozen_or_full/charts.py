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
