"""Why scores are divided by the square root of d_k, and why softmax subtracts the maximum: random vectors, closed forms.

Scores are (query key). `raw` is q . k, `scaled` is q . k / sqrt(d_k). Everything is float64 but the softmax of the
second half, which is float32 on purpose: there numbers end.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.analysis.attention.measures import entropy
from core.errors import InputError
from viz.course.shared.masks import softmax

Array = NDArray[np.float64]

WIDTHS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
N_QUERIES, N_KEYS = 256, 32
LARGEST = float(np.finfo(np.float32).max)
OVERFLOW = math.log(LARGEST)
"""The largest score whose exponential float32 can hold, 88.72."""
VANISHES = math.log(float(np.finfo(np.float32).smallest_subnormal) / 2)
"""Below this score, -103.97, the exponential is rounded to 0."""


@dataclass(frozen=True)
class Scores:
    """Dot products of random queries with random keys, every entry of every vector standard normal: (query key)."""

    d_k: int
    raw: Array

    @property
    def scaled(self) -> Array:
        return self.raw / math.sqrt(self.d_k)


def sample_scores(d_k: int, seed: int = 0, n_queries: int = N_QUERIES, n_keys: int = N_KEYS) -> Scores:
    """Sample queries and keys from one seed, and return their dot products.

    Errors: InputError for a width below 1.

    >>> sample_scores(64).raw.shape
    (256, 32)
    """
    if d_k < 1:
        raise InputError(
            f"Vectors of {d_k} numbers were asked for.",
            "A vector has at least 1 number.",
            "Choose d_k of 1 or more.",
        )
    draw = np.random.default_rng((seed, d_k)).standard_normal
    return Scores(d_k, draw((n_queries, d_k)) @ draw((n_keys, d_k)).T)


@dataclass(frozen=True)
class Measures:
    """Measures of one table of scores: variance of the scores; entropy and slope of its softmax, a mean over the queries.

    entropy: nats; ln(number of keys) is an even look. slope: `slopes`; 0 means that nothing is learned from the scores.
    """

    variance: float
    entropy: float
    slope: float


def slopes(weights: Array) -> Array:
    """Return sum_j da_j / ds_j = sum_j a_j (1 - a_j): the sensitivity of a row's weights to their own scores.

    The trace of the softmax's Jacobian diag(a) - a a^T: 1 - 1/n for an even row, 0 when one key has everything.
    Shapes: weights (.. key) -> (..).

    >>> slopes(np.array([[0.5, 0.5], [1.0, 0.0]])).tolist()
    [0.5, 0.0]
    """
    return (weights * (1 - weights)).sum(-1)


def measured(scores: Array) -> Measures:
    """Return the measures of (query key) scores.

    >>> measured(np.zeros((2, 4))).slope
    0.75
    """
    weights = softmax(scores)
    return Measures(float(scores.var()), float(entropy(weights).mean()), float(slopes(weights).mean()))


def by_width(widths: Sequence[int] = WIDTHS, seed: int = 0) -> dict[str, tuple[Measures, ...]]:
    """Return the measures at each width, of the raw and of the scaled scores of the same sample.

    >>> list(by_width((4, 1024)))
    ['raw', 'scaled']
    """
    tables = [sample_scores(width, seed) for width in widths]
    return {
        "raw": tuple(measured(t.raw) for t in tables),
        "scaled": tuple(measured(t.scaled) for t in tables),
    }


def bell(x: Array, variance: float) -> Array:
    """Return the normal density of that variance around 0, which the histogram of many scores approaches.

    >>> bell(np.zeros(1), 64.0).round(4).tolist()
    [0.0499]
    """
    return np.exp(-(x**2) / (2 * variance)) / math.sqrt(2 * math.pi * variance)


@dataclass(frozen=True)
class Softmax:
    """A softmax in float32, step by step: what went into exp, the exponentials, their sum, the weights (key,)."""

    inputs: NDArray[np.float32]
    exponentials: NDArray[np.float32]
    total: float
    weights: NDArray[np.float32]

    @property
    def broken(self) -> bool:
        """Return whether an exponential or a weight is not finite."""
        return not bool(np.isfinite(self.exponentials).all() and np.isfinite(self.weights).all())


def in_float32(scores: Sequence[float], *, safe: bool) -> Softmax:
    """Return e^s / sum e^s as float32 computes it; `safe` subtracts the largest score first, which changes no weight on paper.

    >>> in_float32([1600, 0], safe=False).weights.tolist(), in_float32([1600, 0], safe=True).weights.tolist()
    ([nan, 0.0], [1.0, 0.0])
    """
    values = np.asarray(scores, dtype=np.float32)
    inputs = values - values.max() if safe else values
    with np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore"):
        exponentials = np.exp(inputs)
        total = exponentials.sum(dtype=np.float32)
        weights = exponentials / total
    return Softmax(inputs, exponentials, float(total), weights)


def typical(scores: Array) -> int:
    """Return the index of the query whose softmax has the median entropy.

    >>> typical(np.array([[0.0, 0.0], [0.0, 1.0], [0.0, 9.0]]))
    1
    """
    order = np.argsort(entropy(softmax(scores)), kind="stable")
    return int(order[len(order) // 2])


@dataclass(frozen=True)
class Sample:
    """One random sample at the chosen width, its measures unscaled and scaled, and the query whose row is drawn."""

    scores: Scores
    raw: Measures
    scaled: Measures
    typical: int


def measured_sample(d_k: int, seed: int = 0) -> Sample:
    """Sample queries and keys of one width, and measure their dot products."""
    scores = sample_scores(d_k, seed)
    return Sample(scores, measured(scores.raw), measured(scores.scaled), typical(scores.raw))
