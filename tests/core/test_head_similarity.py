"""Heads beside heads: words that models cut differently are joined, distances are those of scipy, the nearest come first."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import jensenshannon
from small_models import build

import core
from core.analysis.heads import evidence
from core.analysis.heads.habits import HeadHabits
from core.analysis.heads.head_similarity import (
    TextPatterns,
    common_positions,
    divergences_from,
    nearest_heads,
    pairwise_divergences,
    stack_rows,
    text_patterns,
)
from core.analysis.heads.head_survey import score_example, score_sentence
from core.data.texts import Sentence, texts

TEXT = "The animal didn't cross the street because it was too tired."


def random_rows(heads=5, sentences=((3, 4), (7, 6)), seed=0):
    rng = np.random.default_rng(seed)
    parts = [
        [TextPatterns(tuple(range(q)), tuple(range(k)), _rows(rng, heads, q, k + 1))] for q, k in sentences
    ]
    return stack_rows(parts)


def _rows(rng, *shape):
    w = rng.random(shape) ** 3
    return (w / w.sum(-1, keepdims=True)).astype(np.float32)


def test_distances_are_scipys_mean_over_all_rows_of_all_texts():
    rows = random_rows()
    assert rows.weights.shape == (5, 10, 7)
    assert rows.begins == (0, 3)
    assert rows.n_keys == (4, 6)
    assert rows.n_texts == 2
    wanted = np.zeros((5, 5))
    for a, b in zip(*np.nonzero(~np.eye(5, dtype=bool)), strict=True):
        wanted[a, b] = np.mean(jensenshannon(*rows.weights[[a, b]].astype(float), base=2, axis=-1) ** 2)
    np.testing.assert_allclose(pairwise_divergences(rows), wanted, atol=1e-5)
    for head in range(5):
        np.testing.assert_allclose(divergences_from(rows, head), wanted[head], atol=1e-5)
    assert nearest_heads(wanted[2], 2) == [i for i in np.argsort(wanted[2]).tolist() if i != 2]


def test_a_text_keeps_its_own_rows_and_heads_can_be_picked():
    rows = random_rows()
    assert rows.text_rows(1).shape == (5, 7, 7) and rows.text_rows(0).shape == (5, 3, 5)
    np.testing.assert_allclose(rows.text_rows(0).sum(-1), 1, atol=1e-6)
    np.testing.assert_array_equal(rows.select_heads([3, 1]).weights, rows.weights[[3, 1]])


def test_words_that_models_cut_differently_are_joined():
    fine = TextPatterns(
        (0, 4, 6),
        (0, 4, 6),
        np.array([[[0.1, 0.9, 0, 0], [0.2, 0.3, 0.5, 0], [0, 0.2, 0.3, 0.5]]], dtype=np.float32),
    )
    coarse = TextPatterns((0, 6), (0, 6), np.array([[[0, 1, 0], [0.5, 0.25, 0.25]]], dtype=np.float32))
    assert common_positions([fine, coarse]) == ((0, 6), (0, 6))
    rows = stack_rows([[fine, coarse]])
    np.testing.assert_allclose(rows.weights[0], [[0.15, 0.85, 0], [0, 0.5, 0.5]], atol=1e-6)
    np.testing.assert_allclose(rows.weights[1], [[0, 1, 0], [0.5, 0.25, 0.25]], atol=1e-6)
    nothing = TextPatterns((3,), (3,), np.ones((1, 1, 2), dtype=np.float32))
    assert stack_rows([[fine, coarse], [fine, nothing]]).n_texts == 1


def test_of_a_run_the_rows_are_its_words_and_what_was_added_is_one_key():
    run = build().run(TEXT)
    found, whole = text_patterns(run, "self"), run.attention("self", by="word")
    words = [place for place, word in enumerate(whole.keys) if word not in ("[CLS]", "[SEP]")]
    assert len(words) == len(whole.keys) - 2 and found.queries == found.keys
    assert [TEXT[begin:].split(" ")[0].strip(".") for begin in found.keys[:3]] == ["The", "animal", "didn't"]
    wanted = whole.weights.reshape(-1, *whole.weights.shape[2:])
    np.testing.assert_allclose(found.weights[..., 1:], wanted[:, words][..., words], atol=1e-6)
    np.testing.assert_allclose(found.weights.sum(-1), 1, atol=1e-5)
    assert found.weights[..., 0].max() > 0.01


@pytest.mark.quick(2)
@pytest.mark.parametrize("name", ["previous", "itself", "first", "punctuation", "spread"])
def test_the_rows_behind_a_score_make_the_score(name):
    model = core.open_model("gpt-mini")
    for text in evidence.evidence_texts(name)[:3]:
        scores, _ = score_sentence(
            text, model.run(text.text, keep=["*.pattern"]).attention("causal", by="word")
        )
        np.testing.assert_allclose(
            np.nanmean(evidence.measure_rows(model, "causal", name, text), -1), scores[name], atol=1e-5
        )


def test_induction_reads_the_word_behind_each_earlier_copy():
    text = "the cat saw the dog and the cat"
    read = core.open_model("gpt-mini").run(text, keep=["*.pattern"]).attention("causal", by="word")
    cells, rows = evidence.measured_cells(read, "induction", evidence.Example(text))
    behind = [
        [key > 0 and read.keys[key - 1] == word for key in range(i)] for i, word in enumerate(read.keys)
    ]
    assert [row[:i].tolist() for i, row in enumerate(cells)] == behind and not np.triu(cells).any()
    assert rows.sum() == 3 and cells.sum() == 4


@pytest.mark.quick(3)
@pytest.mark.parametrize(
    "name", ["induction", "duplicate", "coreference", "agreement", "questions", "lists", "quotes"]
)
def test_linked_words_are_counted_pair_by_pair(name):
    model = core.open_model("gpt-mini")
    for text in evidence.evidence_texts(name)[:3]:
        scores, _ = score_sentence(
            text, model.run(text.text, keep=["*.pattern"]).attention("causal", by="word")
        )
        if name in scores:
            np.testing.assert_allclose(
                np.nanmean(evidence.measure_rows(model, "causal", name, text), -1), scores[name], atol=1e-5
            )
            return
    pytest.fail("no sentence of the group has a link")


def test_pairs_are_counted_as_the_aligner_is():
    model, row = core.open_model("translator-en-es"), texts("heads_en-es")[0]
    kinds = [model.spec.kind("cross")]
    wanted = score_example(model, row, kinds)["cross"][0]["aligner"]
    np.testing.assert_allclose(
        np.nanmean(evidence.measure_rows(model, "cross", "aligner", row), -1), wanted, atol=1e-5
    )
    assert evidence.evidence_texts("aligner", pairs=True) == texts("heads_en-es")


def test_evidence_names_the_texts_and_the_rows_with_most_and_least():
    rows = [Sentence(f"x-{n}", "previous-word", TEXT, (), "", "") for n in range(3)]
    values = [np.array([[[np.nan, 0.2, 0.9]]]), np.full((1, 1, 4), np.nan), np.array([[[np.nan, 0.6, 0.4]]])]
    found = evidence.collect_evidence("previous", rows, values)
    assert [text.id for text in found.texts] == ["x-0", "x-2"]
    np.testing.assert_allclose(found.head_scores(0, 0), [0.55, 0.5])
    assert found.most[:, 0, 0].tolist() == [2, 1] and found.least[:, 0, 0].tolist() == [1, 2]
    over = evidence.stability(found.head_scores(0, 0))
    assert (over.least, over.most, over.deviation) == (
        0.5,
        0.55,
        round(float(np.std([0.55, 0.5])), 3),
    ) and over.median == pytest.approx(0.525)


def test_a_habit_of_place_stays_on_shuffled_words_and_one_of_words_goes():
    score, low = np.array([[0.6, 0.6, 0.2]]), np.full((1, 3), 0.1)
    heads = HeadHabits({"previous": score, "spread": low}, 1, {"previous": np.array([[0.59, 0.2, 0.2]])})
    assert [evidence.is_positional(heads, 0, head) for head in range(3)] == [True, False, None]
    linked = HeadHabits({"coreference": score, "spread": low}, 1, {"coreference": low})
    assert evidence.is_positional(linked, 0, 0) is False
