"""One head: its reference and name, and its weights as the pages of the workspace show them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

import numpy as np

from core.run import Attention, Run
from viz.instruments import HeadContext, clicked_head, make_stack
from viz.labels import head_name, shorten
from viz.memo import remembered
from viz.workspace.shared.attention_kinds import SHORT, crosses, is_summary
from viz.workspace.shared.toy_models import KIND

GROUP = "look"
"""The group of instruments that share the pointer and the head that is opened in the grid."""
BEGINNING = 24
"""Letters of a sentence that stand for it along an axis."""


@dataclass(frozen=True)
class HeadRef:
    """One head: the kind of attention, the layer, the head."""

    kind: str
    layer: int
    head: int

    def __str__(self) -> str:
        return head_name(self.layer, self.head)


def kind_mark(place: HeadRef, kinds: Collection[str]) -> str:
    """Return the prefix of a head's name where the model has several kinds: L2.H1 of one is not L2.H1 of another."""
    return SHORT[place.kind] if len(kinds) > 1 else ""


def head_label(place: HeadRef, kinds: Collection[str]) -> str:
    return head_name(place.layer, place.head, kind_mark(place, kinds))


@dataclass(frozen=True)
class HeadView:
    """One head, or the heads of a layer joined, as (query, key): for heatmap, lines and text."""

    attention: Attention
    layer: int
    head: int
    name: str

    @property
    def weights(self) -> np.ndarray:
        return self.attention.weights[self.layer, self.head]

    @property
    def allowed(self) -> np.ndarray:
        return self.attention.allowed[self.layer, min(self.head, self.attention.allowed.shape[1] - 1)]


def attention_of(run: Run, kind: str, by: str = "word") -> Attention:
    """Return the patterns as the pages show them: rows of cross-attention are named by the word they write.

    A copier writes its letters without spaces, as one word: there each token is a word of its own.
    """
    by = "token" if KIND.get(run.model.name) == "copy" else by
    return remembered(
        run, (kind, by), lambda: _with_short_names(run.attention(kind, by=by, writing=crosses(kind)))
    )


def _with_short_names(attention: Attention) -> Attention:
    """Shorten the names of sentences to their beginnings."""
    if not is_summary(attention.kind):
        return attention
    queries = tuple(shorten(name, BEGINNING) for name in attention.queries)
    keys = tuple(shorten(name, BEGINNING) for name in attention.keys)
    return replace(attention, queries=queries, keys=keys)


def grid_key(kind: str) -> str:
    return f"look.grid.{kind}"


def head_context(attention: Attention, place: HeadRef) -> HeadContext | None:
    """Return this head among all of its kind, for pictures that follow the grid; None for texts too long to send all heads."""
    stack = remembered(attention, "stack", lambda: make_stack(attention.weights, attention.allowed))
    if stack is None:
        return None
    return HeadContext(stack, (place.layer, place.head), clicked_head(grid_key(place.kind))[1])


def target_words(attention: Attention) -> list[tuple[str, int]]:
    """Return the words of the picture's lower (or only) row, each with its row of weights."""
    return [(attention.queries[row], row) for row in attention.rows]
