"""The effect of a few steps of training: the loss at each position and of the pair, the largest probabilities, a text's probability so far.

Numbers and words in, an Altair chart out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from viz.charts import marks
from viz.charts.parts.figures import draw_once
from viz.course.transformer.training_and_inference.charts.teacher_forcing import END, Chart, token_name
from viz.labels import distinct
from viz.number_text import number

Array = np.ndarray[Any, np.dtype[Any]]


@draw_once
def losses(
    read: Sequence[str],
    targets: Sequence[str],
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
    names = [f"{token_name(a)} → {token_name(b)}" for a, b in zip(read, targets, strict=True)]
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
def curve(means: Sequence[float], most: int, places: Array, *, height: int = 250) -> Chart:
    """Draw the mean loss before any step and after each, thick; thin lines are the single positions. Shapes: places (step + 1, m).

    >>> [row["y"] for row in curve([0.5, 0.4], 8, np.zeros((2, 1))).to_dict()["data"]["values"] if row["line"] == "mean"]
    [0.5, 0.4]
    """
    lines = {"mean": means} | {f"position {t + 1}": losses for t, losses in enumerate(places.T)}
    return marks.lines(
        pd.DataFrame(lines), x="optimiser steps", title="loss", end=most, highlighted=["mean"], height=height
    )


@draw_once
def products(
    ways: Sequence[tuple[str, Sequence[str], Sequence[float]]],
    others: Sequence[Sequence[float]] = (),
    *,
    covered: bool = False,
    parts: int = 0,
) -> Chart:
    """Draw the probability of a text so far over the number of tokens written, on a logarithmic axis, for greedy search and for a better text.

    ways: (name, tokens, products), greedy first; `parts` is the first position where they differ. `others` are further texts, drawn pale.
    `covered`: only the first step of every text is drawn.

    >>> chart = products([("greedy", ["a", "a"], [0.5, 0.2]), ("best", ["b", "b"], [0.4, 0.36])]).to_dict()
    >>> [(row["line"], row["y"]) for row in chart["data"]["values"] if row["x"] == 2]
    [('greedy 0.20', 0.2), ('best 0.36', 0.36)]
    """
    steps = range(1 + max(len(values) for _, _, values in ways))
    names = distinct(tokens[0] for _, tokens, _ in ways)
    if not covered:
        names = [f"{name} {number(values[-1], 3 if values[-1] < 0.1 else 2)}" for name, _, values in ways]
    lines = dict(zip(names, (values for _, _, values in ways), strict=True))
    lines |= {f"text {3 + at}": values for at, values in enumerate(others)}
    table = pd.DataFrame({name: pd.Series([1.0, *values]) for name, values in lines.items()}, steps)
    labels = pd.DataFrame("", steps, list(lines))
    for name, (_, tokens, _) in zip(names, ways, strict=True):
        for at, token in enumerate(tokens):
            if not covered and token != END and (name == names[0] or at >= parts):
                labels.loc[at + 1, name] = token_name(token)
    return marks.lines(
        (table.loc[:1].reindex(steps) if covered else table).rename(str),
        labels.to_numpy().ravel().tolist(),
        x="tokens written",
        title="probability so far",
        form=",.4~g",
        hues=[1, 2, *[0] * len(others)],
        highlighted=names,
        scales=("linear", "log"),
        legend=False,
        height=300 if len(steps) < 5 else 340,
    )
