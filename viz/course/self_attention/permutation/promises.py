"""Claims of the exhibit on another order of the words, each a condition on its run."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from core.maths import max_difference
from viz.course.self_attention.permutation.maths import CHANGES, MOVES, SAME, Measured, same_past
from viz.course.self_attention.permutation.params import Params

Promises = Mapping[str, Callable[[Params, Measured], bool]]


def turned(data: Measured) -> float:
    """Return the largest difference of the new weights from the old ones with rows and columns reordered."""
    before, after = data.patterns
    at = list(data.order)
    return max_difference(after, before[:, at][:, :, at])


GUESS: Promises = {
    "each row moves along with its word, and position by position the rows differ": lambda params, data: (
        data.plain.kind == MOVES and data.plain.in_place > 0.05
    ),
}
WEIGHTS: Promises = {
    "rows and columns of the weights move, and nothing else": lambda params, data: turned(data) < SAME,
    "so it is through all layers, up to the rounding of 32 bits": lambda params, data: data.all_layers < 1e-4,
}
POSITIONS: Promises = {
    "with positions every row changes, also that of a word that stays": lambda params, data: (
        data.placed.kind == CHANGES and not data.placed.unchanged.any()
    ),
}
MEAN: Promises = {
    "the mean is invariant without positions, and not with them": lambda params, data: (
        data.plain.pooled_largest < SAME < 1e-3 < data.placed.pooled_largest
    ),
}
SET: Promises = {
    "a word that is said twice counts twice; if every word is, nothing changes": lambda params, data: (
        bool(data.repetition.unchanged.all())
        if data.twice == len(data.order)
        else float(data.repetition.change[: len(data.order)].max()) > 0.01
    ),
}
MASK: Promises = {
    "under a mask the rows with the same past keep their numbers, and no others": lambda params, data: (
        data.causal.unchanged.tolist() == same_past(data.pieces, data.order)
    ),
    "some rows change": lambda params, data: not data.causal.unchanged.all(),
}
