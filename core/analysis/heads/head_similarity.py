"""Similarity of heads: the patterns of many heads on the same texts, by the same words, and the distances between them.

Models cut a text in different places. Words are identified by where they begin in it, so that heads of all models can be
compared; all tokens that a model adds to a text (START, [CLS], [SEP]) are one key, "the marks".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from core.analysis.heads.patch_habits import are_patches
from core.run import Run, TokenSequence
from core.text import Word

if TYPE_CHECKING:
    from jaxtyping import Float


Array = np.ndarray
MARKS = "marks"
"""The name of the one key for all that a model added to the text."""


@dataclass(frozen=True)
class TextPatterns:
    """The patterns of all heads of one kind over one text, the special tokens as the first key.

    `queries` and `keys` are where each word begins in its text. Rows of special tokens are left out.
    """

    queries: tuple[int, ...]
    keys: tuple[int, ...]
    weights: Float[Array, "head query key"]

    def regroup(self, queries: Sequence[int], keys: Sequence[int]) -> Float[Array, "head query key"]:
        """Return the weights between longer pieces of the text, which begin at `queries` and `keys`: the mean over a piece's rows, the sum over its keys."""
        rows, columns = _into(self.queries, queries), _into(self.keys, keys)
        marks = np.zeros((1 + columns.shape[0], 1 + columns.shape[1]), dtype=np.float32)
        marks[0, 0], marks[1:, 1:] = 1, columns
        return (rows / rows.sum(0)).T @ self.weights @ marks


@dataclass(frozen=True)
class HeadRows:
    """All rows of many heads over several texts, one text below the other: weights (head, row, 1 + key).

    Row `begins[t]` is the first of text t, which has `n_keys[t]` keys; the columns behind them are zero.
    """

    weights: Float[Array, "head row key"]
    begins: tuple[int, ...]
    n_keys: tuple[int, ...]

    @property
    def n_texts(self) -> int:
        return len(self.begins)

    def text_rows(self, text: int) -> Float[Array, "head query key"]:
        """Return the attention rows of all heads over text number `text`; the first key is the sum of all tokens that models add ([CLS], START), then the words."""
        ends = (*self.begins[1:], self.weights.shape[1])
        return self.weights[:, self.begins[text] : ends[text], : 1 + self.n_keys[text]]

    def select_heads(self, heads: Sequence[int]) -> HeadRows:
        """Return the rows of some heads only."""
        return HeadRows(self.weights[list(heads)], self.begins, self.n_keys)


def text_patterns(run: Run, kind: str, by: str = "word") -> TextPatterns:
    """Return the patterns of all heads of one kind, layer after layer, for a run; between two texts the rows are the words it writes."""
    kind_spec = run.model.spec.kind(kind)
    queries, keys = (
        (run.source if axis == "source" and run.source else run.side).without_padding
        for axis in (kind_spec.queries, kind_spec.keys)
    )
    crosses = kind_spec.queries != kind_spec.keys
    attention = run.attention(kind, by=by, writing=crosses)
    rows, columns = (_begins(side, by) for side in (queries.next_tokens() if crosses else queries, keys))
    weights = attention.weights.reshape(-1, *attention.weights.shape[2:])
    added, words = (
        [place for place, at in enumerate(columns) if (at is None) == mark] for mark in (True, False)
    )
    there = [place for place, at in enumerate(rows) if at is not None]
    weights = weights[:, there]
    joined = np.concatenate([weights[..., added].sum(-1, keepdims=True), weights[..., words]], axis=-1)
    return TextPatterns(
        tuple(at for at in rows if at is not None), tuple(at for at in columns if at is not None), joined
    )


def _begins(side: TokenSequence, by: str) -> list[int | None]:
    """Return where each word (or token) begins in the text, without the space before it; None for an added one. For a picture the position itself."""
    if side.values is not None and are_patches(side.tokens):
        return list(range(len(side.tokens)))
    words = side.words if by == "word" else [Word(token, (place,)) for place, token in enumerate(side.tokens)]
    spans = [side.spans[word.pieces[0]] for word in words]
    return [None if span is None else span[1] - len(side.text[slice(*span)].lstrip()) for span in spans]


