"""A pattern drawn by hand, and the heads that look like it.

A drawing has no words, only places: the first twelfth of a sentence, the second, and so on. The patterns of heads are
brought to the same grid, whatever the length of their texts.
"""

from __future__ import annotations

import numpy as np

from core.analysis.heads.compare import jensen_shannon
from core.analysis.heads.similar import Rows
from core.errors import InputError

Array = np.ndarray
SIZE = 12


def resampled(weights: Array, n: int = SIZE) -> Array:
    """(.., query, key) weights on a grid of n by n places; rows keep their sum.

    A row of the grid is the mean of the words it covers, each as far as it covers it; a word's weight is shared out over
    the columns that it covers.

    >>> resampled(np.eye(2), 4).tolist()[0]
    [0.5, 0.5, 0.0, 0.0]
    """
    queries, keys = weights.shape[-2:]
    return (n * _common(n, queries)) @ weights @ (keys * _common(keys, n))


def _common(n: int, m: int) -> Array:
    """(n, m): what the n-th parts and the m-th parts of one length have in common."""
    one, other = np.arange(n + 1) / n, np.arange(m + 1) / m
    ends, begins = np.minimum(one[1:, None], other[1:]), np.maximum(one[:-1, None], other[:-1])
    return np.maximum(ends - begins, 0)


def grids(rows: Rows, n: int = SIZE) -> Array:
    """The mean pattern of every head over all texts, on the grid: (head, n, n). Weight on marks is in no cell."""
    return np.mean([resampled(rows.of_text(text)[..., 1:], n) for text in range(rows.n_texts)], axis=0)


def likeness(drawn: Array, patterns: Array) -> Array:
    """How much each head looks like a drawing: 1 - JSD in bits, mean over the rows that have a stroke -> (head,).

    A drawn row is an even look at its cells; of a head, what is in no cell of its row is one further place, where the
    drawing has nothing. Rows without a stroke ask for nothing. Shapes: drawn (n, n) boolean, patterns (head, n, n).

    Raises InputError for an empty drawing.

    >>> likeness(np.eye(2, dtype=bool), np.stack([np.eye(2), 1 - np.eye(2)])).tolist()
    [1.0, 0.0]
    """
    asked = drawn.any(-1)
    if not asked.any():
        raise InputError(
            "Nothing is drawn.",
            "A drawing needs at least one cell.",
            "Click a cell, or take one of the drawings by name.",
        )
    even = drawn[asked] / drawn[asked].sum(-1, keepdims=True)
    looked = patterns[:, asked]
    elsewhere = np.maximum(1 - looked.sum(-1, keepdims=True), 0)
    even = np.concatenate([even, np.zeros((len(even), 1))], axis=-1)
    return 1 - jensen_shannon(even, np.concatenate([looked, elsewhere], axis=-1)).mean(-1)


def strokes(n: int = SIZE) -> dict[str, Array]:
    """Drawings by name, each with a stroke in every row.

    >>> {name: int(cells.sum()) for name, cells in strokes(4).items()}
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
