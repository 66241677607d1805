"""BERT's masked-word objective: some tokens are chosen, most of them are masked, and only the chosen ones are predicted.

15% are chosen; of these 80% become [MASK], 10% a random word, 10% stay as they are (Devlin et al. 2019). Also the
numbers of its training: the learning rate over the steps, and how much is read.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.data.passages import MASKED, REDRAWN, SHARE, hide

Ids = NDArray[np.int64]
Array = NDArray[np.float64]
NOT_CHOSEN, HIDDEN, CHANGED, LEFT = range(4)
FATES = ("not chosen", "[MASK]", "a random word", "left as it is")
IGNORED = -100
"""The label of a token that is not predicted."""
NEAR = 3.0
"""A count is expected within this number of standard deviations; of 1,000 counts about 3 are outside."""


@dataclass(frozen=True)
class Rates:
    """The share of tokens that are chosen, and of those the shares that become [MASK] and a random word."""

    share: float = SHARE
    masked: float = MASKED
    redrawn: float = REDRAWN

    @property
    def unchanged(self) -> float:
        """Return the share of the chosen tokens that stay as they are."""
        return max(0.0, 1.0 - self.masked - self.redrawn)

    @property
    def parts(self) -> Array:
        """Return the probabilities of the replacement of a chosen token: [MASK], a random word, itself."""
        return np.array([self.masked, 1 - self.masked - self.unchanged, self.unchanged])

    def n_chosen(self, n: int) -> int:
        """Return the number of chosen words of n: their share, rounded, at least one.

        >>> Rates().n_chosen(20), Rates().n_chosen(3)
        (3, 1)
        """
        return min(n, max(1, int(np.rint(self.share * n))))


@dataclass(frozen=True, eq=False)
class Draw:
    """One sample: the input, the replacement of each token (FATES), the labels (-100: none). All (pos,)."""

    read: Ids
    fate: Ids
    labels: Ids


@dataclass(frozen=True, eq=False)
class Count:
    """Many samples of one text: how often each token was chosen (pos,), the replacements of the chosen ones (3,), both expected
    with a standard deviation."""

    n_draws: int
    chosen_counts: Ids
    fates: Ids
    chosen_expected: Array
    chosen_deviation: Array
    fates_expected: Array
    fates_deviation: Array

    @property
    def total(self) -> int:
        """Return the number of chosen tokens in all samples."""
        return int(self.chosen_counts.sum())

    @property
    def outside(self) -> int:
        """Count the counts that are more than NEAR standard deviations from the expected ones."""
        far = [
            np.abs(found - wanted) > NEAR * deviation + 1e-9
            for found, wanted, deviation in (
                (self.chosen_counts, self.chosen_expected, self.chosen_deviation),
                (self.fates, self.fates_expected, self.fates_deviation),
            )
        ]
        return int(sum(one.sum() for one in far))


def draws(
    ids: Ids,
    special: NDArray[np.bool_],
    n: int,
    number: int,
    *,
    mask: int,
    drawable: Ids,
    rates: Rates = Rates(),
) -> tuple[Ids, Ids]:
    """Sample n times for one text (pos,): the input and the replacement of each token, both (draw, pos). The same number
    samples the same.

    A random word that happens to be the word itself counts as left as it is.
    """
    rows = np.repeat(ids[None], n, axis=0)
    read, chosen = hide(
        rows,
        np.repeat(special[None], n, axis=0),
        np.random.default_rng(number),
        mask=mask,
        drawable=drawable,
        share=rates.share,
        masked=rates.masked,
        redrawn=1 - rates.masked - rates.unchanged,
    )
    fate = np.where(read == mask, HIDDEN, np.where(read != rows, CHANGED, LEFT))
    return read, np.where(chosen, fate, NOT_CHOSEN)


def draw(ids: Ids, special: NDArray[np.bool_], number: int, **how: Any) -> Draw:
    """Return one sample of a text (pos,).

    >>> one = draw(np.arange(9), np.arange(9) < 2, 0, mask=99, drawable=np.arange(50, 60), rates=Rates(masked=1.0, redrawn=0.0))
    >>> one.labels[one.labels >= 0] == np.flatnonzero(one.read == 99)
    array([ True])
    """
    read, fate = (found[0] for found in draws(ids, special, 1, number, **how))
    return Draw(read, fate, np.where(fate != NOT_CHOSEN, ids, IGNORED))


def count(
    ids: Ids,
    special: NDArray[np.bool_],
    n: int,
    number: int,
    *,
    rates: Rates = Rates(),
    **how: Any,
) -> Count:
    """Count n samples, beside the expected counts.

    Of m words k are chosen in each draw, so each word n k / m times, with variance n (k/m)(1 - k/m); of the n k chosen
    tokens a share q becomes [MASK], with variance n k q (1 - q).
    """
    _, fate = draws(ids, special, n, number, rates=rates, **how)
    m = int((~special).sum())
    k, free = rates.n_chosen(m), (~special).astype(np.float64)
    p, parts, total = k / m, rates.parts, n * k
    return Count(
        n,
        (fate != NOT_CHOSEN).sum(0),
        np.array([(fate == kind).sum() for kind in (HIDDEN, CHANGED, LEFT)]),
        n * p * free,
        math.sqrt(n * p * (1 - p)) * free,
        total * parts,
        np.sqrt(total * parts * (1 - parts)),
    )


def rate(step: float, peak: float = 1e-4, warm_up: int = 10_000, steps: int = 1_000_000) -> float:
    """Return the learning rate of BERT: a linear rise for `warm_up` steps, then a linear fall to 0 at the last.

    >>> [rate(step) for step in (5_000, 10_000, 505_000, 1_000_000)]
    [5e-05, 0.0001, 5e-05, 0.0]
    """
    up = step / warm_up if warm_up else 1.0
    down = (steps - step) / (steps - warm_up) if steps > warm_up else float(step < steps)
    return peak * max(0.0, min(up, down))


def tokens_a_step(sequences: int = 256, length: int = 512) -> int:
    """Return the tokens in one batch.

    >>> tokens_a_step()
    131072
    """
    return sequences * length


def epochs(a_step: int, steps: int = 1_000_000, corpus: float = 3.3e9) -> float:
    """Return how often the corpus is read.

    >>> round(epochs(131_072), 1), round(epochs(128_000), 1)
    (39.7, 38.8)
    """
    return a_step * steps / corpus
