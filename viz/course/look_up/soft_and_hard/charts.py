"""Estimates with their error bars."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from viz import theme
from viz.charts import marks
from viz.charts.parts import vega
from viz.charts.parts.figures import draw_once
from viz.languages import _, mark
from viz.number_text import true_minus

Array = np.ndarray[Any, np.dtype[Any]]
CHANGE = mark("change of the reward by the patch's score")
TICK = "M-0.13,-1H0.13V1H-0.13Z"


@draw_once
def guesses(
    names: Sequence[str],
    exact: Array,
    rows: Sequence[tuple[str, Array, Array]],
    *,
    height: int = 380,
) -> vega.Layers:
    """Draw for each name, one row each, its exact number as a tick and the estimates of it as dots with bars of two standard errors to each side.

    rows: (name of the estimate, estimate, standard error), each (name,). Shapes: exact (name,).
    The horizontal axis is the change of the reward by a patch's score.

    >>> chart = guesses(["A1"], np.array([0.2]), [("plain", np.array([0.1]), np.array([0.05]))]).to_dict()
    >>> [(row["kind"], row["low"], row["high"]) for row in chart["data"]["values"]]
    [('plain', 0.0, 0.2), ('exact', 0.2, 0.2)]
    """
    x, kind, patch, change = _(CHANGE), _("kind"), _("patch"), _("change")
    every = [*rows, (_("exact"), exact, np.zeros(len(exact)))]
    table = pd.DataFrame(
        [
            (float(value), 2 * float(error), at, row, name)
            for row, (name, values, errors) in enumerate(every)
            for at, (value, error) in enumerate(zip(values, errors, strict=True))
        ],
        columns=[x, "error", "row", "estimate", kind],
    )
    exactly = table["estimate"] == len(rows)
    kinds = [name for name, *numbers in every]
    return marks.scatter(
        table.assign(
            low=table[x] - table["error"],
            high=table[x] + table["error"],
            row=table["row"] + (0.2 * (table["estimate"] - (len(rows) - 1) / 2)).where(~exactly, 0),
            **{
                patch: [names[at] for at in table["row"]],
                change: [
                    true_minus(
                        f"{value:.4f} ± {error:.4f}" if error else _("exactly {value:.4f}", value=value)
                    )
                    for value, error in zip(table[x], table["error"], strict=True)
                ],
            },
        ),
        x,
        "row",
        kind=kind,
        hues=dict(zip(kinds, [*theme.CATEGORICAL[1 : len(kinds)], theme.TEXT], strict=True)),
        shapes=["circle"] * len(rows) + [TICK],
        sizes=[60] * len(rows) + [460],
        notes=[patch, kind, change],
        rows=names,
        spread=("low", "high"),
        overlay=marks.rules({"": 0}),
        height=height,
    )
