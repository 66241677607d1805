"""Scores of a model beside those of its baselines, as bars of one measure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from textwrap import wrap

import altair as alt

from viz import theme
from viz.charts.parts import vega
from viz.charts.parts.figures import draw_once
from viz.labels import phrase

ROW = 30
WIDEST = 20
"""Letters of a name in one line: a phone has no room for more beside the bars."""


def lit(names: Sequence[str], values: Iterable[float], selected: int = 0) -> list[tuple[str, float, bool]]:
    """Return the rows of `bars` with the selected one highlighted.

    >>> lit(["a", "b"], [0.5, 0.25], 1)
    [('a', 0.5, False), ('b', 0.25, True)]
    """
    return [
        (name, float(value), i == selected) for i, (name, value) in enumerate(zip(names, values, strict=True))
    ]


@draw_once
def bars(
    rows: Sequence[tuple[str, float, bool]], number: str = "{:.3g}", end: float | None = None
) -> vega.Layers:
    """Return one bar a row (name, value, whether it is the model's own), in the order given, from zero; values after the bars.

    `end` is where the axis ends; None: with the longest bar.

    >>> chart = bars([("gpt-mini", 1.49, True), ("trigram", 1.64, False)], "{:.2f}").to_dict()
    >>> [bar["said"] for bar in chart["data"]["values"]]
    ['1.49', '1.64']
    """
    names = [wrap(phrase(name), WIDEST) or [""] for name, _, _ in rows]
    own = [place for place, row in enumerate(rows) if row[2]]
    values = [
        {
            "place": place,
            "name": phrase(name),
            "value": value,
            "said": number.format(value),
            "own": mine,
        }
        for place, (name, value, mine) in enumerate(rows)
    ]
    weight: dict[str, object] = {
        "condition": {"test": f"indexof({own}, datum.value) >= 0", "value": "bold"},
        "value": "normal",
    }
    most = end or max([value for _, value, _ in rows] + [1e-9])
    base = vega.Chart().encode(
        x=alt.X("value:Q", axis=None, scale=vega.exact_scale(0, most)),
        y=vega.row_axis(
            [lines if len(lines) > 1 else lines[0] for lines in names],
            spacing=(0.38, 0.19),
            labelFontWeight=weight,
            labelLimit=220,
            labelOverlap=False,
        ),
    )
    bar = base.mark_bar().encode(
        alt.ColorValue(theme.SEQUENTIAL[2], condition={"test": "datum.own", "value": theme.PRIMARY})
    )
    said = base.mark_text(fontSize=14, align="left", dx=5, color=theme.TEXT).encode(alt.Text("said:N"))
    height = 6 + len(rows) * (ROW + 12 * max([len(lines) - 1 for lines in names], default=0))
    return alt.layer(bar, said, data=vega.Rows(values=values)).properties(
        width="container", height=height, padding=vega.AROUND | {"right": 62}, view=vega.BARE
    )
