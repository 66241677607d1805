"""The surprisal of each token for two models: bars side by side, minus ln P."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import altair as alt

from viz import theme
from viz.charts.parts import vega
from viz.charts.parts.figures import draw_once
from viz.labels import distinct, shorten

LETTERS = 11


@draw_once
def token_costs(
    tokens: Sequence[str], costs: Mapping[str, Sequence[float]], *, height: int = 250
) -> alt.TopLevelMixin:
    """Draw a pair of bars for each token, in nats from 0; without `costs` the tokens alone, and a question mark.

    >>> token_costs(["a"], {"λ = 0": [7.0], "λ = 0.5": [1.0]}).to_dict()["layer"][0]["mark"]["type"]
    'bar'
    """
    names = [
        shorten(name, LETTERS) for name in distinct(token.removeprefix(" ") or token for token in tokens)
    ]
    rows = [
        {"token": names[place], "model": model, "cost": value}
        for model, values in (costs or {"": [0.0] * len(names)}).items()
        for place, value in enumerate(values)
    ]
    across = alt.Axis(labelAngle=-50, labelLimit=90, labelOverlap=False)
    scale = alt.Scale(zero=True) if costs else alt.Scale(domain=[0, 10])
    bar = vega.rows(
        rows,
        x=alt.X("token:N", sort=names, title=None, axis=across),
        y=alt.Y("cost:Q", title="−ln P, nats", scale=scale, axis=alt.Axis(tickCount=4)),
        tooltip=vega.tooltip("token:N", "model:N", ("cost:Q", "−ln P", ".3f")),
    ).mark_bar()
    if not costs:
        middle = {"x": alt.value(alt.expr("width / 2")), "y": alt.value(height / 2)}
        cover = vega.rows([{"at": 0}], **middle).mark_text(text="?", fontSize=40, color=theme.MUTED)
        return alt.layer(bar, cover).properties(width="container", height=height, padding=vega.AROUND)
    hues = vega.colour_channel("model:N", dict(zip(costs, theme.CATEGORICAL, strict=False)), vega.legend())
    beside = alt.XOffset("model:N", sort=list(costs))
    return alt.layer(bar.encode(xOffset=beside, color=hues)).properties(
        width="container", height=height, padding=vega.AROUND
    )
