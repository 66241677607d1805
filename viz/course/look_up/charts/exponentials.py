"""Where exp ends in numbers of 32 bits.

Numbers in, an Altair chart out.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np

from viz import theme
from viz.charts.parts import vega
from viz.charts.parts.figures import draw_once
from viz.labels import phrase
from viz.languages import _
from viz.number_text import power_of_ten, two_digits

Array = np.ndarray[Any, np.dtype[Any]]
CROSS = "M-1,-0.6L-0.6,-1L0,-0.4L0.6,-1L1,-0.6L0.4,0L1,0.6L0.6,1L0,0.4L-0.6,1L-1,0.6L-0.4,0Z"


@draw_once
def exponentials(
    points: Sequence[tuple[str, float, float]],
    line: tuple[Array, Array],
    *,
    top: float,
    smallest: float,
    height: int = 380,
) -> alt.LayerChart:
    """Draw e^s on a logarithmic axis over s, up to the largest number of float32; the hatched part above it has no number in float32.

    points: (name, what goes into exp, its exponential, which may be infinite). line: s and log10(e^s), (point,) each.
    top, smallest: log10 of the largest and of the smallest number above zero.

    >>> x = np.array([0.0, 100.0])
    >>> chart = exponentials([("a", 100.0, np.inf)], (x, x / 2.3), top=38.5, smallest=-45).to_dict()
    >>> [row["text"] for row in chart["layer"][-1]["data"]["values"]]
    ['a: ∞']
    """
    x, y = line
    left, right, high, low = float(x[0]), float(x[-1]), max(float(y.max()), top) + 6, smallest - 8
    across = alt.X(
        "x:Q",
        title=_("s, what goes into exp"),
        scale=vega.exact_scale(left, right),
        axis=vega.bare_axis(tickCount=5),
    )
    ticks = {
        power: "1" if power == 0 else power_of_ten(power)
        for power in range(-40, int(high) + 1, 20)
        if low < power < high
    }
    up = alt.Y(
        "y:Q",
        title=_("e to the power s"),
        scale=vega.exact_scale(low, high),
        axis=vega.bare_axis(
            values=list(ticks),
            labelExpr=f"({json.dumps({str(power): text for power, text in ticks.items()})})[datum.value]",
            grid=True,
        ),
    )

    def chart(rows: list[dict[str, Any]]) -> alt.Chart:
        return vega.rows(rows).encode(x=across, y=up)

    inside, beyond = (
        [{"x": float(a), "y": float(b)} for a, b in zip(x[kept], y[kept], strict=True)]
        for kept in ((y <= top) & (y >= smallest), y > top)
    )
    rise = high - top
    hatch = [
        {
            "x": max(at, left),
            "y": top + max(left - at, 0),
            "x2": min(at + rise, right),
            "y2": top + min(rise, right - at),
        }
        for at in np.arange(left - rise + 3, right, 6).tolist()
    ]
    marks = [_mark(turn, point, left, right, smallest) for turn, point in enumerate(points)]
    dots, hue = chart(marks), alt.Color("colour:N", scale=None)
    name = dots.encode(text="text:N")
    beside: dict[str, Any] = {
        side: alt.ExprRef(f"datum.{side}") for side in ("align", "baseline", "dx", "dy")
    }
    beside["fontSize"] = 14
    end: dict[str, Any] = {
        "text": _("float32 ends here: above is ∞"),
        "align": "left",
        "baseline": "bottom",
        "dx": 4,
        "dy": -5,
        "fontSize": 13,
    }
    halo: dict[str, Any] = dict.fromkeys(("color", "stroke"), theme.BACKGROUND)
    halo |= {"strokeWidth": 6, "strokeJoin": "round"}
    edge = chart([{"x": left, "y": top}])
    return vega.frame(
        chart(hatch).mark_rule(color=theme.HATCH, strokeWidth=1, opacity=0.6).encode(x2="x2:Q", y2="y2:Q"),
        chart(inside).mark_line(strokeWidth=2, color=theme.MUTED),
        chart(beyond).mark_line(strokeWidth=1.4, strokeDash=[2, 3], color=theme.MUTED),
        vega.rows([{"y": top}]).mark_rule(strokeWidth=1.4, color=theme.CATEGORICAL[3]).encode(y=up),
        edge.mark_text(**end, **halo),
        edge.mark_text(**end, color=theme.CATEGORICAL[3]),
        dots.mark_point(filled=True, opacity=1, size=150).encode(
            color=hue, shape=alt.Shape("form:N", scale=None)
        ),
        name.mark_text(**beside, **halo),
        name.mark_text(**beside).encode(color=hue),
        right=10,
        height=height,
    )


def _mark(
    turn: int, point: tuple[str, float, float], left: float, right: float, smallest: float
) -> dict[str, Any]:
    """Return the position of an exponential's mark, its form (a cross where the value is infinite), and the side of its name."""
    name, score, value = point
    lost = not np.isfinite(value)
    place = (
        float(np.log10(value)) if value > 0 and not lost else float(score / np.log(10)) if lost else smallest
    )
    side = "left" if score > 0.6 * right else "right"
    above, side = ((True, "left"), (False, side), (score <= left / 2, "right"))[turn % 3]
    return {
        "x": float(score),
        "y": place,
        "colour": theme.CATEGORICAL[3 if lost else 0],
        "form": CROSS if lost else "circle",
        "text": f"{phrase(name)}: {two_digits(value, 1e-4, 99.5)}",
        "align": "right" if side == "left" else "left",
        "baseline": "bottom" if above else "top",
        "dx": -8 if side == "left" else 8,
        "dy": -5 if above else 6,
    }
