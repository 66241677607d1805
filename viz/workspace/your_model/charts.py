"""All heads of a model as one table: what each does, or how far each is from its counterpart in another checkpoint."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt

from viz import theme
from viz.charts.parts import keys, vega
from viz.charts.parts.figures import draw_once

PICKED = "picked"
ROW, AROUND = 26, 110
"""Pixels of a layer, and what the axes and the key need around them."""
LETTERS = 9
"""Heads of a layer up to which each cell has its number."""


@draw_once
def habits(cells: Sequence[tuple[int, int, str, float]], words: Sequence[str]) -> vega.Layers:
    """Draw a cell for each head, in its row the layer: its colour is its habit, the number how strong it is. Cells are (layer, head, word, score).

    A click selects the fields `layer` and `head`. `words` lists what heads may do, so that a word has one colour everywhere.

    >>> habits([(0, 0, "next word", 0.5)], ["next word"]).to_dict()["layer"][0]["mark"]["type"]
    'rect'
    """
    here = [word for word in words if any(word == cell[2] for cell in cells)]
    hues = [theme.CATEGORICAL[words.index(word) % len(theme.CATEGORICAL)] for word in here]
    legend = alt.Legend(
        title=None,
        orient="top",
        columns=alt.ExprRef(f"({keys.ROOM}) < 400 ? 1 : 4"),
        labelLimit=0,
        symbolType="square",
    )
    colour = alt.Color("word:N", scale=alt.Scale(domain=here, range=hues), legend=legend)
    return _table(cells, colour, "what it does", alt.value(theme.BACKGROUND), "score")


@draw_once
def distance_cells(cells: Sequence[tuple[int, int, str, float]]) -> vega.Layers:
    """Draw the same with a shade for the bits between a head and its counterpart, from 0 (the same) to 1.

    >>> distance_cells([(0, 0, "L0.H0", 0.5)]).to_dict()["layer"][0]["encoding"]["color"]["field"]
    'score'
    """
    scale = alt.Scale(domain=[0, 1], range=theme.SEQUENTIAL, interpolate="rgb")
    legend = alt.Legend(
        title="bits apart, mean over all rows", orient="top", values=[0, 0.5, 1], titleLimit=400
    )
    colour = alt.Color("score:Q", scale=scale, legend=legend)
    ink = alt.condition(
        f"datum.score > {theme.INK_TURNS}", alt.value(theme.HIGH_INK), alt.value(theme.LOW_INK)
    )
    return _table(cells, colour, "head", ink, "bits")


def _table(
    cells: Sequence[tuple[int, int, str, float]], colour: alt.Color, called: str, ink: Any, number: str
) -> vega.Layers:
    layers, heads = 1 + max(cell[0] for cell in cells), 1 + max(cell[1] for cell in cells)
    rows = [
        {"layer": layer, "head": head, "name": f"L{layer}.H{head}", "word": word, "score": round(score, 4)}
        for layer, head, word, score in cells
    ]
    base = vega.rows(
        rows,
        x=alt.X("head:O", title="head", axis=vega.bare_axis(labelAngle=0, orient="bottom")),
        y=alt.Y("layer:O", title="layer", axis=vega.bare_axis()),
    )
    tips = vega.tooltip(("name:N", "head"), ("word:N", called), ("score:Q", number, ".2f"))
    picked = alt.selection_point(name=PICKED, fields=["layer", "head"], on="click", empty=False)
    cell = base.mark_rect(cursor="pointer", stroke=theme.BACKGROUND, strokeWidth=2, cornerRadius=3).encode(
        color=colour, tooltip=tips
    )
    drawn = [cell.add_params(picked)]
    if heads <= LETTERS:
        drawn.append(
            base.mark_text(fontSize=11, cursor="pointer").encode(
                text=alt.Text("score:Q", format=".2f"), color=ink, tooltip=tips
            )
        )
    return alt.layer(*drawn).properties(height=ROW * layers + AROUND, padding=vega.AROUND, view=vega.BARE)
