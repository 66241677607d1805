"""How the answers of a room are spread."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt

from viz.charts.parts import vega
from viz.charts.parts.kept import kept
from viz.theme import LIGHT


@kept
def answers_chart(names: Sequence[str], counts: Sequence[int], first: Sequence[int] = ()) -> vega.Layers:
    """One bar an answer, in the order in which they were offered, with its count; where the room voted twice, the `first` vote above it.

    >>> answers_chart(["yes", "no"], [3, 1]).layer[0].mark.type
    'bar'
    """
    votes = {"first vote": first, "second vote": counts} if first else {"": counts}
    rows = [
        {"answer": name, "answers": count, "place": place, "vote": vote}
        for vote, counted in votes.items()
        for place, (name, count) in enumerate(zip(names, counted, strict=True))
    ]
    color = alt.Color("vote:N", title=None, scale=alt.Scale(range=[LIGHT.muted, LIGHT.primary]))
    base = alt.Chart(alt.Data(values=rows)).encode(
        *([alt.YOffset("vote:N"), color] if first else []),
        y=alt.Y("answer:N", sort=alt.EncodingSortField("place"), title=None),
        x=alt.X("answers:Q", title="answers", axis=alt.Axis(tickMinStep=1)),
        tooltip=[
            alt.Tooltip("answer:N"),
            alt.Tooltip("answers:Q"),
            *([alt.Tooltip("vote:N")] if first else []),
        ],
    )
    bars = base.mark_bar() if first else base.mark_bar(color=LIGHT.primary)
    return alt.layer(bars, base.mark_text(align="left", dx=4).encode(text="answers:Q")).properties(
        height=(56 if first else 34) * len(names) + 20
    )
