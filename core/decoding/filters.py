"""Filters of the logits before a token is chosen.

A new one is a frozen dataclass with a `name` and `__call__`; a strategy lists those it uses, in order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from core.maths import softmax
from core.run.bad_words import TokenSequences, banned_next_tokens

Array = np.ndarray


class Filter(Protocol):
    """A change of the logits before a token is chosen. `name` is the reason given for a token that it rules out.

    `ids` is the whole text that is being written, its given beginning too. `measure` returns, for each token of `tokens`, the
    number by which this filter judges it on the logits before it: the figure shown for a token that was cut, or changed.
    """

    name: ClassVar[str]

    def __call__(self, logits: Array, ids: Sequence[int] = ()) -> Array: ...

    def measure(self, logits: Array, ids: Sequence[int], tokens: Sequence[int]) -> Array: ...


@dataclass(frozen=True)
class NotAllowed:
    """A filter that cuts the tokens which would complete one of `words`, the sequences that the model's configuration
    bars (`bad_words_ids` of the transformers library; of the translators Opus-MT the padding).

    >>> NotAllowed(((0,), (1, 2)))(np.array([9.0, 1.0, 3.0]), ids=[4, 1]).tolist()
    [-inf, 1.0, -inf]
    """

    words: TokenSequences
    name: ClassVar[str] = "not_allowed"

    def __call__(self, logits: Array, ids: Sequence[int] = ()) -> Array:
        left = logits.copy()
        left[banned_next_tokens(self.words, ids)] = -np.inf
        return left

    def measure(self, logits: Array, ids: Sequence[int], tokens: Sequence[int]) -> Array:
        """Return 1 where the token may not be generated, else 0."""
        return np.isin(tokens, banned_next_tokens(self.words, ids)).astype(float)


@dataclass(frozen=True)
class RepetitionPenalty:
    """A filter that makes tokens of the text less probable: z / penalty if z > 0, else z * penalty (Keskar et al. 2019,
    CTRL, section 4.1; there z / penalty whatever the sign, which would help a token with z < 0). Below 1 it makes
    them more probable. How often a token occurs does not matter. Cuts nothing.

    >>> RepetitionPenalty(2.0)(np.array([3.0, 3.0, -1.0, -1.0]), ids=[1, 2, 1]).tolist()
    [3.0, 1.5, -2.0, -1.0]
    """

    penalty: float
    name: ClassVar[str] = "repetition_penalty"

    def __call__(self, logits: Array, ids: Sequence[int] = ()) -> Array:
        seen = np.unique(np.array(ids, dtype=int))
        changed = logits.copy()
        changed[seen] = np.where(logits[seen] > 0, logits[seen] / self.penalty, logits[seen] * self.penalty)
        return changed

    def measure(self, logits: Array, ids: Sequence[int], tokens: Sequence[int]) -> Array:
        """Return 1 for each token of `tokens` that the text has, else 0."""
        return np.isin(tokens, np.array(ids, dtype=int)).astype(float)


@dataclass(frozen=True)
class Temperature:
    """A filter that scales the logits, (z - max z) / T: below 1 the large ones win more, above 1 all come closer. Cuts nothing.

    >>> softmax(Temperature(0.5)(np.log([0.2, 0.8]))).round(4).tolist()
    [0.0588, 0.9412]
    """

    value: float
    name: ClassVar[str] = "temperature"

    def __call__(self, logits: Array, ids: Sequence[int] = ()) -> Array:
        with np.errstate(over="ignore"):
            return (logits - logits.max()) / self.value

    def measure(self, logits: Array, ids: Sequence[int], tokens: Sequence[int]) -> Array:
        """Return the largest logit, which is subtracted before the division."""
        return np.full(len(tokens), logits.max())


@dataclass(frozen=True)
class TopK:
    """A filter that keeps the k largest logits, and all equal to the k-th.

    >>> TopK(2)(np.array([1.0, 3.0, 2.0])).tolist()
    [-inf, 3.0, 2.0]
    """

    k: int
    name: ClassVar[str] = "top_k"

    def __call__(self, logits: Array, ids: Sequence[int] = ()) -> Array:
        if self.k >= logits.size:
            return logits
        return np.where(logits < np.partition(logits, -self.k)[-self.k], -np.inf, logits)

    def measure(self, logits: Array, ids: Sequence[int], tokens: Sequence[int]) -> Array:
        """Return the token's rank, 1 the largest; equals share one.

        >>> TopK(2).measure(np.array([1.0, 3.0, 2.0, 2.0]), (), [0, 1, 2, 3]).tolist()
        [4.0, 1.0, 2.0, 2.0]
        """
        return np.array([1.0 + (logits > logits[i]).sum() for i in tokens])


@dataclass(frozen=True)
class TopP:
    """A filter that keeps the fewest most probable tokens that together reach p, at least one (the nucleus of Holtzman et al. 2020).

    >>> TopP(0.7)(np.log([0.5, 0.3, 0.2])).round(3).tolist()
    [-0.693, -1.204, -inf]
    """

    p: float
    name: ClassVar[str] = "top_p"

    def __call__(self, logits: Array, ids: Sequence[int] = ()) -> Array:
        rising = np.argsort(logits, kind="stable")
        cut = np.cumsum(softmax(logits)[rising]) <= 1 - self.p
        cut[-1] = False
        kept = logits.copy()
        kept[rising[cut]] = -np.inf
        return kept

    def measure(self, logits: Array, ids: Sequence[int], tokens: Sequence[int]) -> Array:
        """Return the summed probability of the tokens ranked before it.

        >>> TopP(0.7).measure(np.log([0.5, 0.3, 0.2]), (), [0, 1, 2]).round(3).tolist()
        [0.0, 0.5, 0.8]
        """
        p, place = softmax(logits), np.arange(logits.size)
        return np.array(
            [p[(logits > logits[i]) | ((logits == logits[i]) & (place > i))].sum() for i in tokens]
        )


@dataclass(frozen=True)
class MinP:
    """A filter that keeps the tokens at least p times as probable as the most probable one (Nguyen et al. 2024, section
    3): many where the distribution is flat, few where it is peaked. The most probable stays whatever p.

    >>> MinP(0.5)(np.log([0.5, 0.3, 0.2])).round(3).tolist()
    [-0.693, -1.204, -inf]
    """

    p: float
    name: ClassVar[str] = "min_p"

    def __call__(self, logits: Array, ids: Sequence[int] = ()) -> Array:
        return np.where(np.exp(logits - logits.max()) < self.p, -np.inf, logits)

    def measure(self, logits: Array, ids: Sequence[int], tokens: Sequence[int]) -> Array:
        """Return the token's probability divided by the largest one.

        >>> MinP(0.5).measure(np.log([0.5, 0.3, 0.2]), (), [0, 1, 2]).round(3).tolist()
        [1.0, 0.6, 0.4]
        """
        return np.exp(logits[list(tokens)] - logits.max())
