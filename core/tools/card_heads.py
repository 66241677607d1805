"""The heads of a shipped model that are worth a row: each beside its control and beside an untrained copy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from core.analysis.heads.habits import HABIT_NAMES, LINKED, PATCH_CONTENT
from core.analysis.heads.head_file import HeadMeasures


@dataclass(frozen=True)
class HeadRow:
    """One head: the kind of attention, the measure and its score there, and the same score of the untrained copy.

    `control`: of a habit of place the score on shuffled words, of linked words what other words give them; None where the
    measure has none. `untrained_best` is that of the copy's best head, wherever it is.
    """

    attention: str
    measure: str
    layer: int
    head: int
    score: float
    control: float | None
    untrained: float
    untrained_best: float

    @property
    def name(self) -> str:
        return f"L{self.layer}.H{self.head}"

    @property
    def numbers(self) -> tuple[str, ...]:
        """Return as texts: the score, the control, the score of the same head of the untrained copy, and the best score of that copy."""
        return tuple(
            "" if number is None else f"{number:.2f}"
            for number in (self.score, self.control, self.untrained, self.untrained_best)
        )  # pyright: ignore

    @property
    def words(self) -> str:
        return HABIT_NAMES[self.measure]


def habits(surveyed: HeadMeasures) -> list[HeadRow]:
    """Return for each kind of attention the clearest head of each habit that some head has; those of linked words are in `linked`.

    An only head has its strongest habit, clear or not.
    """
    rows = (
        _head_row(surveyed, kind, heads.strongest(*place) if measure == "mixed" else measure, *place)
        for kind, heads in surveyed.trained.items()
        for measure, place in heads.best_head_by_habit().items()
        if measure != "mixed" or heads.shape == (1, 1)
    )
    return [row for row in rows if row.measure not in LINKED or row.control is None]


def linked(surveyed: HeadMeasures) -> list[HeadRow]:
    """Return for each group of linked words the head that attends to them most, compared with the other words."""
    return [_head_row(surveyed, kind, measure, *place) for kind, measure, place in _best_linked(surveyed)]


def _best_linked(surveyed: HeadMeasures) -> Iterator[tuple[str, str, tuple[int, int]]]:
    for kind, heads in surveyed.trained.items():
        for measure in LINKED:
            if measure in heads.scores and measure in heads.controls:
                excess = heads.scores[measure] - heads.controls[measure]
                layer, head = divmod(int(excess.argmax()), heads.shape[1])
                yield kind, measure, (layer, head)


def _head_row(surveyed: HeadMeasures, kind: str, measure: str, layer: int, head: int) -> HeadRow:
    heads, copy = surveyed.trained[kind], surveyed.untrained[kind].scores[measure]
    control = None if measure in PATCH_CONTENT else heads.controls.get(measure)
    here = (layer, head)
    return HeadRow(
        kind,
        measure,
        *here,
        float(heads.scores[measure][here]),
        None if control is None else float(control[here]),
        float(copy[here]),
        float(np.max(copy)),
    )
