"""The answer to a question as a span of the text: its start and its end, chosen together.

Devlin et al. 2019, 4.2: P(start = i) = softmax_i(w_s h_i), P(end = j) = softmax_j(w_e h_j), both over the positions of the
text, and the answer is the pair i <= j with the greatest w_s h_i + w_e h_j.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.errors import InputError
from core.maths import softmax

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class Spans:
    """The distributions of the start and of the end, (pos,) each, the score of each pair (start, end), -inf where the
    end is before the start, and the best pair.
    """

    start: Array
    end: Array
    scores: Array
    best: tuple[int, int]

    @property
    def probability(self) -> float:
        """Return P(start) P(end) of the best pair."""
        return float(self.start[self.best[0]] * self.end[self.best[1]])


def spans(starts: Array, ends: Array, allowed: Array | None = None) -> Spans:
    """Return the distributions and the best pair from the scores of starts and ends, both (pos,); nothing starts or ends
    where `allowed` (pos,) is False.

    >>> found = spans(np.array([0.0, 3.0, 1.0]), np.array([4.0, 0.0, 2.0]))
    >>> found.best, bool(found.scores[1, 0] == -np.inf)
    ((1, 2), True)

    Raises InputError for scores of different lengths, or when nothing is allowed.
    """
    starts, ends = np.asarray(starts, dtype=float), np.asarray(ends, dtype=float)
    allowed = np.ones(starts.shape, dtype=bool) if allowed is None else np.asarray(allowed, dtype=bool)
    if starts.ndim != 1 or starts.shape != ends.shape or starts.shape != allowed.shape:
        raise InputError(
            f"Scores of shapes {starts.shape} and {ends.shape}.",
            "Each position has one for the start and one for the end.",
            "Give both for the same text.",
        )
    if not allowed.any():
        raise InputError(
            "No position is allowed.",
            "An answer is a part of the text.",
            "Allow the positions of the text.",
        )
    held = [np.where(allowed, scores, -np.inf) for scores in (starts, ends)]
    pairs = np.where(
        np.triu(np.ones((len(starts), len(starts)), dtype=bool)), held[0][:, None] + held[1][None, :], -np.inf
    )
    first, last = np.unravel_index(int(pairs.argmax()), pairs.shape)
    return Spans(softmax(held[0]), softmax(held[1]), pairs, (int(first), int(last)))
