"""Filters: each takes the logits of one step (vocab,) and returns them changed; a token that is cut gets -inf.

A new one is a frozen dataclass with a `name` and `__call__`; a strategy lists those it uses, in order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

Array = np.ndarray


class Filter(Protocol):
    """`name` is what a cut token says it was cut by."""

    name: ClassVar[str]

    def __call__(self, logits: Array) -> Array: ...


@dataclass(frozen=True)
class Temperature:
    """(z - max z) / T: below 1 the large ones win more, above 1 all come closer. Cuts nothing.

    >>> softmax(Temperature(0.5)(np.log([0.2, 0.8]))).round(4).tolist()
    [0.0588, 0.9412]
    """

    value: float
    name: ClassVar[str] = "temperature"

    def __call__(self, logits: Array) -> Array:
        with np.errstate(over="ignore"):
            return (logits - logits.max()) / self.value


@dataclass(frozen=True)
class TopK:
    """Keep the k largest; equals of the k-th stay too.

    >>> TopK(2)(np.array([1.0, 3.0, 2.0])).tolist()
    [-inf, 3.0, 2.0]
    """

    k: int
    name: ClassVar[str] = "top_k"

    def __call__(self, logits: Array) -> Array:
        if self.k >= logits.size:
            return logits
        return np.where(logits < np.partition(logits, -self.k)[-self.k], -np.inf, logits)


@dataclass(frozen=True)
class TopP:
    """Keep the fewest most probable tokens that together reach p, at least one (the nucleus of Holtzman et al. 2020).

    >>> TopP(0.7)(np.log([0.5, 0.3, 0.2])).round(3).tolist()
    [-0.693, -1.204, -inf]
    """

    p: float
    name: ClassVar[str] = "top_p"

    def __call__(self, logits: Array) -> Array:
        rising = np.argsort(logits, kind="stable")
        cut = np.cumsum(softmax(logits)[rising]) <= 1 - self.p
        cut[-1] = False
        kept = logits.copy()
        kept[rising[cut]] = -np.inf
        return kept


def log_softmax(logits: Array) -> Array:
    """z - log sum exp z over the last axis; -inf stays -inf."""
    shifted = logits - logits.max(-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))


def softmax(logits: Array) -> Array:
    """exp z / sum exp z over the last axis.

    >>> softmax(np.array([0.0, -np.inf])).tolist()
    [1.0, 0.0]
    """
    return np.exp(log_softmax(logits))
