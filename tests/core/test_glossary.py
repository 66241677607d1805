"""The glossary names every leaf and axis that any family records."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from core import glossary
from core.analysis.attention.measures import entropy
from core.analysis.heads.pattern_distance import jensen_shannon

GOLDEN = sorted((Path(__file__).parent.parent / "golden").glob("*.txt"))


@pytest.mark.parametrize("file", GOLDEN, ids=lambda file: file.stem)
def test_every_recorded_leaf_and_axis_has_an_entry(file):
    axes = {term.name for term in glossary.AXES}
    for line in file.read_text(encoding="utf-8").splitlines():
        path, words = line.split(": ")
        assert glossary.leaf(path) is not None, path
        assert set(words.split()) <= axes, line


def test_names_are_unique_and_sentences_end():
    for terms in (glossary.LEAVES, glossary.AXES, glossary.METHODS):
        assert len({term.name for term in terms}) == len(terms)
        assert all(term.sentence.endswith(".") and term.symbol and term.word for term in terms)
    assert {letter.letter for letter in glossary.LETTERS} == set("phnkSMVH")
    assert all(len(letter.meanings) >= 2 for letter in glossary.LETTERS)


def test_measures_and_methods_have_an_entry_and_are_found_where_a_text_speaks_of_them():
    words = {term.word for term in glossary.METHODS}
    assert {"surprisal", "logit lens", "KV cache", "ablation", "Jensen-Shannon divergence"} <= words
    assert not words & {term.word for term in (*glossary.LEAVES, *glossary.AXES)}
    for term in glossary.METHODS:
        assert (
            term in glossary.mentioned_terms(f"{term.word.capitalize()} of 3.")
            and glossary.term(term.name) is term
        )
    assert [term.word for term in glossary.mentioned_terms("a cross-entropy of 2 bits")] == [
        "cross-entropy"
    ], "not the entropy besides"
    assert glossary.mentioned_terms("The cat sat.") == ()


def test_what_the_glossary_says_of_a_measure_is_so():
    """The formulas and the ends of the scales in its sentences, from the functions that pages use."""
    certain, even, apart = np.array([1.0, 0, 0, 0]), np.full(4, 0.25), np.array([0, 1.0, 0, 0])
    assert entropy(certain[None]).item() == 0 and np.isclose(
        entropy(even[None]).item() / np.log(2), np.log2(4)
    )
    mean = (certain + even) / 2
    bits = (entropy(mean[None]) - (entropy(certain[None]) + entropy(even[None])) / 2).item() / np.log(2)
    assert np.isclose(jensen_shannon(certain, even), bits)
    assert np.isclose(jensen_shannon(even, even), 0) and np.isclose(jensen_shannon(certain, apart), 1)
