"""The glossary names every leaf and axis that any family records."""

from __future__ import annotations

from pathlib import Path

import pytest

from core import glossary

GOLDEN = sorted((Path(__file__).parent.parent / "golden").glob("*.txt"))


@pytest.mark.parametrize("file", GOLDEN, ids=lambda file: file.stem)
def test_every_recorded_leaf_and_axis_has_an_entry(file):
    axes = {term.name for term in glossary.AXES}
    for line in file.read_text(encoding="utf-8").splitlines():
        path, words = line.split(": ")
        assert glossary.leaf(path) is not None, path
        assert set(words.split()) <= axes, line


def test_names_are_unique_and_sentences_end():
    for terms in (glossary.LEAVES, glossary.AXES):
        assert len({term.name for term in terms}) == len(terms)
        assert all(term.sentence.endswith(".") and term.symbol and term.word for term in terms)
    assert {letter.letter for letter in glossary.LETTERS} == set("phnkSMVH")
    assert all(len(letter.meanings) >= 2 for letter in glossary.LETTERS)
