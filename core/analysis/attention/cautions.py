"""Reasons not to read too much into one attention picture, each given only where the numbers call for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from core.analysis.attention.measures import entropy

if TYPE_CHECKING:
    from jaxtyping import Bool, Float


Array = np.ndarray
Kind = Literal["sink", "separator", "even", "itself", "few"]

SINK_SHARE = 0.5  # this much of all weight on one place that is the same for every row
UNIFORM_ENTROPY = 0.95  # entropy of a row, as a share of an even look's
MIN_KEYS = 2  # a row that may look at fewer places has none


@dataclass(frozen=True)
class Caution:
    """One reason for care, with the share that calls for it (of weight, or of uniform attention's entropy)."""

    kind: Kind
    share: float


def cautions(
    weights: Float[Array, "query key"],
    allowed: Bool[Array, "query key"],
    row: int,
    marks: Sequence[int] = (),
    *,
    same_text: bool,
) -> tuple[Caution, ...]:
    """Return the reasons for care with a head's pattern and its row `row`.

    same_text: queries and keys are positions of one text (`core.models.Kind.one_text`); a square map of two texts is not that.

    - "sink": the rows that have a choice attend to the first position, on average with half of their weight or more.
    - "separator": they attend to the keys at `marks` (added to the text, as [SEP] is) other than the first.
    - "even": the row attends near-uniformly to all it may attend to: it distinguishes nothing.
    - "itself": the row attends mostly to its own position, which only attention within one text has.
    - "few": the row may attend to one position only, so its weight of 100% is no evidence.

    >>> cautions(np.array([[1.0, 0.0], [0.9, 0.1]]), np.tri(2, dtype=bool), 0, same_text=True)
    (Caution(kind='sink', share=0.9), Caution(kind='few', share=1.0))
    """
    free = allowed.sum(1) >= MIN_KEYS
    found: list[Caution] = []
    if free.any() and weights.shape[1]:
        mean = weights[free].mean(0)
        later = [place for place in marks if place > 0]
        rests = Caution("sink", float(mean[0])), Caution("separator", float(mean[later].sum()))
        found += [caution for caution in rests if caution.share >= SINK_SHARE]
    if not 0 <= row < len(weights):
        return tuple(found)
    seen = int(allowed[row].sum())
    if seen == 1:
        return (*found, Caution("few", float(weights[row].sum())))
    if seen >= MIN_KEYS:
        share = float(entropy(weights[row]) / np.log(seen))
        if share >= UNIFORM_ENTROPY:
            found.append(Caution("even", share))
        if same_text and weights[row, row] >= SINK_SHARE:
            found.append(Caution("itself", float(weights[row, row])))
    return tuple(found)
