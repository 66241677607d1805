"""One concept, several languages: an encoder of word vectors, and a decoder for each language on the same context."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from core.data.texts import Concept, texts
from core.maths import unit_rows
from viz.course.why.autoencoder.linear_autoencoder import Coder, Data, Head, head

Array = NDArray[np.float64]

LANGUAGES = ("spanish", "french", "german", "persian")
UNTAUGHT = ("elephants", "mare", "wolves", "princess", "cottage", "stream", "hill", "ship")
"""English words that are not in our list: no decoder was fitted to them."""


def taught() -> tuple[Concept, ...]:
    """Return our list of concepts, elephant first."""
    return texts("concepts")


def vectors(table: Array, ids: Mapping[str, int]) -> dict[str, Array]:
    """Return the vector of each English word that the exhibit uses, scaled to length 1: (d,) each.

    table: (word, d); ids: the row of each word. A word without a row is a KeyError.
    """
    words = [*(concept.english for concept in taught()), *UNTAUGHT]
    return dict(
        zip(words, unit_rows(np.asarray(table, dtype=np.float64)[[ids[word] for word in words]]), strict=True)
    )


def pairs(words: Sequence[str]) -> tuple[Array, tuple[str, ...]]:
    """Count each pair of neighbouring letters in each word, its ends marked by spaces.

    Shapes: (word, pair), and the pairs.

    >>> pairs(["aa", "ab"])[1], pairs(["aa", "ab"])[0].tolist()
    ((' a', 'a ', 'aa', 'ab', 'b '), [[1.0, 1.0, 1.0, 0.0, 0.0], [1.0, 0.0, 0.0, 1.0, 1.0]])
    """
    found = [[f" {word} "[i : i + 2] for i in range(len(word) + 1)] for word in words]
    names = tuple(sorted({pair for row in found for pair in row}))
    return np.array([[float(row.count(name)) for name in names] for row in found]), names


@dataclass(frozen=True, eq=False)
class Language:
    """One decoder: from the context to the letter pairs of a word, and the list of words from which it chooses the nearest."""

    words: tuple[str, ...]
    spelled: Array
    head: Head

    def nearness(self, context: Array) -> Array:
        """Return the cosine between the decoded letter pairs and those of each word, both minus their mean: (word,) or (..,
        word)."""
        return unit_rows(self.head(context) - self.head.mean) @ unit_rows(self.spelled - self.head.mean).T

    def says(self, context: Array) -> str:
        """Return the word of the list whose letter pairs have the largest cosine with the decoded ones."""
        return self.words[int(self.nearness(context).argmax())]


@dataclass(frozen=True, eq=False)
class Dictionary:
    """One encoder of English word vectors into p numbers, and four linear decoders that spell.

    The encoder is that of the best linear autoencoder of the vectors; each decoder is fitted to its language alone by
    least squares.
    """

    data: Data
    p: int

    @cached_property
    def coder(self) -> Coder:
        """Return encoder and decoder of the vectors themselves, in closed form."""
        return self.data.best(self.p)

    @cached_property
    def contexts(self) -> Array:
        """Return the context of each concept in the list: (concept, p)."""
        return self.coder.context(self.data.rows)

    @cached_property
    def languages(self) -> dict[str, Language]:
        """Return the four decoders, all fitted to the same contexts."""
        found = {}
        for name in LANGUAGES:
            words = tuple(getattr(concept, name) for concept in taught())
            spelled, _ = pairs(words)
            found[name] = Language(words, spelled, head(self.contexts, spelled))
        return found

    def right(self, name: str) -> float:
        """Return the share of the concepts for which this decoder writes the word of the list."""
        language = self.languages[name]
        said = language.nearness(self.contexts).argmax(-1)
        return float(
            np.mean([language.words[i] == word for i, word in zip(said, language.words, strict=True)])
        )
