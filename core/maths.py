"""Small functions of numbers that everybody uses: a share in per cent, softmax of an array."""

from __future__ import annotations

from typing import SupportsFloat

import numpy as np

Array = np.ndarray


def percent(p: SupportsFloat, places: int = 1) -> str:
    """A share in per cent: about `places` + 1 digits, and never a false 0 or 100.

    >>> percent(0.614), percent(0.0312), percent(0.00004), percent(0.99996), percent(1.0), percent(0.0)
    ('61%', '3.1%', '<0.1%', '>99.9%', '100%', '0%')
    >>> percent(0.614, 2), percent(0.00044, 2), percent(-0.25), percent(2.5)
    ('61.4%', '0.04%', '−25%', '250%')
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


def apart(one: Array, other: Array) -> float:
    """The largest difference of any number.

    >>> apart(np.array([1.0, 2.0]), np.array([1.0, 0.5]))
    1.5
    """
    return float(np.abs(one - other).max())


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


def sigmoid(scores: Array) -> Array:
    """1 / (1 + exp(-z)), in float64.

    >>> sigmoid(np.array([0.0, 800.0, -800.0])).tolist()
    [0.5, 1.0, 0.0]
    """
    return np.exp(-np.logaddexp(0.0, -scores.astype(np.float64)))
