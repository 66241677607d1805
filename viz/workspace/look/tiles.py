"""Every head of a kind as a tile of the grid of heads, and by what the tiles can be ordered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from core.analysis.attention.measures import entropy
from core.analysis.heads.habits import HABIT_NAMES, HeadHabits
from core.run import Attention, Run
from viz.instruments import clicked_head, grid_packet, show_grid
from viz.instruments.kit.picture import lines as python_lines
from viz.languages import _
from viz.memo import remembered
from viz.workspace.shared.head_pills import select_head
from viz.workspace.shared.head_ref import GROUP, HeadRef, attention_of, grid_key, kind_mark

MANY = 96
"""More heads than these are one map of the model, by layers: the clearest first would be screens of one habit."""


def heads_grid(run: Run, measured: Mapping[str, HeadHabits], place: HeadRef) -> None:
    """Draw every head of this kind as a thumbnail, the clearest of each habit first; a click swaps the picture above."""
    attention, heads, key = attention_of(run, place.kind), measured[place.kind], grid_key(place.kind)
    tiles = remembered(heads, "tiles", lambda: _tiles(heads))
    packet = remembered(
        attention,
        "grid",
        lambda: grid_packet(
            attention.weights,
            before=kind_mark(place, measured),
            kinds=tiles.kinds,
            scores=tiles.scores,
            kind_order=tiles.habits,
            measures=measures(attention),
            allowed=attention.allowed[0, 0],
            order=None if len(tiles.clearest) > MANY else tiles.clearest,
            order_name=_("the clearest first"),
            group=GROUP,
            url="look.order",
            place=key,
            python=python_lines(run, "grid", kind=place.kind),
            queries=attention.queries,
            keys=attention.keys,
        ),
    )
    show_grid(
        packet,
        key=key,
        selected=(place.layer, place.head),
        echo=clicked_head(key)[1],
        on_choice=partial(_open, place.kind),
    )


def _open(kind: str) -> None:
    """Choose the head of the tile that was clicked for the run that follows."""
    at = clicked_head(grid_key(kind))[0]
    if at is not None:
        select_head(HeadRef(kind, *at))


@dataclass(frozen=True)
class Tiles:
    """The battery's measures of all heads of a kind: (layer, head) tables, the habits and the heads with the clearest first."""

    kinds: list[list[str]]
    scores: list[list[float]]
    habits: list[str]
    clearest: list[tuple[int, int]]


def _tiles(heads: HeadHabits) -> Tiles:
    layers, n_heads = heads.shape
    places, habits = [(i, j) for i in range(layers) for j in range(n_heads)], list(heads.best_head_by_habit())
    return Tiles(
        [[_(heads.label(i, j)) for j in range(n_heads)] for i in range(layers)],
        [[heads.score(i, j) for j in range(n_heads)] for i in range(layers)],
        [_(HABIT_NAMES[habit]) for habit in habits],
        sorted(places, key=lambda at: (habits.index(heads.habit(*at)), -heads.score(*at))),
    )


def measures(attention: Attention) -> dict[str, np.ndarray]:
    """Return figures of this sentence by which the tiles can be ordered and coloured."""
    w = attention.weights
    return {
        _("entropy here, bits"): entropy(w).mean(-1) / np.log(2),
        _("largest weight here"): w.max((-1, -2)),
        _("on the first token here"): w[..., 0].mean(-1),
    }
