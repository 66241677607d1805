"""Word vectors that are added, one vector a word in every sentence, and what attention makes of them: a mix.

king - man + woman is near queen (Mikolov et al. 2013; Ghojogh and Ghodsi 2020, 2.3). A table has one vector a word; a model that
looks at the words before gives the same word another vector in another sentence, a mix by attention weights (2.4.1).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from core.analysis.residual.vectors import analogy_vector, cosine_rank, nearest_rows
from core.errors import InputError
from core.maths import cosines, unit_rows
from core.run import Run
from viz.languages import _

Array = np.ndarray[Any, np.dtype[Any]]
TOY = {"king": (1.0, 1.0), "man": (1.0, 0.0), "woman": (0.0, 0.0), "queen": (0.0, 1.0)}
"""The picture of the documents, exact: one axis for power, one for man and woman."""
OTHERS = {"boy": (1.0, -0.8), "girl": (0.0, -0.8), "apple": (-1.4, -1.2)}
"""More words on the same plane, so that there is something to choose from."""
UNKNOWN = 0
AROUND = 6
"""Neighbours of the sum on the map."""


@dataclass(frozen=True)
class Sum:
    """a - b + c: the nearest words without the three (names, cosines), best first; `place` of the best, and `first`, when the three count too.

    `map`: places (word, 2) of `names` and, last, of the sum: the two directions in which these vectors differ most; `share` of what they differ.
    """

    terms: tuple[str, str, str]
    nearest: tuple[str, ...]
    cosines: Array
    first: str
    place: int
    names: tuple[str, ...]
    map: Array
    share: float


def table_of(model: Any) -> Array:
    """Return the vectors of a model of family skipgram (word d_model), float32."""
    return model.network.embed["token"].weight.detach().float().cpu().numpy()


def _short(word: str) -> str:
    """Return the word as an error names it."""
    word = word.strip()
    return word if len(word) <= 40 else word[:40] + "…"


def row_of(model: Any, word: str) -> int:
    """Return the row of a word. Raises InputError for one that is not in the table, or for more than one."""
    ids = model.tokenizer.encode(word.strip()).ids
    if len(ids) != 1:
        raise InputError(
            _("“{word}” is {n} words.", word=_short(word), n=len(ids)),
            _("Each box takes one word."),
            _("Type one, such as king."),
        )
    if ids[0] == UNKNOWN:
        raise InputError(
            _("“{word}” is not in the vocabulary of {model}.", word=_short(word), model=model.name),
            _("It has vectors for the {n:,} most frequent words of its texts.", n=len(model.tokenizer) - 1),
            _("Try another word."),
        )
    return int(ids[0])


def add(model: Any, a: str, b: str, c: str, n: int = 8) -> Sum:
    """Compute a - b + c on trained vectors, each first scaled to length 1, so that only directions count.

    >>> import core
    >>> found = add(core.open_model("vectors-mini"), "king", "man", "woman")
    >>> found.nearest[0], found.first, found.place
    ('queen', 'king', 2)
    """
    table, rows = table_of(model), [row_of(model, word) for word in (a, b, c)]
    target = analogy_vector(table, [rows[0], rows[2]], [rows[1]])
    best = nearest_rows(table, target, max(n, AROUND), exclude=[UNKNOWN, *rows])
    first = nearest_rows(table, target, 1, exclude=[UNKNOWN])[0][0]
    word = model.tokenizer.token
    shown = [*rows, *(near[0] for near in best[:AROUND])]
    places, share = principal_plane(np.vstack([unit_rows(table)[shown], target]))
    return Sum(
        (word(rows[0]), word(rows[1]), word(rows[2])),
        tuple(word(near[0]) for near in best[:n]),
        np.array([near[1] for near in best[:n]]),
        word(first),
        cosine_rank(table, target, best[0][0], exclude=[UNKNOWN]),
        tuple(word(row) for row in shown),
        places,
        share,
    )


def principal_plane(vectors: Array) -> tuple[Array, float]:
    """Project onto the first two principal components: coordinates (row, 2), and their share of the variance (0 to 1).

    A projection keeps sums: a - b = sum - c holds on the map, too.

    >>> places, share = principal_plane(np.array([[2.0, 0, 0], [0, 0, 0], [2, 1, 0], [0, 1, 0]]))
    >>> np.abs(places).round(3).tolist(), round(share, 3)
    ([[1.0, 0.5], [1.0, 0.5], [1.0, 0.5], [1.0, 0.5]], 1.0)
    """
    centred = np.asarray(vectors, dtype=np.float64) - np.mean(vectors, axis=0)
    _left, sizes, axes = np.linalg.svd(centred, full_matrices=False)
    axes = (
        axes * np.sign(axes[np.arange(len(axes)), np.abs(axes).argmax(1)])[:, None]
    )  # one sign, so that a map is not mirrored
    total = float((sizes**2).sum()) or 1.0
    return centred @ axes[:2].T, float((sizes[:2] ** 2).sum()) / total


def pieces_of(run: Run, word: str) -> tuple[int, ...]:
    """Return the token positions of the last occurrence of a word in the text. Raises InputError where there is none."""
    found = [each.pieces for each in run.side.words if each.text.lower() == word.strip().lower()]
    if not found:
        raise InputError(
            _("“{word}” is not in “{text}”.", word=_short(word), text=run.side.text),
            _("The word must occur in both sentences."),
            _("Choose another word or sentence."),
        )
    return found[-1]


def layer_cosines(one: Run, other: Run, word: str) -> Array:
    """Return the cosine of a word's two vectors in two sentences: (layer + 2,). First its rows of the token table, then the input of
    each layer, and the output of the last.
    """
    vectors = []
    for run in (one, other):
        pieces = list(pieces_of(run, word))
        every = np.concatenate([run.trace["embed.token"][None], run.hidden()])
        vectors.append(every[:, pieces].mean(1))
    first, second = vectors
    return np.array([float(cosines(b[None], a)[0]) for a, b in zip(first, second, strict=True)])


@dataclass(frozen=True)
class Mixed:
    """One row of a causal head by word: the words up to the current one, their weights, and how near the mix of their vectors is to each."""

    words: tuple[str, ...]
    weights: Array
    mix: Array
    near: Array


def head_mix(run: Run, layer: int, head: int, row: int) -> Mixed:
    """Return the mix of the words up to `row` by the weights of one head: sum_j a_j x_j, x_j rows of the token table."""
    words = run.side.words
    weights = run.attention("causal", by="word").weights[layer, head, row, : row + 1].astype(np.float64)
    table = np.stack([run.trace["embed.token"][list(word.pieces)].mean(0) for word in words[: row + 1]])
    mix = weights @ table
    return Mixed(tuple(word.text for word in words[: row + 1]), weights, mix, cosines(table, mix))
