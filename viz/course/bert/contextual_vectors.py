"""The vector of one word in many sentences, layer by layer, and of whole sentences: how alike they are.

    cosine(u, w) = u . w / (|u| |w|)

A table has one vector a word. A model that reads the sentence gives the word another vector in each (Ghojogh and Ghodsi 2020, section 4).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.errors import InputError
from core.maths import unit_rows
from core.model import Model
from viz.course.shared.word_vectors import UNKNOWN, pieces_of, table_of

Array = NDArray[np.float64]
KEEP = ("embed.token", "layer.*.resid_in", "layer.*.resid_out")
HOWS = ("[CLS]", "mean of all places", "mean of table vectors")
AT_ONCE = 32


@dataclass(frozen=True, eq=False)
class Uses:
    """A word in several sentences: vectors (layer + 2, sentence, d_model), and its `places` (sentence,) in tokens.

    Row 0 of the vectors is the token table, row 1 the input of the first layer (with the position), the last the output of the
    last layer.
    """

    texts: tuple[str, ...]
    vectors: Array
    places: tuple[int, ...]

    def cosines(self, layer: int) -> Array:
        """Return the cosine of each pair of sentences at one of the rows (sentence, sentence)."""
        return cosines(self.vectors[layer])

    def by_layer(self) -> Array:
        """Return the cosine of the first two sentences, row after row (layer + 2,)."""
        return np.array([cosines(rows[:2])[0, 1] for rows in self.vectors])


def uses(model: Model, texts: Sequence[str], word: str) -> Uses:
    """Return the vectors of a word at its last position in each text; of several tokens the mean. Raises InputError for a text
    without it.

    >>> import core
    >>> found = uses(core.open_model("bert-mini"), ["Money is in the bank.", "Some plants grow in bank of rivers."], "bank")
    >>> found.places, found.by_layer()[:2].tolist(), bool(found.by_layer()[-1] < 1)
    ((5, 5), [1.0, 1.0], True)
    """
    vectors, places = [], []
    for text in texts:
        run = model.run(text, keep=KEEP)
        pieces = list(pieces_of(run, word))
        every = np.concatenate([np.asarray(run.trace["embed.token"])[None], run.hidden()]).astype(np.float64)
        vectors.append(every[:, pieces].mean(1))
        places.append(pieces[0])
    return Uses(tuple(texts), np.stack(vectors, 1), tuple(places))


def cosines(rows: Array) -> Array:
    """Return all cosines of rows (row, d) with each other, as 1 - |u - w|^2 / 2 of the unit vectors: equal rows give exactly 1.

    >>> cosines(np.array([[3.0, 4.0], [3.0, 4.0], [-4.0, 3.0]])).round(12).tolist()
    [[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    units = unit_rows(np.asarray(rows, dtype=np.float64))
    return 1 - ((units[:, None] - units[None]) ** 2).sum(-1) / 2


def nearest(matrix: Array) -> NDArray[np.int64]:
    """Return for each row of a matrix of cosines the other row with the largest (row,); of equal ones the earlier.

    >>> nearest(np.array([[1.0, 0.5, 0.2], [0.5, 1.0, 0.9], [0.2, 0.9, 1.0]])).tolist()
    [1, 2, 1]
    """
    held = np.array(matrix, dtype=np.float64)
    np.fill_diagonal(held, -np.inf)
    return held.argmax(1)


def agree(matrix: Array, kinds: Sequence[Any]) -> int:
    """Count the rows whose nearest row is of their own kind.

    >>> agree(np.array([[1.0, 0.5, 0.2], [0.5, 1.0, 0.9], [0.2, 0.9, 1.0]]), ["a", "a", "b"])
    1
    """
    return sum(kinds[row] == kinds[other] for row, other in enumerate(nearest(matrix)))


def kept_apart(matrix: Array, kinds: Sequence[int]) -> tuple[float, float]:
    """Return the mean cosine of two different rows of one kind, and of rows of two kinds; rows of a kind below 0 do not count.

    >>> kept_apart(np.array([[1.0, 0.5, 0.2], [0.5, 1.0, 0.4], [0.2, 0.4, 1.0]]), [0, 0, 1])
    (0.5, 0.30000000000000004)
    """
    found = np.array(kinds)
    counted = (found[:, None] >= 0) & (found >= 0) & ~np.eye(len(found), dtype=bool)
    same = found[:, None] == found
    return float(matrix[counted & same].mean()), float(matrix[counted & ~same].mean())


def sentences(model: Model, texts: Sequence[str], how: str) -> Array:
    """Return one vector per sentence (sentence, d_model), from the last layer or, of the table vectors, from before any.

    how: "[CLS]" is the first place, "mean of all places" leaves [CLS] and [SEP] out, "mean of table vectors" has no context.
    """
    return in_all_ways(model, texts)[how]


def in_all_ways(model: Model, texts: Sequence[str]) -> dict[str, Array]:
    """Read the vectors of the sentences in each of HOWS from the same runs."""
    found: dict[str, list[Array]] = {how: [] for how in HOWS}
    for at in range(0, len(texts), AT_ONCE):
        for run in model.run_many(list(texts[at : at + AT_ONCE]), keep=KEEP):
            inside = [place for place, span in enumerate(run.spans) if span is not None]
            if not inside:
                raise InputError(
                    "There is no word.", "A sentence's vector is made of its words.", "Type a sentence."
                )
            table, last = np.asarray(run.trace["embed.token"]), run.hidden()[-1]
            for how, row in zip(HOWS, (last[0], last[inside].mean(0), table[inside].mean(0)), strict=True):
                found[how].append(row)
    return {how: np.stack(rows).astype(np.float64) for how, rows in found.items()}


def belongs(model: Any, word: str, groups: Sequence[Sequence[str]]) -> list[tuple[str, int, float]]:
    """Return the cosine of a word's one vector in a table (family skipgram) with the words of each group that the table has:
    (word, group, cosine)."""
    table, ids = table_of(model), {}
    for name in {word, *(other for group in groups for other in group)}:
        found = model.tokenizer.encode(name).ids
        if len(found) == 1 and found[0] != UNKNOWN:
            ids[name] = found[0]
    if word not in ids:
        raise InputError(
            f"“{word}” is not in the table of {model.name}.",
            "It holds frequent words only.",
            "Choose another word.",
        )
    units = unit_rows(table.astype(np.float64))
    return [
        (name, number, float(units[ids[word]] @ units[ids[name]]))
        for number, group in enumerate(groups)
        for name in group
        if name in ids
    ]
