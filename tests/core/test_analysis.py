"""Measures of heads on constructed patterns, divergences against scipy."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.spatial.distance import jensenshannon
from scipy.stats import entropy as scipy_entropy

from core.analysis.attention import measures
from core.analysis.heads import habits, pattern_distance
from core.run import Attention
from core.text.words import words_in

WORDS = ("The", "cat", "sat", "down", ".")
ROWS = hnp.arrays(np.float64, (3, 7), elements=st.floats(0.01, 1)).map(lambda a: a / a.sum(-1, keepdims=True))


def attention(kind, pattern, queries=WORDS, keys=WORDS):
    pattern = np.asarray(pattern, dtype=np.float32)[None, None]
    allowed = (
        np.ones(pattern.shape, dtype=bool)
        if kind != "causal"
        else np.broadcast_to(np.tril(np.ones(pattern.shape[2:], dtype=bool)), pattern.shape)
    )
    return Attention(kind, pattern, queries, keys, allowed, ("p",))


def surveyed(examples):
    found = [habits.measures(attention, links) for attention, links in examples]
    return habits.HeadHabits(habits.mean_scores(found), len(found))


LINKS = ((0, 0), (2, 1), (1, 2), (3, 3))
PREVIOUS = np.eye(5, k=-1) + np.diag([1, 0, 0, 0, 0])
FIRST = np.outer(np.ones(5), np.eye(5)[0])
EVEN = np.tril(np.ones((5, 5))) / np.arange(1, 6)[:, None]


@pytest.mark.parametrize(
    ("kind", "pattern", "name"),
    [
        ("causal", PREVIOUS, "previous"),
        ("causal", FIRST, "first"),
        ("causal", np.eye(5), "itself"),
        ("causal", EVEN, "spread"),
        ("self", np.eye(5, k=1) + np.diag([0, 0, 0, 0, 1]), "next"),
        ("self", np.outer(np.ones(5), np.eye(5)[4]), "punctuation"),
        ("cross", np.eye(5)[[0, 2, 1, 3, 4]], "aligner"),
    ],
)
def test_a_constructed_head_gets_its_name(kind, pattern, name):
    measured = surveyed([(attention(kind, pattern), LINKS if kind == "cross" else ())])
    assert measured.habit(0, 0) == name and measured.label(0, 0) == habits.HABIT_NAMES[name]
    assert measured.best_head_by_habit() == {name: (0, 0)} and 0 <= measured.score(0, 0) <= 1 + 1e-6


def test_alignment_is_the_weight_on_the_linked_words():
    fixed = np.outer(np.ones(5), np.eye(5)[1])
    assert measures.alignment(attention("cross", fixed).weights, LINKS)[0, 0] == pytest.approx(0.25)
    assert measures.alignment(attention("cross", np.eye(5)).weights, LINKS)[0, 0] == pytest.approx(0.5)
    two_for_one = np.full((1, 5), 0.2)
    assert measures.alignment(attention("cross", two_for_one, queries=("x",)).weights, ((0, 0), (1, 0)))[
        0, 0
    ] == pytest.approx(0.4)


TWICE = ("the", "red", "fox", "met", "the", "red", "hen")


def test_induction_and_duplicates_by_hand():
    after = np.zeros((7, 7))
    after[4, 1], after[5, 2] = 0.9, 0.5  # the second 'the' looks at what followed the first, 'red' at 'fox'
    assert measures.induction(after, TWICE) == pytest.approx(0.7)
    assert measures.duplicate(after, TWICE) == pytest.approx(0)
    same = np.zeros((7, 7))
    same[4, 0], same[5, 1] = 1.0, 0.2
    assert measures.duplicate(same, TWICE) == pytest.approx(0.6) and measures.induction(
        same, TWICE
    ) == pytest.approx(0)
    assert np.isnan(measures.induction(np.eye(3), "abc")) and np.isnan(measures.duplicate(np.eye(3), "abc"))
    thrice = np.full((5, 5), 0.2)
    assert measures.duplicate(thrice, "aabca") == pytest.approx((0.2 + 0.4) / 2)
    assert measures.induction(np.eye(2, k=-1), "aa").shape == ()  # a key is never the query itself or later
    assert np.isnan(measures.induction(np.eye(2, k=-1), "aa"))


def test_an_induction_head_gets_its_name():
    pattern = np.tril(np.full((7, 7), 0.01))
    pattern[4, 1], pattern[5, 2] = 1, 1
    found = surveyed([(attention("causal", pattern, TWICE, TWICE), ()), (attention("causal", EVEN), ())])
    assert found.scores["induction"][0, 0] == pytest.approx(1.0) and found.habit(0, 0) == "induction"


def test_a_head_on_the_separator_gets_its_name():
    """By its place, whatever it is called: a word that is spelled like a mark is none."""
    on_last = np.outer(np.ones(5), np.eye(5)[4])
    for words in (
        ("[CLS]", "a", "dog", ".", "[SEP]"),
        ("<s>", "a", "dog", ".", "</s>"),
        ("?", "a", "dog", ".", "?"),
    ):
        made = replace(attention("self", on_last, words, words), special_positions=((0, 4), (0, 4)))
        found = surveyed([(made, ())])
        assert found.habit(0, 0) == "separator" and found.scores["punctuation"][0, 0] == 0
        assert not found.scores["duplicate"].any()
        bare = surveyed([(attention("self", on_last, words, words), ())])
        assert "separator" not in bare.scores


def test_contributions_by_hand_and_as_the_sum_of_the_layer():
    rng = np.random.default_rng(0)
    weights, values, out = (
        rng.dirichlet(np.ones(5), (3, 4)),
        rng.normal(size=(3, 5, 7)),
        rng.normal(size=(3, 7, 11)),
    )
    found = measures.contributions(weights, values, out)
    assert found[2, 1, 3] == pytest.approx(weights[2, 1, 3] * np.linalg.norm(values[2, 3] @ out[2]))
    turned = measures.contributions(weights, 2 * values, out)
    np.testing.assert_allclose(turned, 2 * found)
    values[:, 2] = 0
    assert (measures.contributions(weights, values, out)[..., 2] == 0).all()


def test_best_puts_the_aligner_first_and_the_vague_last():
    scores = {
        "aligner": np.array([[0.9, 0.1, 0.5]]),
        "punctuation": np.zeros((1, 3)),
        "spread": np.array([[0.1, 0.9, 0.2]]),
    }
    assert habits.HeadHabits(scores, 1).best_head_by_habit() == {
        "aligner": (0, 0),
        "spread": (0, 1),
        "mixed": (0, 2),
    }


@given(ROWS)
def test_entropy_is_scipys(rows):
    np.testing.assert_allclose(measures.entropy(rows), scipy_entropy(rows, axis=-1), atol=1e-9)


@given(ROWS, ROWS)
def test_divergence_is_scipys_and_symmetric(a, b):
    ours = pattern_distance.jensen_shannon(a, b)
    theirs = (
        np.nan_to_num(jensenshannon(a, b, base=2, axis=-1)) ** 2
    )  # scipy takes the root of a rounding error for equal rows
    np.testing.assert_allclose(ours, theirs, atol=1e-7)
    np.testing.assert_allclose(ours, pattern_distance.jensen_shannon(b, a), atol=1e-12)


def test_mean_distance_by_hand():
    assert measures.mean_distance(PREVIOUS) == pytest.approx(4 / 5)
    assert measures.mean_distance(np.eye(5)) == 0


def test_the_links_of_our_sentences_name_words_that_are_there():
    file = Path(__file__).parents[2] / "assets" / "texts" / "heads_en-es.tsv"
    for line in file.read_text(encoding="utf-8").splitlines():
        source, target, links = line.split("\t")
        counts = [len(words_in(text)) for text in (source, target)]
        for link in links.split():
            assert all(int(i) < n for i, n in zip(link.split("-"), counts, strict=True)), line
        assert len({link.split("-")[1] for link in links.split()}) >= counts[1] - 3, line
