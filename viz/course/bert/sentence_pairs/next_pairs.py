"""The second game BERT learns by: two texts, and in half of the draws the second really goes on from the first.

Devlin et al. 2019, section 3.1. The texts are our own (`assets/texts/pairs_next.tsv`); a stranger is the second text of another pair.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core.data.texts import Neighbors, texts

SHARE = 0.5
"""So many of the draws follow."""
NEAR = 3.0
"""A count is expected within so many standard deviations; of 1,000 counts about 3 lie outside."""


@dataclass(frozen=True)
class Drawn:
    """Two texts, and whether the second goes on from the first."""

    first: str
    second: str
    follows: bool


@dataclass(frozen=True)
class Count:
    """How many of n draws follow, what is expected, and the standard deviation: n q and the root of n q (1 - q)."""

    n: int
    follow: int
    expected: float
    deviation: float

    @property
    def inside(self) -> bool:
        """Whether the count lies within NEAR deviations of what is expected."""
        return abs(self.follow - self.expected) <= NEAR * self.deviation + 1e-9


def judged() -> tuple[Neighbors, ...]:
    """All our pairs: each first text once with what goes on from it, and once with what goes on from another of its subject.

    >>> rows = judged()
    >>> len(rows), sum(row.follows for row in rows)
    (64, 32)
    """
    return texts("pairs_next")


def draws(number: int, n: int, share: float = SHARE) -> tuple[Drawn, ...]:
    """The first n draws of a lot; more of the same lot begin with these.

    >>> draws(0, 9)[:4] == draws(0, 4), {row.follows for row in draws(0, 9)}
    (True, {False, True})
    """
    rng = np.random.default_rng(number)
    kept = [row for row in judged() if row.follows]
    made = []
    for _ in range(n):
        at, away, by_lot = int(rng.integers(len(kept))), int(rng.integers(1, len(kept))), float(rng.random())
        follows = by_lot < share
        other = kept[at if follows else (at + away) % len(kept)]
        made.append(Drawn(kept[at].first, other.second, follows))
    return tuple(made)


def count(rows: Sequence[Drawn], share: float = SHARE) -> Count:
    """How many follow, beside what is expected.

    >>> count(draws(0, 100)).expected, count(draws(0, 100)).deviation
    (50.0, 5.0)
    """
    n = len(rows)
    return Count(n, sum(row.follows for row in rows), n * share, math.sqrt(n * share * (1 - share)))


def right(chances: np.ndarray, rows: Sequence[Neighbors | Drawn], cut: float) -> int:
    """How many pairs are told right if a P(IsNext) of at least `cut` counts as "follows".

    >>> right(np.array([0.6, 0.6]), [Drawn("a", "b", True), Drawn("a", "c", False)], 0.5)
    1
    """
    return sum((float(chance) >= cut) is row.follows for chance, row in zip(chances, rows, strict=True))


def preferred(chances: np.ndarray) -> tuple[int, int]:
    """Of how many first texts of `judged` the true second has the larger P(IsNext), and how many first texts there are."""
    found: dict[str, dict[bool, float]] = {}
    for chance, row in zip(chances, judged(), strict=True):
        found.setdefault(row.first, {})[row.follows] = float(chance)
    return sum(two[True] > two[False] for two in found.values()), len(found)
