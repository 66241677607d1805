"""Soft look-up of a few small vectors, written out: scores, weights, mix. In the page the same arithmetic runs in JavaScript.

attention(q, {k_i}, {v_i}) = sum_i a_i v_i, a = softmax(s), s_i = similarity(q, k_i) (Ghojogh and Ghodsi 2020, Eqs. (6) to (8)).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from core import maths

Array = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True)
class LookUpResult:
    """Result of a soft look-up: scores (key,), weights (key,), and the weighted sum of the values (width,)."""

    scores: Array
    weights: Array
    mix: Array


def _additive(query: Array, keys: Array, w: Array, v: Array) -> Array:
    joined = np.hstack([np.broadcast_to(query, (len(keys), len(query))), keys])
    return np.tanh(joined @ w.T) @ v


RULES: Mapping[str, Callable[..., Array]] = MappingProxyType(
    {
        "dot": lambda query, keys, **_: keys @ query,
        "scaled": lambda query, keys, **_: keys @ query / np.sqrt(len(query)),
        "cosine": lambda query, keys, **_: maths.cosines(keys, query),
        "general": lambda query, keys, w, **_: keys @ w.T @ query,
        "linear": lambda query, keys, q, k, **_: q @ query + keys @ k,
        "additive": lambda query, keys, w, v, **_: _additive(query, keys, w, v),
        "location": lambda query, keys, w, **_: w[: len(keys)] @ query,
    }
)
"""score(query (p,), keys (n p), parameters) -> (n,) by name. Parameters: general w (p p), linear q and k (p,),
additive w (u 2p) and v (u,), location w (rows p), a row a position."""


def scores(query: Any, keys: Any, rule: str = "dot", **parameters: Any) -> Array:
    """Return the score of each key with the query, by one of RULES.

    >>> scores([1.0, 2.0], [[3.0, 4.0], [0.0, 1.0]]).tolist()
    [11.0, 2.0]
    >>> scores([3.0, 4.0], [[6.0, 8.0], [0.0, 0.0]], "cosine").tolist()
    [1.0, 0.0]
    """
    given = {name: np.asarray(value, dtype=np.float64) for name, value in parameters.items()}
    return RULES[rule](np.asarray(query, dtype=np.float64), np.asarray(keys, dtype=np.float64), **given)


def softmax(scores: Any, sharpness: float = 1.0) -> Array:
    """Return exp(sharpness * s_i) / sum_k exp(sharpness * s_k).

    >>> softmax([1.0, 2.0, 3.0], 5).round(4).tolist(), softmax([1.0, 2.0, 3.0], 0).round(4).tolist()
    ([0.0, 0.0067, 0.9933], [0.3333, 0.3333, 0.3333])
    """
    return maths.softmax(sharpness * np.asarray(scores, dtype=np.float64))


def look_up(
    query: Any, keys: Any, values: Any, rule: str = "dot", sharpness: float = 1.0, **parameters: Any
) -> LookUpResult:
    """Return the soft look-up of query (p,) in keys (n p), values (n r). The mix is in the convex hull of the values, whatever
    the scores.

    >>> look_up([1.0, 0.0], [[1.0, 0.0], [1.0, 5.0]], [[2.0], [4.0]]).mix.tolist()
    [3.0]
    """
    fits = scores(query, keys, rule, **parameters)
    weights = softmax(fits, sharpness)
    return LookUpResult(fits, weights, weights @ np.asarray(values, dtype=np.float64))
