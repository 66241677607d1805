"""Search for the heads that resemble a pattern drawn by hand.

A drawing has no words, only places: the first twelfth of a sentence, the second, and so on. The patterns of heads are
brought to the same grid, whatever the length of their texts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from core.analysis.heads.head_similarity import HeadRows
from core.analysis.heads.pattern_distance import jensen_shannon
from core.errors import InputError

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Real


Array = np.ndarray
SIZE = 12


def resample(weights: Real[Array, "*batch query key"], n: int = SIZE) -> Float[Array, "*batch {n} {n}"]:
    """Resample weights to a grid of n by n cells; rows keep their sum.

    A row of the grid is the mean of the words it covers, each as far as it covers it; a word's weight is shared out over
    the columns that it covers.

    >>> resample(np.eye(2), 4).tolist()[0]
    [0.5, 0.5, 0.0, 0.0]
    """
    queries, keys = weights.shape[-2:]
    return (n * _common(n, queries)) @ weights @ (keys * _common(keys, n))


def _common(n: int, m: int) -> Array:
    """Return (n, m): the overlap of each n-th part with each m-th part of one length."""
    one, other = np.arange(n + 1) / n, np.arange(m + 1) / m
    ends, begins = np.minimum(one[1:, None], other[1:]), np.maximum(one[:-1, None], other[:-1])
    return np.maximum(ends - begins, 0)


def mean_grids(rows: HeadRows, n: int = SIZE) -> Float[Array, "head {n} {n}"]:
    """Return the mean pattern of every head over all texts, on the grid. Weight on special tokens is in no cell."""
    return np.mean([resample(rows.text_rows(text)[..., 1:], n) for text in range(rows.n_texts)], axis=0)


def sketch_similarity(
    drawing: Bool[Array, "row column"], patterns: Float[Array, "head row column"]
) -> Float[Array, " head"]:
    """Compute how similar each head is to a drawing: 1 - JSD in bits, the mean over the rows that have a stroke.

    A drawn row is uniform attention to its cells; the weight of a head outside of the grid is one more cell of its row, where
    the drawing has nothing. Rows without a stroke do not count.

    Raises InputError for an empty drawing.

    >>> sketch_similarity(np.eye(2, dtype=bool), np.stack([np.eye(2), 1 - np.eye(2)])).tolist()
    [1.0, 0.0]
    """
    asked = drawing.any(-1)
    if not asked.any():
        raise InputError(
            "Nothing is drawn.",
            "A drawing needs at least one cell.",
            "Click a cell, or take one of the drawings by name.",
        )
    even = drawing[asked] / drawing[asked].sum(-1, keepdims=True)
    looked = patterns[:, asked]
    elsewhere = np.maximum(1 - looked.sum(-1, keepdims=True), 0)
    even = np.concatenate([even, np.zeros((len(even), 1))], axis=-1)
    return 1 - jensen_shannon(even, np.concatenate([looked, elsewhere], axis=-1)).mean(-1)


def named_drawings(n: int = SIZE) -> dict[str, Bool[Array, "{n} {n}"]]:
    """Return ready-made drawings by name, each with a stroke in every row.

    >>> {name: int(cells.sum()) for name, cells in named_drawings(4).items()}
    {'the word before': 4, 'the word itself': 4, 'the first word': 4, 'blocks': 8}
    """
    before = np.eye(n, k=-1, dtype=bool)
    before[0, 0] = True
    first = np.zeros((n, n), dtype=bool)
    first[:, 0] = True
    half = np.arange(n) * 2 // n
    return {
        "the word before": before,
        "the word itself": np.eye(n, dtype=bool),
        "the first word": first,
        "blocks": half[:, None] == half,
    }
