"""An example in two steps in which the most probable first word does not begin the most probable sentence.

First step .5 / .4 / .1; then at best .4 after the first word, .9 after the second: always taking the most probable
word gives .5 * .4 = 0.20, the best sentence has .4 * .9 = 0.36. Several documents take the word of largest
probability for the next word; that is one choice among others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from core.decoding.decode import write
from core.decoding.prompt import Prompt
from core.decoding.stepper import StepOutputs
from core.decoding.strategies import Strategy
from core.models import Kind

Words = tuple[int, ...]
TREE: Mapping[Words, Sequence[float]] = {
    (): (0.5, 0.4, 0.1),
    (0,): (0.4, 0.3, 0.3),
    (1,): (0.05, 0.9, 0.05),
    (2,): (0.4, 0.3, 0.3),
}


@dataclass(frozen=True)
class Letters:
    """Names for the tokens of a small example: a, b, c, ..."""

    alphabet: str = "abcdefghijklmnopqrstuvwxyz"

    def token(self, index: int) -> str:
        return self.alphabet[index]

    def decode(self, ids: Sequence[int]) -> str:
        return "".join(map(self.token, ids))


class LookupModel:
    """A reader in place of a network: it looks up the probabilities of the next word in `tree`, by the words so far."""

    kinds: tuple[Kind, ...] = ()
    nbytes = 0

    def __init__(self, tree: Mapping[Words, Sequence[float]] = TREE) -> None:
        self._tree = tree
        self._rows: list[Words] = []

    def read(self, new: Sequence[Sequence[int]]) -> StepOutputs:
        self._rows = [(*old, *row) for old, row in zip(self._rows or [()] * len(new), new, strict=True)]
        with np.errstate(divide="ignore"):
            return StepOutputs(np.log(np.array([self._tree[row] for row in self._rows], dtype=float)), {}, {})

    def keep(self, rows: Sequence[int]) -> None:
        self._rows = [self._rows[row] for row in rows]


def write_sentence(
    strategy: Strategy, n_words: int = 2, tree: Mapping[Words, Sequence[float]] = TREE
) -> tuple[str, float]:
    """Return the sentence that a strategy writes, and its probability.

    >>> from core.decoding import Beam, Greedy
    >>> write_sentence(Greedy()), write_sentence(Beam(width=2))
    (('aa', 0.2), ('bb', 0.36))
    """
    *_, last = write(LookupModel(tree), Prompt((), Letters(), room=n_words + 1), strategy, n_words, {})
    return last.text, round(probability(last.ids, tree), 10)


def best_sentence(n_words: int = 2, tree: Mapping[Words, Sequence[float]] = TREE) -> tuple[str, float]:
    """Return the most probable sentence and its probability, found by trying all sentences.

    >>> best_sentence()
    ('bb', 0.36)
    """
    every = product(range(len(tree[()])), repeat=n_words)
    found = max(every, key=lambda ids: probability(ids, tree))
    return Letters().decode(found), round(probability(found, tree), 10)


def probability(ids: Sequence[int], tree: Mapping[Words, Sequence[float]] = TREE) -> float:
    """Return the product of the probabilities of the words, each given those before it."""
    return float(np.prod([tree[tuple(ids[:n])][word] for n, word in enumerate(ids)]))
