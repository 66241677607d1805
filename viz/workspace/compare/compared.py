"""The panes of Compare side by side, all of them on common words or patches, and pairs of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np

from core.analysis.attention.align import Slot, Span
from core.analysis.heads.habits import HeadHabits
from core.analysis.heads.pattern_distance import PatternComparison, compare_patterns
from core.layers.score_terms import Terms, columns
from core.run import Run
from viz.instruments.kit import origin
from viz.instruments.picture import patches
from viz.labels import visible
from viz.languages import _
from viz.widgets.pins import View
from viz.workspace.shared import head_pills

LETTERS = "ABCD"


@dataclass(frozen=True)
class Axis:
    """The words (or pieces) along one side of a pattern; of pieces also where they stand in the text (None: in two texts)."""

    names: tuple[str, ...]
    spans: tuple[Span, ...]
    text: str | None


@dataclass(frozen=True)
class Pane:
    """One view with its pattern (query, key), and the heads it was chosen from by kind of attention."""

    view: View
    run: Run
    heads: Mapping[str, HeadHabits]
    weights: np.ndarray
    allowed: np.ndarray
    queries: Axis
    keys: Axis

    def tell(self) -> None:
        """Tell the pictures that follow what this pane shows."""
        view = self.view
        layer, head = (view.layer, view.head) if view.kind else (None, None)
        origin.tell_run(self.run, view.kind, layer, head, changed=view.edits)

    @property
    def is_picture(self) -> bool:
        """Return whether the pane is on a picture."""
        return patches.grid(self.run) is not None

    @property
    def columns(self) -> Terms:
        """Return the terms that take weight beside the keys: a learned sink, where this layer has one."""
        view, spec = self.view, self.run.model.spec
        return columns(spec.kind(view.kind).terms(self.run.model.network, view.layer)) if view.kind else ()

    @property
    def has_one_alignment(self) -> bool:
        """Return whether the model has one alignment and no heads."""
        return not head_pills.has_choice(self.heads)

    @property
    def name(self) -> str:
        """Return the name of the pane's head or alignment, with its measured habit."""
        if self.has_one_alignment:
            return self.view.model
        head = self.view.head
        habit = (
            f", {_(self.heads[self.view.kind].label(self.view.layer, head))}" if isinstance(head, int) else ""
        )
        return f"{self.view}{habit}"


@dataclass(frozen=True)
class Pair:
    """Two panes on common words: their difference where both have the words, and how alike they are."""

    a: int
    b: int
    difference: np.ndarray
    compared: np.ndarray
    likeness: PatternComparison

    @property
    def name(self) -> str:
        return f"{LETTERS[self.a]} \u2212 {LETTERS[self.b]}"

    @cached_property
    def order(self) -> list[int]:
        """Return the rows that both have, those that differ most first."""
        bits = self.likeness.rows
        return sorted(np.flatnonzero(np.isfinite(bits)).tolist(), key=lambda row: -bits[row])


@dataclass(frozen=True)
class Compared:
    """All panes on common rows and columns; a slot holds the places of its words in each pane."""

    panes: tuple[Pane, ...]
    rows: tuple[Slot, ...]
    columns: tuple[Slot, ...]
    weights: tuple[np.ndarray, ...]
    allowed: tuple[np.ndarray, ...]

    def pairs(self) -> tuple[Pair, ...]:
        return tuple(self.pair(a, b) for a, b in combinations(range(len(self.panes)), 2))

    def pair(self, a: int, b: int) -> Pair:
        """Return the cells that either may look at, in rows that both have. Weight on a word that the other lacks counts as different."""
        both = np.array([bool(slot[a]) and bool(slot[b]) for slot in self.rows], dtype=bool)
        cells = (self.allowed[a] | self.allowed[b]) & both[:, None]
        shared = np.array([bool(slot[a]) and bool(slot[b]) for slot in self.columns], dtype=bool)
        return Pair(
            a,
            b,
            self.weights[a] - self.weights[b],
            cells & shared,
            compare_patterns(self.weights[a], self.weights[b], cells),
        )

    def lone(self, *panes: int) -> tuple[list[int], list[int]]:
        """Return the rows and columns whose word one of these panes lacks."""
        rows, columns = (
            [place for place, slot in enumerate(slots) if not all(slot[pane] for pane in panes)]
            for slots in (self.rows, self.columns)
        )
        return rows, columns

    def word(self, side: str, place: int, pane: int) -> str:
        """Return the word of one pane at a row ("queries") or a column ("keys"); in brackets the other's, where it has none."""
        slots = self.rows if side == "queries" else self.columns
        found = _joined_names(getattr(self.panes[pane], side), slots[place][pane])
        if found:
            return found
        other = next(k for k, places in enumerate(slots[place]) if places)
        return f"({_joined_names(getattr(self.panes[other], side), slots[place][other])})"

    def visible_word(self, side: str, place: int, pane: int) -> str:
        """Return the same for a sentence: white space visible, patches by their positions."""
        word = self.word(side, place, pane)
        return word if self.panes[pane].is_picture else visible(word)

    def words(self, side: str, pane: int) -> list[str]:
        slots = self.rows if side == "queries" else self.columns
        return [self.word(side, place, pane) for place in range(len(slots))]


def _joined_names(axis: Axis, places: Sequence[int]) -> str:
    return "".join(axis.names[place] for place in places)
