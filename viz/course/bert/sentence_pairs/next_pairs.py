"""Pairs of BERT's second objective: in half of the samples the second text really follows the first.

Devlin et al. 2019, section 3.1. The texts are our own (`assets/texts/pairs_next.tsv`); otherwise the second text is that of
another pair.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core.data.texts import Neighbors, texts

SHARE = 0.5
"""Share of the samples in which the second text follows."""
NEAR = 3.0
"""A count is expected within this number of standard deviations; of 1,000 counts about 3 are outside."""


@dataclass(frozen=True)
class SampledPair:
    """Two texts, and whether the second follows the first."""

    first: str
    second: str
    follows: bool


@dataclass(frozen=True)
class Count:
    """How many of n samples follow, the expected number, and the standard deviation: n q and the root of n q (1 - q)."""

    n: int
    follow: int
    expected: float
    deviation: float

    @property
    def inside(self) -> bool:
        """Return whether the count is within NEAR standard deviations of the expected one."""
        return abs(self.follow - self.expected) <= NEAR * self.deviation + 1e-9


def labelled_pairs() -> tuple[Neighbors, ...]:
    """Return all our pairs: each first text once with the text that follows it, and once with one that follows another of its
    subject.

    >>> rows = labelled_pairs()
    >>> len(rows), sum(row.follows for row in rows)
    (64, 32)
    """
    return texts("pairs_next")


def draws(number: int, n: int, share: float = SHARE) -> tuple[SampledPair, ...]:
    """Return the first n samples of a seed; more samples of the same seed begin with these.

    >>> draws(0, 9)[:4] == draws(0, 4), {row.follows for row in draws(0, 9)}
    (True, {False, True})
    """
    rng = np.random.default_rng(number)
    kept = [row for row in labelled_pairs() if row.follows]
    made = []
    for _ in range(n):
        at, away, by_lot = int(rng.integers(len(kept))), int(rng.integers(1, len(kept))), float(rng.random())
        follows = by_lot < share
        other = kept[at if follows else (at + away) % len(kept)]
        made.append(SampledPair(kept[at].first, other.second, follows))
    return tuple(made)


def count(rows: Sequence[SampledPair], share: float = SHARE) -> Count:
    """Count the samples that follow, beside the expected number.

    >>> count(draws(0, 100)).expected, count(draws(0, 100)).deviation
    (50.0, 5.0)
    """
    n = len(rows)
    return Count(n, sum(row.follows for row in rows), n * share, math.sqrt(n * share * (1 - share)))


def right(chances: np.ndarray, rows: Sequence[Neighbors | SampledPair], cut: float) -> int:
    """Count the pairs that are classified correctly if a P(IsNext) of at least `cut` counts as "follows".

    >>> right(np.array([0.6, 0.6]), [SampledPair("a", "b", True), SampledPair("a", "c", False)], 0.5)
    1
    """
    return sum((float(chance) >= cut) is row.follows for chance, row in zip(chances, rows, strict=True))


def preferred(chances: np.ndarray) -> tuple[int, int]:
    """Count the first texts of `labelled_pairs` whose true second text has the larger P(IsNext), and return their number, too."""
    found: dict[str, dict[bool, float]] = {}
    for chance, row in zip(chances, labelled_pairs(), strict=True):
        found.setdefault(row.first, {})[row.follows] = float(chance)
    return sum(two[True] > two[False] for two in found.values()), len(found)
