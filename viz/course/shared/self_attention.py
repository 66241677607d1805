"""Self-attention on small whole numbers, one word a row: draw words and weights, project, compare, share out, mix.

q_i = W_Q^T x_i, k_i = W_K^T x_i, v_i = W_V^T x_i; Z = V softmax(Q^T K / sqrt(p))^T in the documents' columns
(Ghojogh and Ghodsi 2020, Eqs. (13) to (16), with the transpose that (16) lacks). Here words are rows, as in PyTorch:
Q (n p), K (n p), V (n r), A (n n), Z (n r). The numbers are drawn from -1, 0 and 1, so each product can be done in the head.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from types import MappingProxyType
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F

from core.errors import InputError
from core.layers.attention import masked_softmax
from core.maths import max_difference
from core.text.words import words_in
from viz.languages import _

Array = np.ndarray[Any, np.dtype[np.float64]]

LONGEST, LARGEST = 8, 6
"""Words and numbers of a vector that are shown at most."""
WEIGHTS = ("W_Q", "W_K", "W_V")


@dataclass(frozen=True)
class Change:
    """One weight that was set by hand: which matrix of WEIGHTS, row (of d), column (of p or r), its value."""

    matrix: str
    row: int
    column: int
    value: float


@dataclass(frozen=True, eq=False)
class Attended:
    """Everything on the way from the words to their mixes; words are rows.

    Shapes: x (n d), w_q and w_k (d p), w_v (d r), q and k (n p), v (n r), allowed, dots, scores and weights (n n), z (n r).
    """

    x: Array
    w_q: Array
    w_k: Array
    w_v: Array
    q: Array
    k: Array
    v: Array
    allowed: np.ndarray[Any, np.dtype[np.bool_]]
    dots: Array
    scores: Array
    weights: Array
    z: Array


def words_of(text: str, most: int = LONGEST) -> tuple[tuple[str, ...], int]:
    """Return the first `most` words and symbols of a text, and how many it has.

    >>> words_of("She is eating a green apple.", 4)
    (('She', 'is', 'eating', 'a'), 7)

    Raises:
        InputError: there is no word.
    """
    found = words_in(text)
    if not found:
        raise InputError(
            _("There is no word in this text."),
            _("Self-attention needs one word at least."),
            _("Type a few words, or choose an example."),
        )
    return tuple(found[:most]), len(found)


def word_vectors(words: Iterable[str], d: int, lot: int) -> Array:
    """Sample one vector per word from -1, 0 and 1, shape (n d): the same word (small or capital letters) always gets the same.

    A smaller d cuts vectors short and changes no number.

    >>> one = word_vectors(["The", "cat", "the"], 4, 0)
    >>> bool((one[0] == one[2]).all()), bool((one[:, :2] == word_vectors(["the", "cat", "the"], 2, 0)).all())
    (True, True)
    """
    return np.array([_draw(lot, word.casefold(), (LARGEST,))[:d] for word in words], dtype=np.float64)


def weight_matrices(
    d: int, p: int, r: int, lot: int, changes: Iterable[Change] = (), tied: bool = False
) -> tuple[Array, Array, Array]:
    """Sample W_Q (d p), W_K (d p), W_V (d r) from -1, 0 and 1, then apply the changes made by hand; `tied`: W_K is W_Q.

    >>> w_q, w_k, w_v = weight_matrices(4, 3, 2, 0, [Change("W_V", 3, 1, 7.0)], tied=True)
    >>> w_v.shape, float(w_v[3, 1]), bool((w_q == w_k).all())
    ((4, 2), 7.0, True)
    """
    drawn = {
        name: _draw(lot, name, (LARGEST, LARGEST))[:d, :size].astype(np.float64)
        for name, size in zip(WEIGHTS, (p, p, r), strict=True)
    }
    for change in changes:
        matrix = drawn[change.matrix]
        if change.row < matrix.shape[0] and change.column < matrix.shape[1]:
            matrix[change.row, change.column] = change.value
    return drawn["W_Q"], drawn["W_Q" if tied else "W_K"].copy(), drawn["W_V"]


def _draw(lot: int, name: str, shape: tuple[int, ...]) -> np.ndarray[Any, np.dtype[np.int64]]:
    own = int.from_bytes(blake2b(name.encode("utf-8", "replace"), digest_size=8).digest(), "little")
    return np.random.default_rng([lot, own]).integers(-1, 2, shape)


def attend(x: Array, w_q: Array, w_k: Array, w_v: Array, itself: bool = True) -> Attended:
    """Compute self-attention of the words x (n d); without `itself` no word attends to itself, and a lone word gets zeros.

    >>> found = attend(np.eye(2), np.eye(2), np.eye(2), np.array([[1.0], [3.0]]))
    >>> found.weights.round(2).tolist(), found.z.round(2).tolist()
    ([[0.67, 0.33], [0.33, 0.67]], [[1.66], [2.34]])
    >>> attend(np.eye(2), np.eye(2), np.eye(2), np.eye(2), itself=False).z.tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """
    q, k, v = x @ w_q, x @ w_k, x @ w_v
    n, p = q.shape
    allowed = np.ones((n, n), dtype=bool) if itself else ~np.eye(n, dtype=bool)
    dots = q @ k.T
    scores = dots / math.sqrt(p)
    weights = shares(scores, allowed)
    return Attended(x, w_q, w_k, w_v, q, k, v, allowed, dots, scores, weights, weights @ v)


def shares(scores: Array, allowed: Any = None) -> Array:
    """Apply the softmax over the last axis to the allowed entries; a row with nothing allowed is zeros.

    >>> shares(np.log([7.0, 2.0, 1.0])).round(6).tolist()
    [0.7, 0.2, 0.1]
    """
    given = torch.from_numpy(np.array(scores, dtype=np.float64))
    may = (
        torch.ones(given.shape, dtype=torch.bool) if allowed is None else torch.from_numpy(np.array(allowed))
    )
    return masked_softmax(given, may).numpy()


def torch_difference(result: Attended) -> float:
    """Return the largest difference from torch's scaled_dot_product_attention, both in float32.

    >>> torch_difference(attend(np.eye(3), np.eye(3)[:, :2], np.eye(3)[:, 1:], np.eye(3))) < 1e-6
    True
    """
    q, k, v = (torch.from_numpy(part.astype(np.float32))[None] for part in (result.q, result.k, result.v))
    mask = torch.from_numpy(result.allowed)[None]
    theirs = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    ours = masked_softmax(q @ k.mT / math.sqrt(q.shape[-1]), mask) @ v
    return float((ours - theirs).nan_to_num().abs().max())


@dataclass(frozen=True, eq=False)
class Printed:
    """Eq. (16) as printed, V A without the transpose: z (n r), `sums` (n,) of the weights that reach each word, and the largest error of z."""

    z: Array
    sums: Array
    gap: float


def as_printed(result: Attended) -> Printed:
    """Compute V A in the sources' columns: word j is made with column j of the weights, whose sum is not 1. In rows: A^T V.

    >>> as_printed(attend(np.eye(2), np.eye(2), np.array([[1.0, 0.0], [5.0, 0.0]]), np.eye(2))).sums.round(2).tolist()
    [0.56, 1.44]
    """
    z = result.weights.T @ result.v
    return Printed(z, result.weights.sum(0), max_difference(z, result.z))


@dataclass(frozen=True)
class Kernel:
    """Test of whether scores form a kernel: the largest difference of two mirrored scores, and the least eigenvalue of the symmetric
    part of W_Q W_K^T.
    """

    asymmetry: float
    least: float


def kernel(result: Attended) -> Kernel:
    """Test the scores for being a kernel (erratum E14): q_i . k_j = x_i^T W_Q W_K^T x_j is one if W_K is W_Q, and in general not.

    >>> kernel(attend(np.eye(2), np.eye(2), np.eye(2), np.eye(2)))
    Kernel(asymmetry=0.0, least=1.0)
    """
    inner = result.w_q @ result.w_k.T
    least = float(np.linalg.eigvalsh((inner + inner.T) / 2).min())
    return Kernel(max_difference(result.dots, result.dots.T), 0.0 if abs(least) < 1e-12 else least)


@dataclass(frozen=True)
class Example:
    """Worked example of the sources: the word, the words that it is made of, their weights; the word itself is left out."""

    word: str
    others: tuple[str, ...]
    weights: tuple[float, ...]

    @property
    def words(self) -> tuple[str, ...]:
        """Return all words, the example's own one last."""
        return (*self.others, self.word)

    @property
    def scores(self) -> tuple[float, ...]:
        """Return scores whose softmax over the others gives the weights: 0 for the least weight, and 0 for the word itself.

        >>> [round(score, 4) for score in EXAMPLES["student"].scores]
        [1.9459, 0.6931, 0.0, 0.0]
        """
        return (*(math.log(weight / min(self.weights)) for weight in self.weights), 0.0)


EXAMPLES: Mapping[str, Example] = MappingProxyType(
    {
        "student": Example("student", ("I", "am", "a"), (0.7, 0.2, 0.1)),
        "apple": Example("apple", ("She", "is", "eating", "a", "green"), (0.1, 0.1, 0.5, 0.1, 0.2)),
    }
)


@dataclass(frozen=True, eq=False)
class Mixed:
    """One word made of others: scores and weights (n,), the word itself last, values (n r), the mix (r,)."""

    scores: Array
    weights: Array
    values: Array
    mix: Array


def mixed(scores: Iterable[float], values: Array, itself: bool = False) -> Mixed:
    """Compute z = sum_j a_j v_j with a = softmax(s); without `itself` the last word has weight 0.

    >>> mixed([0.0, math.log(3), 9.0], np.array([[4.0], [0.0], [100.0]])).mix.round(12).tolist()
    [1.0]
    """
    given = np.array(list(scores), dtype=np.float64)
    allowed = np.ones(len(given), dtype=bool)
    allowed[-1] = itself
    weights = shares(given, allowed)
    return Mixed(given, weights, values, weights @ values)
