"""Claims of the exhibit on self-attention, each a condition on its run."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from viz.course.self_attention.self_attention.params import Data, Params, at_of
from viz.course.shared import self_attention

Promises = Mapping[str, Callable[[Params, Data], bool]]


def opens_at(params: Params) -> bool:
    """Return whether sentence, sizes and seed are those that the page opens with."""
    opening = Params()
    return (params.text, params.n, params.d, params.p, params.lot) == (
        opening.text,
        opening.n,
        opening.d,
        opening.p,
        opening.lot,
    )


def apple_to_eating(data: Data) -> float:
    """Return the lead of eating over the next word, in the row of apple."""
    row = data.attention.weights[data.words.index("apple")]
    eating = data.words.index("eating")
    return float(row[eating] - np.delete(row, eating).max())


def word_vector(word: str, params: Params) -> np.ndarray:
    """Return the vector of a word in a sentence of its own."""
    return self_attention.word_vectors([word], params.d, params.lot)[0]


QUESTION: Promises = {
    "a word has the same numbers in a sentence of its own": lambda params, data: all(
        (row == word_vector(word, params)).all()
        for word, row in zip(data.words, data.attention.x, strict=True)
    ),
    "at the opening apple attends most to eating, by a tenth and more": lambda params, data: (
        not opens_at(params) or apple_to_eating(data) >= 0.1
    ),
}
ONE: Promises = {
    "query, key and value of the framed word are not zero": lambda params, data: all(
        part[at_of(data, params)].any() for part in (data.attention.q, data.attention.k, data.attention.v)
    ),
    "its query is not its key": lambda params, data: bool(
        (data.attention.q[at_of(data, params)] != data.attention.k[at_of(data, params)]).any()
    ),
}
ALL: Promises = {
    "Q and K have p numbers per word, V has r, and they differ": lambda params, data: (
        (data.attention.q.shape[1], data.attention.k.shape[1], data.attention.v.shape[1])
        == (params.p, params.p, params.r)
        and params.p != params.r
    ),
}
SCORES: Promises = {
    "every row of weights sums to 1": lambda params, data: bool(
        np.abs(data.attention.weights.sum(1) - 1).max() < 1e-9
    ),
    "the weights of the framed word are not uniform": lambda params, data: bool(
        np.ptp(data.attention.weights[at_of(data, params)]) > 0.1
    ),
}
MIX: Promises = {
    "rows sum to 1, a column does not, by a tenth and more": lambda params, data: bool(
        np.abs(data.attention.weights.sum(1) - 1).max() < 1e-9 and np.abs(data.printed.sums - 1).max() >= 0.1
    ),
    "as printed, the result is another": lambda params, data: data.printed.gap >= 0.1,
    "PyTorch gives the same to within 0.000001": lambda params, data: data.off < 1e-6,
}
HAND: Promises = {
    "softmax of the scores gives back the weights of the slides": lambda params, data: bool(
        np.abs(data.mixed.weights[: len(data.example.weights)] - np.array(data.example.weights)).max() < 1e-9
    ),
}
