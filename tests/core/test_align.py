"""Common places of patterns: identity, symmetry, nothing crosses, nothing is lost, rows keep their sums."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

from core.analysis.attention.align import (
    Slot,
    align_tokens,
    align_words,
    merge_alignments,
    pool_pattern,
    pool_patterns,
)

WORDS = some.lists(some.sampled_from(["the", "The", "cat", "sat", "mat", ".", "!", "START"]), max_size=8)


def covered(slots: tuple[Slot, ...], side: int) -> list[int]:
    return [place for slot in slots for place in slot[side]]


@some.composite
def tokenized(draw) -> tuple[str, list[list[tuple[int, int] | None]]]:
    """A text and two ways to cut it, each with a mark before it or not."""
    text = draw(some.text("ab c", min_size=1, max_size=12))
    cuts = []
    for _ in range(2):
        places = sorted({0, len(text), *draw(some.lists(some.integers(0, len(text)), max_size=6))})
        spans: list[tuple[int, int] | None] = list(pairwise(places))
        cuts.append([None, *spans] if draw(some.booleans()) else spans)
    return text, cuts


def names(text: str, spans: list[tuple[int, int] | None]) -> list[str]:
    return ["START" if span is None else text[slice(*span)] for span in spans]


@given(WORDS)
def test_a_text_stands_opposite_itself(words):
    assert align_words(words, words) == tuple(((i,), (i,)) for i in range(len(words)))


@given(WORDS, WORDS)
def test_words_never_cross_and_none_is_lost(a, b):
    slots = align_words(a, b)
    assert covered(slots, 0) == list(range(len(a))) and covered(slots, 1) == list(range(len(b)))
    assert all(mine or yours for mine, yours in slots)


@given(WORDS, WORDS)
def test_which_text_comes_first_makes_no_difference(a, b):
    assert align_words(b, a) == tuple((yours, mine) for mine, yours in align_words(a, b))


@given(tokenized())
def test_two_tokenizers_meet_where_they_share_a_letter(case):
    text, (a, b) = case
    slots = align_tokens(text, a, b, names(text, a), names(text, b))
    assert covered(slots, 0) == list(range(len(a))) and covered(slots, 1) == list(range(len(b)))
    home = [{place: number for number, slot in enumerate(slots) for place in slot[side]} for side in (0, 1)]
    for i, mine in enumerate(a):
        for j, yours in enumerate(b):
            shared = (
                "" if mine is None or yours is None else text[max(mine[0], yours[0]) : min(mine[1], yours[1])]
            )
            if shared.strip():
                assert home[0][i] == home[1][j]


@given(tokenized())
def test_spans_are_symmetric_and_the_same_cut_is_the_identity(case):
    text, (a, b) = case
    there, back = (align_tokens(text, x, y, names(text, x), names(text, y)) for x, y in ((a, b), (b, a)))
    assert back == tuple((yours, mine) for mine, yours in there)
    assert align_tokens(text, a, a, names(text, a), names(text, a)) == tuple(
        ((i,), (i,)) for i in range(len(a))
    )


@given(WORDS, WORDS, WORDS)
def test_three_texts_share_their_places(a, b, c):
    slots = merge_alignments([align_words(a, b), align_words(a, c)])
    for side, words in enumerate((a, b, c)):
        assert covered(slots, side) == list(range(len(words)))


def test_two_tokenizers_of_three_are_joined_where_one_is_coarse():
    fine, coarse = [(0, 2), (2, 4), (4, 6)], [(0, 4), (4, 6)]
    text, cut = "abcdef", lambda spans: ["abcdef"[slice(*span)] for span in spans]
    pairs = [align_tokens(text, fine, other, cut(fine), cut(other)) for other in (coarse, fine)]
    assert merge_alignments(pairs) == (((0, 1), (0,), (0, 1)), ((2,), (1,), (2,)))


def test_a_changed_word_stands_opposite_the_other_and_an_added_one_alone():
    a, b = ["it", "was", "too", "tired", "."], ["it", "was", "much", "too", "wide", "."]
    assert align_words(a, b) == (
        ((0,), (0,)),
        ((1,), (1,)),
        ((), (2,)),
        ((2,), (3,)),
        ((3,), (4,)),
        ((4,), (5,)),
    )
    assert align_words(["end"], ["!"]) in ((((0,), ()), ((), (0,))), (((), (0,)), ((0,), ())))


def test_marks_of_one_name_meet_and_others_stand_alone():
    spans = [None, (0, 3), None]
    same = align_tokens("cat", spans, spans, ["START", "cat", "END"], ["START", "cat", "END"])
    assert same == (((0,), (0,)), ((1,), (1,)), ((2,), (2,)))
    other = align_tokens("cat", spans, spans, ["START", "cat", "END"], ["[CLS]", "cat", "[SEP]"])
    assert ((1,), (1,)) in other and len(other) == 5


@given(WORDS, WORDS, some.integers(0, 99))
def test_rows_on_common_places_still_sum_to_one(a, b, seed):
    patterns = [
        np.random.default_rng(seed).dirichlet(np.ones(len(words)), len(words)) for words in (a, b) if words
    ]
    if len(patterns) < 2:
        return
    words = align_words(a, b)
    found = pool_patterns(patterns, words, words)
    assert found[0].shape == found[1].shape == (len(words), len(words))
    for side, pattern in enumerate(found):
        there = np.array([bool(slot[side]) for slot in words])
        np.testing.assert_allclose(pattern.sum(-1), there.astype(float), atol=1e-12)


def test_summed_over_keys_and_averaged_over_queries_by_hand():
    pattern = np.array([[0.5, 0.25, 0.25], [0.0, 1.0, 0.0], [0.2, 0.3, 0.5]])
    found = pool_pattern(pattern, [(0, 1), (2,)], [(0,), (1, 2)])
    np.testing.assert_allclose(found, [[0.25, 0.75], [0.2, 0.8]])
    np.testing.assert_array_equal(pool_pattern(pattern, [(0,), (1,), (2,)], [(0,), (1,), (2,)]), pattern)


def test_no_alignment_is_no_place():
    assert align_words([], []) == () and merge_alignments([()]) == ()
    assert pool_pattern(np.zeros((0, 0)), [], []).shape == (0, 0)


def test_layers_and_heads_go_along():
    stack = np.random.default_rng(1).random((2, 3, 4, 4))
    words = [(0, 1), (2,), (3,)]
    assert pool_pattern(stack, words, words).shape == (2, 3, 3, 3)
    np.testing.assert_allclose(
        pool_pattern(stack, words, words)[1, 2], pool_pattern(stack[1, 2], words, words)
    )
    assert pool_pattern(stack, words, words)[0, 0, 0, 0] == pytest.approx(stack[0, 0, :2, :2].sum(-1).mean())
