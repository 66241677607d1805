"""The effect of a few steps of training: the loss at each position and of the pair, the largest probabilities, a text's probability so far.

Numbers and words in, an Altair chart out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from viz import theme
from viz.charts import marks
from viz.charts.parts import vega
from viz.charts.parts.figures import draw_once
from viz.course.transformer.training_and_inference.charts.teacher_forcing import END, Chart, Rows, token_name
from viz.labels import visible
from viz.number_text import number

Array = np.ndarray[Any, np.dtype[Any]]
TICKS = (1, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.001, 1e-4, 1e-5, 1e-6)


@draw_once
def losses(
    read: Sequence[str],
    wanted: Sequence[str],
    values: Array | None,
    before: Array | None = None,
    *,
    row: float = 0,
) -> Chart:
    """Draw the loss in nats at each position as a bar, labelled "input token → target token"; None: no bars yet.

    `before` adds the earlier loss as a pale bar above; `row` is the height of a position in pixels. Shapes: (m,).

    >>> losses(["START"], ["De"], np.array([0.5])).to_dict()["data"]["values"][0]["label"]
    '0.500'
    """
    names = [f"{token_name(a)} → {token_name(b)}" for a, b in zip(read, wanted, strict=True)]
    columns = (
        {"now": np.nan if values is None else values} if before is None else {"before": before, "now": values}
    )
    table = pd.DataFrame(columns, names, dtype=float)
    return marks.bars(
        table["now"] if before is None else table,
        [
            f"{loss:.3f}" if column == "now" else ""
            for _, row in table.iterrows()
            for column, loss in row.items()
        ],
        title="loss, −ln P(the wanted token)",
        highlighted=[] if before is None else ["now"],
        row=row,
    )


@draw_once
def curve(taken: Sequence[float], most: int, places: Array, *, height: int = 250) -> Chart:
    """Draw the mean loss before any step and after each, thick; thin lines are the single positions. Shapes: places (step + 1, m).

    >>> [row["y"] for row in curve([0.5, 0.4], 8, np.zeros((2, 1))).to_dict()["data"]["values"] if row["line"] == "mean"]
    [0.5, 0.4]
    """
    lines = {"mean": taken} | {f"position {t + 1}": losses for t, losses in enumerate(places.T)}
    return marks.lines(
        pd.DataFrame(lines), x="optimiser steps", title="loss", end=most, highlighted=["mean"], height=height
    )


def _bare(layers: Sequence[alt.Chart], height: int) -> Chart:
    return alt.layer(*layers).properties(
        width="container", height=height, padding=vega.AROUND, view=vega.BARE
    )


@draw_once
def products(
    ways: Sequence[tuple[str, Sequence[str], Sequence[float]]],
    others: Sequence[Sequence[float]] = (),
    *,
    told: bool = True,
    parts: int = 0,
) -> Chart:
    """Draw the probability of a text so far over the number of tokens written, on a logarithmic axis, for greedy search and for a better text.

    ways: (name, tokens, products), greedy first; `parts` is the first position where they differ. `others` are further texts, drawn pale.
    While the visitor has not answered yet (the first keyword is False), only the first step of every text is drawn.

    >>> chart = products([("greedy", ["a", "a"], [0.5, 0.2]), ("best", ["b", "b"], [0.4, 0.36])]).to_dict()
    >>> [(row["way"], row["P"]) for row in chart["layer"][0]["data"]["values"] if row["step"] == 2]
    [('greedy', 0.2), ('best', 0.36)]
    """
    upto = None if told else 1
    longest = max(len(values) for _, _, values in ways)
    low = min(float(min(values[:upto])) for values in (*(values for _, _, values in ways), *others))
    names = [name for name, _, _ in ways]
    aside = alt.ExprRef(f"width - max({9 * max(map(len, names)) + 16}, 0.17 * width)")
    steps = list(range(0, longest + 1, 1 + longest // 8))
    x = alt.X(
        "step:Q",
        title="tokens written",
        scale=vega.exact_scale(-0.03 * longest, longest, range=[0, aside]),
        axis=alt.Axis(grid=False, values=steps, format="d", labelOverlap=False),
    )
    ticks = [tick for tick in TICKS if tick >= low / 2]
    y = alt.Y(
        "P:Q",
        title="probability so far",
        scale=vega.exact_scale(low / 10**0.18, 10**0.12, type="log"),
        axis=alt.Axis(values=ticks, format="~g", domain=False, labelOverlap=True),
    )
    hue = vega.colour_channel("way:N", dict(zip(names, theme.CATEGORICAL[1:3], strict=False)))
    points = [
        {"way": name, "step": step, "P": float(p), "token": token}
        for name, tokens, values in ways
        for step, (token, p) in enumerate(zip(["start", *map(visible, tokens)], [1.0, *values], strict=True))
        if told or step < 2
    ]
    base = vega.rows(points, x=x, y=y, color=hue)
    told_of = vega.tooltip("way:N", "token:N", ("P:Q", "so far", ".4f"))
    layers = [
        base.mark_line(strokeWidth=3),
        base.mark_point(filled=True, opacity=1, size=64).encode(tooltip=told_of),
    ]
    if others:
        pale = [
            {"other": which, "step": step, "P": float(p)}
            for which, values in enumerate(others)
            for step, p in enumerate([1.0, *values[:upto]])
        ]
        each = vega.rows(pale, x=x, y=y, detail="other:N")
        layers.append(each.mark_line(strokeWidth=1.5, color=theme.MUTED, opacity=0.7))
    notes = _notes(ways, told, parts)
    for over in (True, False):
        found = [note for note in notes if note["over"] == over]
        side = 8 if over else -8
        turned: dict[str, Any] = (
            {"angle": 320, "align": "left" if over else "right", "dx": side, "baseline": "middle"}
            if longest > 6
            else {"dy": -side, "baseline": "bottom" if over else "top"}
        )
        if found:
            text = vega.rows(found, x=x, y=y, text="text:N", color=vega.raw_channel("colour:N"))
            layers.append(text.mark_text(fontSize=13 if longest > 4 else 16, **turned))
    for which, (name, _, values) in enumerate(ways if told else ()):
        over = values[-1] > ways[1 - which][2][-1]
        lines = (name, number(float(values[-1]), 3 if values[-1] < 0.1 else 2))
        put: dict[str, Any] = {
            "fontSize": 15,
            "align": "left",
            "dx": 12,
            "baseline": "bottom" if over else "top",
        }
        for row, text in enumerate(reversed(lines) if over else lines):
            end = [{"step": len(values), "P": float(values[-1]), "way": name, "text": text}]
            weight, dy = "normal" if text == name else 600, 2 + 23 * row
            layers.append(
                vega.rows(end, x=x, y=y, text="text:N", color=hue).mark_text(
                    **put, fontWeight=weight, dy=-dy if over else dy
                )
            )
    return _bare(layers, 300 if longest < 4 else 340)


def _notes(ways: Sequence[tuple[str, Sequence[str], Sequence[float]]], told: bool, parts: int) -> Rows:
    """Return the label of the token of each step, above the upper line and below the lower one; tokens that both lines share are labelled once."""
    found: Rows = []
    for which, (_, tokens, values) in enumerate(ways):
        for place in range(len(values) if told else 1):
            ends = place == len(tokens) - 1 and tokens[place] == END
            if (which and place < parts) or ends:
                continue
            other = ways[1 - which][2]
            over = values[place] >= other[min(place, len(other) - 1)]
            found.append(
                {
                    "step": place + 1,
                    "P": float(values[place]),
                    "text": token_name(tokens[place]),
                    "over": bool(over),
                    "colour": theme.CATEGORICAL[1 + which] if place >= parts else theme.TEXT,
                }
            )
    return found
