"""What each token of a text costs two models that were tuned differently: bars side by side, minus ln P."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import altair as alt

from viz import theme
from viz.charts.parts.kept import kept
from viz.labels import distinct, shorten

LETTERS = 11


@kept
def token_costs(
    tokens: Sequence[str], costs: Mapping[str, Sequence[float]], *, height: int = 250
) -> alt.TopLevelMixin:
    """A pair of bars a token, in nats from 0; without `costs` the tokens alone, and a question mark.

    >>> token_costs(["a"], {"λ = 0": [7.0], "λ = 0.5": [1.0]}).to_dict()["layer"][0]["mark"]["type"]
    'bar'
    """
    names = [
        shorten(name, LETTERS) for name in distinct(token.removeprefix(" ") or token for token in tokens)
    ]
    rows = [
        {"token": names[place], "model": model, "cost": value}
        for model, values in costs.items()
        for place, value in enumerate(values)
    ]
    told = [{"token": name, "model": "", "cost": 0.0} for name in names]
    models = list(costs)
    x = alt.X(
        "token:N", sort=names, title=None, axis=alt.Axis(labelAngle=-50, labelLimit=90, labelOverlap=False)
    )
    y = alt.Y(
        "cost:Q",
        title="−ln P, nats",
        scale=alt.Scale(zero=True) if costs else alt.Scale(domain=[0, 10]),
        axis=alt.Axis(tickCount=4),
    )
    base = alt.Chart(alt.Data(values=rows or told)).encode(
        x=x,
        y=y,
        tooltip=[
            alt.Tooltip("token:N"),
            alt.Tooltip("model:N"),
            alt.Tooltip("cost:Q", title="−ln P", format=".3f"),
        ],
    )
    bar = (
        base.mark_bar()
        if not costs
        else base.mark_bar().encode(
            xOffset=alt.XOffset("model:N", sort=models),
            color=alt.Color(
                "model:N",
                scale=alt.Scale(domain=models, range=[theme.CATEGORICAL[hue] for hue in range(len(models))]),
                legend=alt.Legend(title=None, orient="top", direction="horizontal"),
            ),
        )
    )
    layers: list[alt.Chart] = [bar]
    if not costs:
        layers.append(
            alt.Chart(alt.Data(values=[{"at": 0}]))
            .mark_text(text="?", fontSize=40, color=theme.MUTED)
            .encode(x=alt.value(alt.expr("width / 2")), y=alt.value(height / 2))
        )
    return alt.layer(*layers).properties(width="container", height=height)
