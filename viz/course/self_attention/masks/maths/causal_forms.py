"""Causal attention in its two forms, line by line: a sum over the words so far, and a mask over all words.

Ordinary Python sums, rounded once, so that "the same" can mean the same to the last digit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from viz.course.shared.maths.masks import row

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Form:
    """Weights (query key), zeros where nothing is summed, and outputs y (query d)."""

    weights: Array
    outputs: Array


def prefix_form(scores: Any, values: Any) -> Form:
    """y_i = a_i1 v_1 + .. + a_ii v_i, the weights a softmax over the first i scores only (lifei.tech 2022).

    Shapes: scores (query key), only those with key <= query are read; values (key d).

    >>> prefix_form([[0.0, 9.0], [0.0, 0.0]], [[1.0], [3.0]]).outputs.tolist()
    [[1.0], [2.0]]
    """
    known, given = np.asarray(scores, dtype=np.float64), np.asarray(values, dtype=np.float64)
    n = len(known)
    weights = np.zeros((n, n))
    for i in range(n):
        weights[i, : i + 1] = row(known[i, : i + 1], [True] * (i + 1)).weights
    return Form(weights, np.array([_mix(weights[i, : i + 1], given[: i + 1]) for i in range(n)]))


def mask_form(scores: Any, values: Any, allowed: Any = None) -> Form:
    """softmax(S + M) V with M = 0 where key <= query and -inf elsewhere; `allowed` (query key) puts another mask there.

    Ghojogh and Ghodsi 2020, Eqs. (28), (29). All scores are read, and all values summed.

    >>> mask_form([[0.0, 9.0], [0.0, 0.0]], [[1.0], [3.0]]).outputs.tolist()
    [[1.0], [2.0]]
    """
    known, given = np.asarray(scores, dtype=np.float64), np.asarray(values, dtype=np.float64)
    may = np.tri(len(known), dtype=bool) if allowed is None else np.asarray(allowed, dtype=bool)
    weights = np.array([row(s, m).weights for s, m in zip(known, may, strict=True)])
    return Form(weights, np.array([_mix(each, given) for each in weights]))


def gaps(one: Form, other: Form) -> tuple[Array, Array]:
    """The largest difference of each line: of its weights, and of its output. Shapes: (query,) both."""
    return np.abs(one.weights - other.weights).max(1), np.abs(one.outputs - other.outputs).max(1)


def _mix(weights: Array, values: Array) -> list[float]:
    return [
        math.fsum(float(w) * float(v) for w, v in zip(weights, column, strict=True)) for column in values.T
    ]
