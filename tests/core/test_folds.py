"""Folds of whole books: no book is on both sides, every document is held out once, and a fold is measured on its own books."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from core.data.documents import read_documents
from core.errors import InputError
from core.text import Tokenizer
from core.text.learn import learn_word_list
from core.tools import folds
from core.training.recipes import han_genres


@pytest.fixture
def data(tmp_path):
    """Three splits of 12 books of each class, two pages each; a page names its class."""
    for place, split in enumerate(folds.SPLITS):
        rows = [
            {
                "label": label,
                "book": f"{label} {4 * place + book}",
                "sentences": [f"The {label.split('_')[0]} came.", f"Page {page}."],
            }
            for label in han_genres.LABELS
            for book in range(4)
            for page in range(2)
        ]
        path = tmp_path / "genres" / f"{split}.jsonl"
        path.parent.mkdir(exist_ok=True)
        path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return tmp_path


def test_each_book_is_left_out_once_and_whole(data, tmp_path):
    seen = []
    for folder in folds.split_by_book(data, tmp_path / "work", 3, seed=0):
        train, valid = ([*read_documents(folder / "genres" / f"{name}.jsonl")] for name in ("train", "valid"))
        assert len(train) + len(valid) == 144
        assert {each.book for each in train}.isdisjoint(each.book for each in valid)
        assert np.unique([each.label for each in valid], return_counts=True)[1].tolist() == [8] * 6
        seen += [each.book for each in valid]
    assert len(seen) == 144 and len(set(seen)) == 72


@pytest.mark.parametrize("n", [1, 13])
def test_too_few_books_for_the_folds_are_refused(data, tmp_path, n):
    with pytest.raises(InputError, match=f"{n} folds"):
        folds.split_by_book(data, tmp_path / "work", n, seed=0)


@pytest.mark.slow
def test_a_fold_is_trained_on_the_other_books_and_measured_on_its_own(data, tmp_path):
    folder = folds.split_by_book(data, tmp_path / "work", 2, seed=0)[0]

    def prepare(where, work, seed, device):
        sets = [[*read_documents(where / "genres" / f"{name}.jsonl")] for name in ("train", "valid")]
        backend = learn_word_list((each for one in sets[0] for each in one.sentences), 60)
        return han_genres.Documents(*sets, Tokenizer(backend, pad=0), seed, device)

    config = replace(han_genres.RECIPE.config, n_vocab=60, d_model=32, dropout=0.0)
    recipe = replace(han_genres.RECIPE, prepare=prepare, begin=lambda network: None, config=config)
    recipe = replace(recipe, steps=60, warm_up=5, lr=0.03)
    found = folds.measure_fold(recipe, folder, seed=0, baselines=True)
    assert found["items"] == 72 and set(found["accuracy_by_class"]) == set(han_genres.LABELS)
    again = folds.measure_fold(recipe, folder, seed=0, resume=True)
    assert {**again, "beside": found["beside"]} == found, "nothing is left to train"
    assert found["accuracy"] > 0.9 and found["beside"]["naive Bayes over words"]["accuracy"] == 1.0


def test_the_summary_is_of_the_folds():
    rows = [{"items": 3, "accuracy": a, "accuracy_by_class": {"x": a, "y": 1.0}} for a in (0.5, 0.7, 0.9)]
    found = folds.summarise(rows)
    assert (found["items"], found["accuracy_by_class"]) == (9, {"x": pytest.approx(0.7), "y": 1.0})
    assert found["accuracy"] == pytest.approx(0.7) and found["accuracy_spread"] == pytest.approx(0.2)
    assert found["accuracy_by_fold"]["fold 3"] == 0.9


def test_the_words_of_the_most_books_come_first():
    pages = [("one", ("rare rare rare rare common",)), ("two", ("common",)), ("three", ("common other",))]
    documents = [han_genres.Document("x", sentences, book) for book, sentences in pages]
    lines = [*han_genres._by_book(documents)]
    assert sorted(lines) == ["common", "common other", "common rare"]
    assert learn_word_list(lines, 2).encode("common rare").tokens == ["common", "[UNK]"]
