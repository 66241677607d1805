"""A few probabilities as bars, some of them still hidden."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt

from viz import theme
from viz.charts.parts import vega
from viz.charts.parts.figures import draw_once
from viz.labels import percent, phrase

ROW = 44


@draw_once
def label_bars(rows: Sequence[tuple[str, float | None, bool]]) -> vega.Layers:
    """Return one bar a row (name, probability or None while it is hidden, whether it is the visitor's own), in the order given.

    >>> chart = label_bars([("even", 0.1, False), ("yours", None, True)]).to_dict()
    >>> [row["said"] for row in chart["data"]["values"]]
    ['10%', '?']
    """
    names = [phrase(name) for name, _, _ in rows]
    bars = [
        {
            "place": place,
            "name": names[place],
            "value": value or 0.0,
            "own": own,
            "said": "?" if value is None else percent(value),
        }
        for place, (_, value, own) in enumerate(rows)
    ]
    most = max([value or 0.0 for _, value, _ in rows] + [0.05]) * 1.02
    base = vega.Chart().encode(
        x=alt.X("value:Q", axis=None, scale=vega.exact_scale(0, most)),
        y=vega.row_axis(names, spacing=(0.4, 0.2), labelFontSize=15, labelLimit=220),
        tooltip=vega.tooltip(("name:N", " "), ("said:N", "probability")),
    )
    bar = base.mark_bar().encode(
        color=alt.condition("datum.own", alt.value(theme.PRIMARY), alt.value(theme.SEQUENTIAL[3]))
    )
    said = base.mark_text(fontSize=15, align="left", dx=6, color=theme.TEXT).encode(text="said:N")
    return alt.layer(bar, said, data=vega.Rows(values=bars)).properties(
        width="container", height=ROW * len(rows), padding=vega.AROUND | {"right": 64}, view=vega.BARE
    )
