"""Heads joined into one picture: means and largest weights by hand, rollout by hand and by its laws."""

from __future__ import annotations

import numpy as np
import pytest

import core
from core.analysis.attention.aggregate import aggregate_heads, rollout
from core.errors import InputError

TEXT = "The animal didn't cross the street."


@pytest.fixture(scope="module")
def gpt():
    return core.open_model("prompt-tiny").run("copy abc")


@pytest.fixture(scope="module")
def translator():
    return core.open_model("translator-en-es").run("She has a white car.", keep=["*.pattern"])


def test_rollout_by_hand():
    even, first = np.array([[1.0, 0.0], [0.5, 0.5]]), np.array([[1.0, 0.0], [1.0, 0.0]])
    rolled = rollout(np.array([[even, first], [first, first]]))
    # layer 0: mean row 1 = (.75, .25), with the residual (.375, .625); layer 1: row 1 = (.5, .5) of rows (1, 0) and (.375, .625)
    np.testing.assert_allclose(rolled[0], [[1, 0], [0.375, 0.625]])
    np.testing.assert_allclose(rolled[1], [[1, 0], [0.6875, 0.3125]])


def test_a_row_that_may_look_at_nothing_stays_what_it_was():
    nothing = np.zeros((1, 1, 3, 3))
    np.testing.assert_allclose(rollout(nothing)[0], np.eye(3))


def test_rollout_of_a_run_is_causal_and_its_rows_sum_to_one(gpt):
    rolled = aggregate_heads(gpt, "causal", "rollout")
    assert rolled.weights.shape == (gpt.model.config.n_layers, 1, len(gpt.tokens), len(gpt.tokens))
    np.testing.assert_allclose(rolled.weights.sum(-1), 1, atol=1e-5)
    assert not np.triu(rolled.weights[-1, 0], 1).any()


@pytest.mark.parametrize(("how", "join"), [("mean", np.mean), ("largest", np.max)])
@pytest.mark.parametrize("by", ["token", "word"])
def test_a_layer_is_the_mean_or_the_largest_of_its_heads(translator, how, join, by):
    whole, joined = (
        translator.attention("cross", by=by, writing=True),
        aggregate_heads(translator, "cross", how, by, writing=True),
    )
    np.testing.assert_allclose(joined.weights[:, 0], join(whole.weights, axis=1), atol=1e-6)
    assert (joined.queries, joined.keys) == (whole.queries, whole.keys) and joined.allowed.all()


def test_rollout_by_word_sums_a_words_pieces(translator):
    by_word = aggregate_heads(translator, "self", "rollout", "word")
    assert by_word.keys == translator.attention("self", by="word").keys
    np.testing.assert_allclose(by_word.weights.sum(-1), 1, atol=1e-5)


def test_rollout_between_two_texts_and_unknown_names_are_refused(translator):
    with pytest.raises(InputError, match="Rollout is not defined for cross"):
        aggregate_heads(translator, "cross", "rollout")
    with pytest.raises(InputError, match="median"):
        aggregate_heads(translator, "cross", "median")  # pyright: ignore
