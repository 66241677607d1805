"""Measurements during a short training: one curve for each run, over the steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import altair as alt

from viz import theme
from viz.charts.parts import vega
from viz.charts.parts.figures import draw_once
from viz.labels import percent

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


@draw_once
def shares(
    labels: Sequence[str], chances: Sequence[float], *, title: str = "", height: int = 0
) -> alt.TopLevelMixin:
    """Return the probability of each class, one bar each on a scale from 0 to 1, in the order given.

    >>> [row["said"] for row in shares(["good", "bad"], [0.9, 0.1]).to_dict()["data"]["values"]]
    ['90%', '10%']
    """
    rows = [
        {"label": label, "chance": float(chance), "said": percent(chance)}
        for label, chance in zip(labels, chances, strict=True)
    ]
    base = vega.rows(rows).encode(
        x=alt.X(
            "chance:Q",
            title=None,
            axis=alt.Axis(values=[0, 0.5, 1], format="%", grid=False),
            scale=vega.exact_scale(0, 1.55),
        ),
        y=alt.Y(
            "label:N",
            title=None,
            sort=None,
            axis=alt.Axis(
                labelFontSize=15,
                labelColor=theme.TEXT,
                labelLimit=130,
                labelPadding=8,
                domain=False,
                ticks=False,
            ),
        ),
        tooltip=vega.tooltip(("label:N", "class"), ("chance:Q", "probability", ".2%")),
    )
    bars = base.mark_bar(height={"band": 0.62}, cornerRadius=2, color=theme.CATEGORICAL[0])
    said = base.mark_text(fontSize=14, align="left", dx=6, color=theme.TEXT, clip=False).encode(text="said:N")
    return _framed([bars, said], height or 60 * len(labels) + 30, title=title)


@draw_once
def terms(names: Sequence[str], values: Sequence[float], *, title: str, height: int = 0) -> alt.TopLevelMixin:
    """Return a chart of the terms of a sum, one bar each in this order: right of 0 if positive, left if negative; the number at the right edge.

    >>> [row["said"] for row in terms(["h1", "b"], [1.5, -0.5], title="added").to_dict()["data"]["values"]]
    ['+1.500', '−0.500']
    """
    rows = [
        {
            "place": place,
            "name": name,
            "value": float(value),
            "said": f"{value:+.3f}".replace("-", "−"),
            "up": bool(value >= 0),
        }
        for place, (name, value) in enumerate(zip(names, values, strict=True))
    ]
    least, most = min([0.0, *values]), max([0.0, *values])
    room = 0.25 * ((most - least) or 1.0)
    base = vega.rows(rows).encode(
        x=alt.X(
            "value:Q",
            title=title,
            scale=vega.exact_scale(least - 0.2 * room * (least < 0), most + room),
            axis=alt.Axis(tickCount=5),
        ),
        y=alt.Y(
            "name:N",
            title=None,
            sort=None,
            axis=alt.Axis(labelFontSize=14, labelLimit=170, domain=False, ticks=False),
        ),
        tooltip=vega.tooltip(("name:N", "term"), ("value:Q", "added", "+.4f")),
    )
    bars = base.mark_bar(height={"band": 0.7}, cornerRadius=2).encode(
        color=alt.condition("datum.up", alt.value(theme.CATEGORICAL[0]), alt.value(theme.CATEGORICAL[1]))
    )
    told = (
        base.transform_calculate(end="max(datum.value, 0)")
        .mark_text(fontSize=13, align="left", dx=6, color=theme.TEXT)
        .encode(text="said:N", x="end:Q")
    )
    return _framed([bars, told], height or 30 * len(names))
