"""Layer norm and batch norm, written out: the axis that gets mean 0 and variance 1, and the deviation used.

A table x is (word, number). Layer norm looks along a row, batch norm down a column. Ba et al. 2016; Ghojogh and Ghodsi
2020, Eqs. (24)-(26), where the deviation is printed without 1/H.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating[Any]]
EPS = 1e-5


def deviation(x: Array, *, printed: bool = False) -> Array:
    """Return sigma of each row, (.., H) -> (.., 1): the root of the mean square distance from the mean; `printed`: of the sum.

    >>> x = np.array([1.0, 2.0, 3.0, 4.0])
    >>> round(float(deviation(x)[0] ** 2), 9), round(float(deviation(x, printed=True)[0] ** 2), 9)
    (1.25, 5.0)
    """
    squares = (x - x.mean(-1, keepdims=True)) ** 2
    return np.sqrt(squares.sum(-1, keepdims=True) if printed else squares.mean(-1, keepdims=True))


def layer_norm(
    x: Array, gain: Array | float = 1.0, bias: Array | float = 0.0, *, printed: bool = False, eps: float = EPS
) -> Array:
    """Compute g (x - mu) / sqrt(sigma^2 + eps) + b, each row by itself; `printed` without the 1/H under the root.

    >>> layer_norm(np.array([[1.0, 3.0], [5.0, 5.0]]), eps=0.0 + 1e-30).tolist()
    [[-1.0, 1.0], [0.0, 0.0]]
    """
    sigma = deviation(x, printed=printed)
    return gain * (x - x.mean(-1, keepdims=True)) / np.sqrt(sigma**2 + eps) + bias


def batch_norm(table: Array, *, eps: float = EPS) -> Array:
    """Normalize each column: every number against the same number of the other words. (word, number) -> the same.

    >>> batch_norm(np.array([[1.0, 7.0], [3.0, 7.0]]), eps=1e-30).tolist()
    [[-1.0, 0.0], [1.0, 0.0]]
    """
    return layer_norm(table.T, eps=eps).T


def row_changes(before: Array, after: Array) -> Array:
    """Return the largest change of one number in each word's row. (word, number) twice -> (word,)."""
    return np.abs(after - before).max(-1)
