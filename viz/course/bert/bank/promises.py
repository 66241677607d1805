"""Conditions that make the sentences of the exhibit on one word with two meanings true, step by step."""

from __future__ import annotations

from functools import cache

import numpy as np

from core.serving.engine import default
from viz.course.bert import contextual_vectors, senses
from viz.course.bert.bank import topics
from viz.course.bert.bank.params import MODEL, TABLE, Params
from viz.course.bert.contextual_vectors import Uses
from viz.course.shared.word_vectors import principal_plane

classified = cache(topics.classified)


@cache
def _uses(name: str) -> tuple[Uses, tuple[int, ...]]:
    """Return the vectors of a word in its eight sentences, and its meaning in each."""
    texts, kinds = zip(*senses.WORDS[name].uses, strict=True)
    return contextual_vectors.uses(default().open(MODEL), texts, name), kinds


def _agree(name: str, layer: int) -> int:
    found, kinds = _uses(name)
    return contextual_vectors.agree(found.cosines(layer), kinds)


def _pair(params: Params) -> np.ndarray:
    return contextual_vectors.uses(default().open(MODEL), (params.one, params.two), params.word).by_layer()


def _leans(name: str) -> float:
    """Return the difference between the mean cosines of a table's vector with words of one meaning and of the other."""
    word = senses.WORDS[name]
    rows = contextual_vectors.belongs(default().open(TABLE), name, word.near)
    means = [np.mean([cosine for _, number, cosine in rows if number == kind]) for kind in (0, 1)]
    return float(abs(means[0] - means[1]))


TWO = {
    "in the table the word has one vector": lambda params, held: _pair(params)[0] == 1,
    "the last layer's vectors differ, unless the sentences are the same": lambda params, held: (
        (_pair(params)[-1] < 0.98) == (params.one != params.two)
    ),
    "two meanings are farther apart than one meaning": lambda params, held: (
        _pair(Params())[-1] < _pair(Params(two="She put her gold in the bank."))[-1] - 0.1
    ),
}
MANY = {
    "in the table no sentence differs from another": lambda params, held: (
        _uses(params.which)[0].cosines(0).min() == 1
    ),
    "bank: at least 6 of 8 are nearest to their own meaning, by chance 3.4": lambda params, held: (
        _agree("bank", -1) >= 6
    ),
    "spring and letter: at most 5 of 8": lambda params, held: (
        max(_agree("spring", -1), _agree("letter", -1)) <= 5
    ),
}
MAP = {
    "two directions hold at least half of the differences after the last layer": lambda params, held: (
        principal_plane(_uses(params.which)[0].vectors[-1])[1] > 0.5
    )
}
STATIC = {"the table's vector leans to one meaning by 0.05": lambda params, held: _leans(params.which) > 0.05}
WHOLE_SENTENCES = {
    "by cosine alone at most 2 of 10 are nearest to the same meaning": lambda params, held: all(
        topics.won(how) <= 2 for how in contextual_vectors.HOWS
    ),
    "a trained classifier is far above chance, whichever vector it reads": lambda params, held: all(
        classified(how).low > 2 * topics.chance() for how in contextual_vectors.HOWS
    ),
}
