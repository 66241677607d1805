"""All heads of a model as one table: what each does, or how far each is from its counterpart in another checkpoint."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from viz import theme
from viz.charts import marks
from viz.charts.parts import vega
from viz.charts.parts.figures import draw_once
from viz.languages import _

ROW, AROUND = 26, 110
"""Pixels of a layer, and what the axes and the key need around them."""
LETTERS = 9
"""Heads of a layer up to which each cell has its number."""


@draw_once
def habits(cells: Sequence[tuple[int, int, str, float]], words: Sequence[str]) -> vega.Layers:
    """Draw a cell for each head, in its row the layer: its colour is its habit, the number how strong it is. Cells are (layer, head, word, score).

    A click selects the fields `place` (layer) and `at` (head). `words` lists what heads may do, so that a word has one colour everywhere.

    >>> habits([(0, 0, "next word", 0.5)], ["next word"]).to_dict()["layer"][0]["mark"]["type"]
    'rect'
    """
    here = {cell[2] for cell in cells}
    hues = {
        word: theme.CATEGORICAL[at % len(theme.CATEGORICAL)] for at, word in enumerate(words) if word in here
    }
    return _table(cells, "word", hues=hues, key=_("what it does"))


@draw_once
def distance_cells(cells: Sequence[tuple[int, int, str, float]]) -> vega.Layers:
    """Draw the same with a shade for the bits between a head and its counterpart, from 0 (the same) to 1.

    >>> distance_cells([(0, 0, "L0.H0", 0.5)]).to_dict()["layer"][0]["encoding"]["color"]["field"]
    'value'
    """
    return _table(cells, "score", key=_("bits apart, mean over all rows"))


def _table(cells: Sequence[tuple[int, int, str, float]], values: str, **more: Any) -> vega.Layers:
    table = pd.DataFrame(cells, columns=["layer", "head", "word", "score"])
    table["note"] = [f"L{layer}.H{head}: {word}, {score:.2f}" for layer, head, word, score in cells]
    table["label"] = [f"{score:.2f}" for score in table["score"]]
    grid = table.pivot(index="layer", columns="head")
    return marks.cells(
        pd.DataFrame(grid[values]),
        grid["label"].to_numpy().ravel().tolist() if grid[values].shape[1] <= LETTERS else None,
        x=_("head"),
        y=_("layer"),
        notes=grid["note"].to_numpy().ravel().tolist(),
        clickable=True,
        height=ROW * len(grid) + AROUND,
        **more,
    )
