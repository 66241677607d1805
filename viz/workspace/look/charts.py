"""Bars to the left and right of 0."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt

from viz import theme
from viz.charts.parts import vega
from viz.charts.parts.figures import draw_once
from viz.labels import phrase

ROW = 30


def signed(value: float) -> str:
    """Return a number with its sign and two decimals.

    >>> signed(0.5), signed(-1.25)
    ('+0.50', '−1.25')
    """
    return f"{value:+.2f}".replace("-", "−")


@draw_once
def signed_bars(names: Sequence[str], values: Sequence[float], title: str, rest: int = 0) -> vega.Layers:
    """Draw a row for each name with a bar from 0 to its value and the number at its end; the last `rest` rows are pale.

    >>> [bar["number"] for bar in signed_bars(["a", "b"], [1.5, -0.25], "parts").to_dict()["data"]["values"]]
    ['1.50', '−0.25']
    """
    rows = [
        {
            "place": place,
            "value": value,
            "number": signed(value).removeprefix("+"),
            "colour": theme.LINE
            if place >= len(values) - rest
            else theme.CATEGORICAL[0 if value >= 0 else 1],
            "positive": value >= 0,
        }
        for place, value in enumerate(values)
    ]
    low, high = min([0.0, *values]), max([0.0, *values])
    room = 0.18 * (high - low or 1.0)
    base = vega.Chart().encode(
        x=alt.X("value:Q", axis=None, scale=vega.exact_scale(low - room, high + room)),
        y=vega.row_axis([phrase(name) for name in names], spacing=(0.3, 0.15), labelLimit=330),
    )
    ends = [
        base.transform_filter(alt.datum.positive == positive)
        .mark_text(
            fontSize=14,
            align="left" if positive else "right",
            dx=5 if positive else -5,
            color=theme.TEXT,
        )
        .encode(text="number:N")
        for positive in (True, False)
    ]
    heading = alt.TitleParams(
        phrase(title),
        anchor="start",
        offset=8,
        font=theme.FONT,
        fontSize=14,
        fontWeight="normal",
        color=theme.TEXT,
    )
    bars = base.mark_bar().encode(color=vega.raw_channel("colour:N"))
    return vega.frame(bars, *ends, height=12 + ROW * len(rows), data=rows).properties(title=heading)
