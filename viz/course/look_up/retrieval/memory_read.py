"""Reading from the memory of a neural Turing machine: r = sum_i w(i) M(i), the weights by content (Graves et al. 2014, Eqs. (2), (5), (6)).

w(i) = softmax(beta * cosine(k, M(i))): a key k that the controller emits is compared with every row; beta is how sharply.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from viz.course.look_up.retrieval.look_up import Array, look_up

THREE = ((1.0, 0.0, 0.5), (0.0, 1.0, -0.5), (-1.0, 0.5, 1.0))
"""Three rows, as on the slide."""
TEN = ((1.0, 1.0, 0.0), *[(-1.0, -1.0, 0.0)] * 9)
"""One row that the key (1, 1, 0) matches, nine that point the other way: the best that cosine can do among ten."""
BOUND = math.e**2
"""The largest possible ratio of two weights at β = 1: a cosine is between -1 and 1."""


@dataclass(frozen=True)
class Read:
    """Result of a read: cosines (row,), weights (row,), and the read vector (width,)."""

    cosines: Array
    weights: Array
    vector: Array


def read(memory: Any, key: Any, beta: float = 1.0) -> Read:
    """Read by content. memory (rows width), key (width,).

    >>> [round(float(read(TEN, (1, 1, 0), beta).weights.max()), 4) for beta in (1, 10)]
    [0.4509, 1.0]
    """
    found = look_up(key, memory, memory, "cosine", beta)
    return Read(found.scores, found.weights, found.mix)


def read_row(memory: Any, key: Any, row: int) -> Read:
    """Read one row, as a plain memory does: the weights are one-hot.

    >>> read_row(THREE, (1, 0, 0), 2).vector.tolist()
    [-1.0, 0.5, 1.0]
    """
    cosines = look_up(key, memory, memory, "cosine").scores
    weights = np.eye(len(cosines))[row]
    return Read(cosines, weights, weights @ np.asarray(memory, dtype=np.float64))
