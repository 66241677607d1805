"""One table of probabilities for all texts of three words out of three: its two factorizations.

p(x_1, x_2, x_3) = p(x_1) p(x_2 | x_1) p(x_3 | x_1, x_2) = p(x_3) p(x_2 | x_3) p(x_1 | x_2, x_3)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

Array = np.ndarray
WORDS = ("cat", "saw", "dog")
PLACES = 3
SET = ((0, 1, 2), 0.0276221835)
"""The text “cat saw dog” has this probability, that of the course's example; all others are random."""


def joint(draw: int = 0) -> Array:
    """Return a random probability of each text (first, second, third), with the one of SET at its index, together 1.

    >>> table = joint()
    >>> round(float(table.sum()), 12), float(table[0, 1, 2])
    (1.0, 0.0276221835)
    """
    n = len(WORDS)
    table = np.random.default_rng(draw).dirichlet(np.full(n**PLACES, 2.0)).reshape((n,) * PLACES)
    at, value = SET
    table[at] = 0
    table *= (1 - value) / table.sum()
    table[at] = value
    return table


@dataclass(frozen=True)
class Factors:
    """The conditionals of a text in the order in which a chain multiplies them, their product, and the probability in the
    table."""

    forward: tuple[float, ...]
    backward: tuple[float, ...]
    joint: float

    @property
    def products(self) -> tuple[float, float]:
        return float(np.prod(self.forward)), float(np.prod(self.backward))


def factors(table: Array, text: tuple[int, ...]) -> Factors:
    """Return both factorizations of the probability of a text (an index into WORDS for each position).

    >>> both = factors(joint(), (0, 1, 2))
    >>> [round(product, 10) for product in both.products]
    [0.0276221835, 0.0276221835]
    """
    return Factors(
        _conditionals(table, text),
        _conditionals(table.transpose(*reversed(range(table.ndim))), text[::-1]),
        float(table[text]),
    )


def _conditionals(table: Array, text: tuple[int, ...]) -> tuple[float, ...]:
    """Return p(x_1), p(x_2 | x_1), .. along the axes of a table."""
    found = []
    for place, word in enumerate(text):
        known = table.sum(tuple(range(place + 1, table.ndim)))[text[:place]]
        found.append(float(known[word] / known.sum()))
    return tuple(found)
