"""How much leaks through a mask made of a finite number: two curves over that number."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import altair as alt
import numpy as np

from viz.charts.parts import panels
from viz.charts.parts.kept import kept
from viz.labels import phrase

Array = np.ndarray[Any, np.dtype[Any]]


@kept
def leak(fills: Array, curves: Mapping[str, Array], *, marked: float, height: int = 330) -> panels.Layers:
    """The largest leak of a row (0 to 1) over the number that stands for -inf, one line a curve.

    `fills` are negative; the axis runs to the right towards -inf in equal factors. `marked` draws the number chosen.
    Shapes: fills (point,), each curve (point,).
    Errors: ValueError when a number is not negative or a curve has another length.

    >>> chart = leak(np.array([-1.0, -10.0]), {"outside": np.array([0.2, 0.0])}, marked=-10).to_dict()
    >>> [row["size"] for row in chart["layer"][0]["data"]["values"]]
    [1.0, 10.0]
    """
    if not (fills < 0).all():
        raise ValueError(f"fills={fills.tolist()} must all be negative")
    if any(len(curve) != len(fills) for curve in curves.values()):
        raise ValueError(f"each curve needs {len(fills)} points, one a number")
    names = [phrase(name) for name in curves]
    rows = [
        {
            "size": -float(fill),
            "fill": f"−{-fill:.3g}",
            "leak": float(leaked),
            "leaks": f"{100 * leaked:.2f} %",
            "name": name,
        }
        for name, curve in zip(names, curves.values(), strict=True)
        for fill, leaked in zip(fills, curve, strict=True)
    ]
    ticks = [value for value in (1, 10, 100, 1000, 10_000) if -fills.max() <= value <= -fills.min()]
    across = alt.X(
        "size:Q",
        title="the number in place of −∞",
        scale=panels.span(-float(fills.max()), -float(fills.min()), type="log"),
        axis=panels.quiet(values=ticks, labelExpr="'−' + format(datum.value, ',.0f')", labelPadding=6),
    )
    up = alt.Y(
        "leak:Q",
        title="largest leak of a row",
        scale=panels.span(-0.01, 1.02),
        axis=alt.Axis(
            format=".0%", values=[0, 0.25, 0.5, 0.75, 1], domain=False, ticks=False, labelPadding=6
        ),
    )
    key = panels.legend(
        direction="vertical",
        symbolType="stroke",
        symbolStrokeWidth=2.5,
        labelFontSize=13,
        labelLimit=320,
        offset=4,
    )
    base = panels.rows(rows).encode(
        x=across,
        y=up,
        color=panels.hue("name:N", panels.hues(names), key, sort=names),
        tooltip=panels.told(("fill:N", "number"), "leaks:N", ("name:N", "added")),
    )
    return panels.laid(
        height,
        base.mark_line(strokeWidth=2.5),
        base.mark_circle(size=90, opacity=0),
        panels.here(across, -float(marked)),
    )
