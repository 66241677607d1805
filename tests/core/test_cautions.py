"""Each caution appears on a pattern made for it, with its share, and on no other."""

from __future__ import annotations

import numpy as np
import pytest

from core.analysis.attention.cautions import cautions

KEYS = ("a", "b", "[SEP]", "d")
FULL = np.ones((4, 4), dtype=bool)
SHARP = np.array([[0.1, 0.8, 0.05, 0.05], [0.2, 0.05, 0.05, 0.7], [0.1, 0.1, 0.1, 0.7], [0.1, 0.7, 0.1, 0.1]])


def kinds(weights, allowed=FULL, row=0, special=("[SEP]",)):
    return {
        caution.kind: caution.share for caution in cautions(np.asarray(weights), allowed, KEYS, row, special)
    }


def test_a_head_that_tells_words_apart_needs_no_caution():
    assert kinds(SHARP) == {}


def test_a_sink_is_the_mean_over_rows_that_have_a_choice():
    weights = np.tile([0.9, 0.1, 0, 0], (4, 1))
    weights[0] = [1, 0, 0, 0]
    assert kinds(weights, np.tri(4, dtype=bool) | np.eye(4, dtype=bool), row=2) == {
        "sink": pytest.approx(0.9)
    }


def test_weight_on_marks_is_named_apart_from_the_first_place():
    weights = np.tile([0.05, 0.05, 0.8, 0.1], (4, 1))
    assert kinds(weights) == {"separator": pytest.approx(0.8)}
    assert kinds(weights, special=()) == {}


def test_an_even_row_says_how_even():
    weights = SHARP.copy()
    weights[3] = 0.25
    assert kinds(weights, row=3) == {"even": pytest.approx(1.0)} and kinds(weights, row=1) == {}


def test_a_row_on_itself_and_a_row_without_a_choice():
    weights = SHARP.copy()
    weights[1] = [0.1, 0.9, 0, 0]
    assert kinds(weights, row=1) == {"itself": pytest.approx(0.9)}
    only = FULL.copy()
    only[1] = [False, True, False, False]
    weights[1] = [0, 1, 0, 0]
    assert kinds(weights, only, row=1) == {"few": pytest.approx(1.0)}


def test_between_two_texts_a_place_is_not_itself():
    assert {caution.kind for caution in cautions(np.eye(3, 4), np.ones((3, 4), dtype=bool), KEYS, 1)} == set()


def test_no_words_and_rows_that_may_look_at_nothing():
    assert cautions(np.zeros((0, 0)), np.zeros((0, 0), dtype=bool), (), 0) == ()
    assert cautions(np.zeros((2, 2)), np.zeros((2, 2), dtype=bool), ("a", "b"), 1) == ()
