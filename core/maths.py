"""Small numeric functions that all packages use: per cent, softmax, sigmoid, cosine."""

from __future__ import annotations

from typing import SupportsFloat

import numpy as np
from numpy.typing import ArrayLike

Array = np.ndarray


def percent(p: SupportsFloat, places: int = 1) -> str:
    """Return a share in per cent: about `places` + 1 digits, and never a false 0 or 100.

    >>> percent(0.614), percent(0.0312), percent(0.00004), percent(0.99996), percent(1.0), percent(0.0)
    ('61%', '3.1%', '<0.1%', '>99.9%', '100%', '0%')
    >>> percent(0.614, 2), percent(0.00044, 2), percent(-0.25), percent(2.5)
    ('61.4%', '0.04%', '−25%', '250%')
    >>> percent(0.001), percent(0.999)
    ('0.1%', '99.9%')
    """
    p, edge = float(p), 10.0 ** -(places + 2)
    if p < 0:
        return f"−{percent(-p, places)}"
    if p == 0 or p >= 1:
        return f"{100 * p:.0f}%"
    if p < edge:
        return f"<{100 * edge:.{places}f}%"
    if p > 1 - edge:
        return f">{100 * (1 - edge):.{places}f}%"
    return f"{100 * p:.{places if p < 0.0995 or p > 0.9949 else places - 1}f}%"


def max_difference(one: Array, other: Array) -> float:
    """Return the largest difference of any two numbers at the same index.

    >>> max_difference(np.array([1.0, 2.0]), np.array([1.0, 0.5]))
    1.5
    """
    return float(np.abs(one - other).max())


def log_softmax(logits: Array) -> Array:
    """Return z - log sum exp z over the last axis; -inf stays -inf."""
    shifted = logits - logits.max(-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))


def softmax(scores: ArrayLike) -> Array:
    """Return exp z / sum exp z over the last axis, in float64; NaN where all of a row are -inf.

    >>> softmax(np.array([0.0, -np.inf])).tolist(), softmax(np.array([1000.0, 0.0])).tolist()
    ([1.0, 0.0], [1.0, 0.0])
    """
    values = np.asarray(scores, dtype=np.float64)
    with np.errstate(invalid="ignore"):
        powers = np.exp(values - values.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def sigmoid(scores: Array) -> Array:
    """Return 1 / (1 + exp(-z)), in float64.

    >>> sigmoid(np.array([0.0, 800.0, -800.0])).tolist()
    [0.5, 1.0, 0.0]
    """
    return np.exp(-np.logaddexp(0.0, -scores.astype(np.float64)))


TINY = 1e-12
"""Lengths below this, times the number of elements, are rounding of zero."""


def cosine(one: Array, other: Array) -> float:
    """Return sum a b / (|a| |b|) over all numbers of both; NaN where one is zero. Of deviations from the means it is Pearson's correlation.

    >>> cosine(np.array([3.0, 4.0]), np.array([3.0, 4.0])), cosine(np.array([TINY]), np.array([1.0]))
    (1.0, 1.0)
    >>> cosine(np.full(100, TINY), np.ones(100))
    nan
    """
    sizes = float(np.linalg.norm(one)), float(np.linalg.norm(other))
    if min(sizes) < TINY * max(1, one.size):
        return np.nan
    return float(np.clip(np.vdot(one, other) / (sizes[0] * sizes[1]), -1.0, 1.0))


def unit_rows(table: Array) -> Array:
    """Return each row divided by its length; a row of zeros stays.

    >>> unit_rows(np.array([[3.0, 4.0], [0.0, 0.0]])).tolist()
    [[0.6, 0.8], [0.0, 0.0]]
    """
    length = np.linalg.norm(table, axis=-1, keepdims=True)
    return table / np.where(length == 0, 1, length)


def cosines(one: Array, other: Array) -> Array:
    """Return the cosine of each row of one (n, d) with each row of the other, (m, d) or one vector (d,): (n, m) or (n,).

    >>> cosines(np.array([[3.0, 0.0]]), np.array([[4.0, 3.0], [0.0, 1.0]])).tolist()
    [[0.8, 0.0]]
    """
    return unit_rows(one) @ unit_rows(other).T
