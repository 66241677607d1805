"""What was measured on the way of a short training: one curve a run, over the steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import altair as alt

from viz import theme
from viz.labels import visible

Points = Sequence[tuple[float, float]]


def curve(lines: Mapping[str, Points], *, title: str, hues: Mapping[str, int] | None = None, ends: tuple[float, float] | None = None,
          level: float | None = None, height: int = 190) -> alt.LayerChart:  # fmt: skip
    """Lines by name, each of (step, value), a dot where it was measured; `ends` of the axis (default from 0), a dashed rule at `level`.

    `hues` are colours by number, default in order. With one line there is no legend.

    >>> chart = curve({"recorded": [(0, 0.5), (10, 0.9)]}, title="right", ends=(0, 1), level=0.5).to_dict()
    >>> [layer["mark"]["type"] for layer in chart["layer"]]
    ['rule', 'line', 'point']
    """
    told = {name: visible(name).replace("·", " ") for name in lines}
    rows = [{"run": told[name], "step": step, "value": value} for name, points in lines.items() for step, value in points]
    names = list(told.values())
    colours = [theme.CATEGORICAL[(hues or {}).get(name, place) % len(theme.CATEGORICAL)] for place, name in enumerate(lines)]
    legend = alt.Legend(title=None, orient="top", direction="horizontal", offset=2) if len(names) > 1 else None
    scale = alt.Scale(domain=list(ends)) if ends else alt.Scale(zero=True)
    base = alt.Chart(alt.Data(values=rows)).encode(
        x=alt.X("step:Q", title="steps", axis=alt.Axis(grid=False, tickCount=5, format=",d")),
        y=alt.Y("value:Q", title=title, scale=scale, axis=alt.Axis(tickCount=4, format="%" if ends == (0, 1) else "~g")),
        color=alt.Color("run:N", scale=alt.Scale(domain=names, range=colours), legend=legend),
        tooltip=[alt.Tooltip("run:N"), alt.Tooltip("step:Q", format=","), alt.Tooltip("value:Q", title=title, format=".1%" if ends == (0, 1) else ".3f")],
    )  # fmt: skip
    layers: list[alt.Chart] = [base.mark_line(strokeWidth=2), base.mark_point(filled=True, size=42, opacity=1)]
    if level is not None:
        layers.insert(0, alt.Chart(alt.Data(values=[{"value": level}])).mark_rule(strokeDash=[4, 4], color=theme.MUTED).encode(y="value:Q"))
    return alt.layer(*layers).properties(width="container", height=height)
