"""Each caution appears on a pattern made for it, with its share, and on no other."""

from __future__ import annotations

import numpy as np
import pytest

import core
from core.analysis.attention.cautions import cautions

FULL = np.ones((4, 4), dtype=bool)
SHARP = np.array([[0.1, 0.8, 0.05, 0.05], [0.2, 0.05, 0.05, 0.7], [0.1, 0.1, 0.1, 0.7], [0.1, 0.7, 0.1, 0.1]])


def kinds(weights, allowed=FULL, row=0, marks=(2,), within=True):
    return {
        caution.kind: caution.share
        for caution in cautions(np.asarray(weights), allowed, row, marks, same_text=within)
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
    assert kinds(weights, marks=()) == {}


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


@pytest.mark.parametrize("rows", [3, 4])
def test_between_two_texts_a_place_is_not_itself_whatever_their_lengths(rows):
    weights = np.eye(rows, 4)
    assert kinds(weights, FULL[:rows], row=1, within=False) == {}
    assert kinds(np.eye(4), row=1) == {"itself": 1.0}


TWO_TEXTS = (
    ("translator-en-es", "She has a white car."),
    ("luong-global-en-es", "She has a white car."),
    ("copy-lstm-attention", "b a d c"),
)


@pytest.mark.parametrize(("model", "text"), TWO_TEXTS)
def test_a_square_map_between_two_texts_never_speaks_of_a_word_s_own_position(model, text):
    """The written text is cut to the length of the source, so that every map is square."""
    run = core.open_model(model).run(text)
    for name in run.kinds:
        kind = run.model.spec.kind(name)
        attention = run.attention(name, by="word", writing=not kind.one_text)
        n = min(attention.weights.shape[-2:])
        found = {
            caution.kind
            for layer, head in np.ndindex(attention.weights.shape[:2])
            for row in range(n)
            for caution in cautions(
                attention.weights[layer, head, :n, :n],
                attention.allowed[layer, head, :n, :n],
                row,
                same_text=kind.one_text,
            )
        }
        assert kind.one_text or "itself" not in found, name


def test_no_words_and_rows_that_may_look_at_nothing():
    assert cautions(np.zeros((0, 0)), np.zeros((0, 0), dtype=bool), 0, same_text=True) == ()
    assert cautions(np.zeros((2, 2)), np.zeros((2, 2), dtype=bool), 1, same_text=False) == ()
