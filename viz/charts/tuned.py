"""Measurements during a short training: one curve for each run, over the steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import altair as alt

from viz import theme
from viz.charts.parts import vega
from viz.charts.parts.figures import draw_once

Points = Sequence[tuple[float, float]]
AROUND = {"top": 6, "left": 4, "right": 6, "bottom": 6}


@draw_once
def curve(
    lines: Mapping[str, Points],
    *,
    title: str,
    hues: Mapping[str, int] | None = None,
    ends: tuple[float, float] | None = None,
    level: float | None = None,
    height: int = 190,
) -> alt.TopLevelMixin:
    """Return lines by name, each of (step, value), a dot where it was measured; `ends` of the axis (default from 0), a dashed rule at `level`.

    `hues` are colours by number, default in order. With one line there is no legend.

    >>> chart = curve({"recorded": [(0, 0.5), (10, 0.9)]}, title="right", ends=(0, 1), level=0.5).to_dict()
    >>> [layer["mark"]["type"] for layer in chart["layer"]]
    ['rule', 'line', 'point']
    """
    rows = [
        {"run": name, "step": step, "value": value}
        for name, points in lines.items()
        for step, value in points
    ]
    colours = {
        name: theme.CATEGORICAL[(hues or {}).get(name, place) % len(theme.CATEGORICAL)]
        for place, name in enumerate(lines)
    }
    legend = vega.legend(offset=2) if len(lines) > 1 else None
    scale = alt.Scale(domain=list(ends)) if ends else alt.Scale(zero=True)
    shares = ends == (0, 1)
    base = vega.rows(rows).encode(
        x=alt.X("step:Q", title="steps", axis=alt.Axis(grid=False, tickCount=5, format=",d")),
        y=alt.Y(
            "value:Q",
            title=None,
            scale=scale,
            axis=alt.Axis(tickCount=4, format="%" if shares else "~g"),
        ),
        color=vega.colour_channel("run:N", colours, legend),
        tooltip=vega.tooltip("run:N", ("step:Q", "", ","), ("value:Q", title, ".1%" if shares else ".3f")),
    )
    layers: list[alt.Chart] = [
        base.mark_line(strokeWidth=2),
        base.mark_point(filled=True, size=42, opacity=1),
    ]
    if level is not None:
        rule = vega.rows([{"value": level}]).mark_rule(strokeDash=[4, 4], color=theme.MUTED)
        layers.insert(0, rule.encode(y="value:Q"))
    return _framed(layers, height, title=title)


def _framed(layers: Sequence[alt.Chart], height: int, **more: str) -> alt.TopLevelMixin:
    drawn = alt.layer(*layers).properties(width="container", height=height, padding=AROUND, **more)
    return drawn.configure_view(stroke="transparent")