def common_positions(several: Sequence[TextPatterns]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the text positions at which words begin for all: those of queries and those of keys.

    >>> one, other = TextPatterns((0, 4, 7), (0,), np.zeros((1, 3, 2))), TextPatterns((0, 7), (0, 4), np.zeros((1, 2, 3)))
    >>> common_positions([one, other])
    ((0, 7), (0,))
    """
    queries, keys = (
        set.intersection(*(set(getattr(one, axis)) for one in several)) for axis in ("queries", "keys")
    )
    return tuple(sorted(queries)), tuple(sorted(keys))


def stack_rows(texts: Sequence[Sequence[TextPatterns]]) -> HeadRows:
    """Stack the rows of all heads over all texts: `texts[t]` has the patterns of text t for each model. A text without a
    word that all share is left out.
    """
    parts = []
    for several in texts:
        queries, keys = common_positions(several)
        if queries and keys:
            parts.append(np.concatenate([one.regroup(queries, keys) for one in several]))
    n_rows, wide = [part.shape[1] for part in parts], max(part.shape[2] for part in parts)
    weights = np.zeros((parts[0].shape[0], sum(n_rows), wide), dtype=np.float32)
    begins = [0, *np.cumsum(n_rows)[:-1].tolist()]
    for begin, part in zip(begins, parts, strict=True):
        weights[:, begin : begin + part.shape[1], : part.shape[2]] = part
    return HeadRows(weights, tuple(begins), tuple(part.shape[2] - 1 for part in parts))


def divergences_from(rows: HeadRows, head: int) -> Float[Array, " head"]:
    """Compute the divergence of every head from one: Jensen-Shannon, in bits, the mean over all rows.

    JSD = H((a + b) / 2) - (H(a) + H(b)) / 2 (Lin 1991), as `core.analysis.heads.pattern_distance.jensen_shannon`. 0: the same pattern.
    """
    return _divergences(rows.weights, _bits(rows.weights), head, 0)


def pairwise_divergences(rows: HeadRows) -> Float[Array, "head head"]:
    """Compute `divergences_from` for every pair of heads: a symmetric matrix with zeros on its diagonal.

    >>> both = np.array([[[0, 1, 0]], [[0, 0, 1]], [[0, 0, 1]]], dtype=np.float32)
    >>> pairwise_divergences(HeadRows(both, (0,), (2,))).tolist()
    [[0.0, 1.0, 1.0], [1.0, 0.0, 0.0], [1.0, 0.0, 0.0]]
    """
    n, own = len(rows.weights), _bits(rows.weights)
    divergences = np.zeros((n, n))
    for head in range(n - 1):
        divergences[head, head + 1 :] = _divergences(rows.weights, own, head, head + 1)
    return divergences + divergences.T


def nearest_heads(distances: Float[Array, " head"], head: int) -> list[int]:
    """Return all other heads, the nearest first.

    >>> nearest_heads(np.array([0.3, 0.0, 0.1]), 1)
    [2, 0]
    """
    return [int(other) for other in np.argsort(distances, kind="stable") if other != head]


def _divergences(weights: Array, entropies: Array, head: int, first: int) -> Array:
    mixed = _bits((weights[first:] + weights[head]) / 2)
    return np.maximum(mixed - (entropies[first:] + entropies[head]) / 2, 0).mean(-1, dtype=np.float64)


def _bits(p: Array) -> Array:
    """Compute the entropy in bits over the last axis; 0 log 0 is 0."""
    return -np.einsum("...k,...k->...", p, np.log2(p + (p == 0)))


def _into(fine: Sequence[int], coarse: Sequence[int]) -> Array:
    """Return a one-hot matrix (fine, coarse) of the longer piece that each word is in; words before the first belong to it."""
    place = np.maximum(np.searchsorted(coarse, fine, side="right") - 1, 0)
    return np.eye(len(coarse), dtype=np.float32)[place]
