"""The game BERT learns by: some tokens are chosen, most of them are hidden, and only the chosen ones are to be said.

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
"""The label of a token that is not to be said."""
NEAR = 3.0
"""A count is expected within so many standard deviations; of 1,000 counts about 3 lie outside."""


@dataclass(frozen=True)
class Rates:
    """The share of tokens that are chosen, and of those the shares that become [MASK] and a random word."""

    share: float = SHARE
    masked: float = MASKED
    redrawn: float = REDRAWN

    @property
    def kept(self) -> float:
        """The share of the chosen tokens that stay as they are."""
        return max(0.0, 1.0 - self.masked - self.redrawn)

    @property
    def parts(self) -> Array:
        """What a chosen token becomes, as three probabilities: [MASK], a random word, itself."""
        return np.array([self.masked, 1 - self.masked - self.kept, self.kept])

    def n_chosen(self, n: int) -> int:
        """How many of n words are chosen: their share, rounded, at least one.

        >>> Rates().n_chosen(20), Rates().n_chosen(3)
        (3, 1)
        """
        return min(n, max(1, int(np.rint(self.share * n))))


@dataclass(frozen=True, eq=False)
class Draw:
    """One draw: what is read, what became of each token (FATES), what is to be said (-100: nothing). All (pos,)."""

    read: Ids
    fate: Ids
    labels: Ids


@dataclass(frozen=True, eq=False)
class Count:
    """Many draws of one text: how often each token was chosen (pos,), what the chosen ones became (3,), both expected with a deviation."""

    n_draws: int
    chosen: Ids
    fates: Ids
    chosen_expected: Array
    chosen_deviation: Array
    fates_expected: Array
    fates_deviation: Array

    @property
    def total(self) -> int:
        """How many tokens were chosen in all draws."""
        return int(self.chosen.sum())

    @property
    def outside(self) -> int:
        """How many counts lie farther than NEAR deviations from what is expected."""
        far = [
            np.abs(found - wanted) > NEAR * deviation + 1e-9
            for found, wanted, deviation in (
                (self.chosen, self.chosen_expected, self.chosen_deviation),
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
    """n draws of one text (pos,): what is read and what became of each token, both (draw, pos). The same number draws the same.

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
        redrawn=1 - rates.masked - rates.kept,
    )
    fate = np.where(read == mask, HIDDEN, np.where(read != rows, CHANGED, LEFT))
    return read, np.where(chosen, fate, NOT_CHOSEN)


def draw(ids: Ids, special: NDArray[np.bool_], number: int, **how: Any) -> Draw:
    """One draw of a text (pos,).

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
    """n draws, counted beside what is expected.

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
    """The learning rate of BERT: up in a straight line for `warm_up` steps, then down in one to 0 at the last.

    >>> [rate(step) for step in (5_000, 10_000, 505_000, 1_000_000)]
    [5e-05, 0.0001, 5e-05, 0.0]
    """
    up = step / warm_up if warm_up else 1.0
    down = (steps - step) / (steps - warm_up) if steps > warm_up else float(step < steps)
    return peak * max(0.0, min(up, down))


def tokens_a_step(sequences: int = 256, length: int = 512) -> int:
    """Tokens in one batch.

    >>> tokens_a_step()
    131072
    """
    return sequences * length


def epochs(a_step: int, steps: int = 1_000_000, corpus: float = 3.3e9) -> float:
    """How often the corpus is read.

    >>> round(epochs(131_072), 1), round(epochs(128_000), 1)
    (39.7, 38.8)
    """
    return a_step * steps / corpus
