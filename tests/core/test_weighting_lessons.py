"""Weights of words and patches, the drawn pictures, soft and hard reads: against scipy, torch and counting."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as some
from scipy.special import softmax as scipy_softmax

from viz.course.look_up.soft_and_hard import maths
from viz.course.shared import weighting
from viz.course.shared.scene import HARBOUR, PORTRAIT, Scene, Shape

RNG = np.random.default_rng(3)


@given(some.lists(some.floats(-800, 800), min_size=1, max_size=11))
def test_weights_are_positive_sum_to_one_and_are_scipys(raw):
    weights = weighting.softmax(raw)
    assert (weights >= 0).all() and weights.sum() == pytest.approx(1)
    np.testing.assert_allclose(weights, scipy_softmax(raw), atol=1e-12)


def test_raising_one_word_shrinks_all_others_by_one_factor():
    before, after = (
        weighting.softmax(weighting.BY_HAND),
        weighting.weights_after_increase(weighting.BY_HAND, 2),
    )
    ratio = np.delete(after, 2) / np.delete(before, 2)
    np.testing.assert_allclose(ratio, ratio[0])
    assert after[2] / before[2] == pytest.approx(np.e * ratio[0]) and ratio[0] < 1


def test_the_words_in_bold_in_the_documents_weigh_most_by_hand():
    top = set(np.argsort(-weighting.softmax(weighting.BY_HAND))[:4].tolist())
    assert {weighting.WORDS[i] for i in top} == {"portrait", "Leonardo", "da", "Vinci"}


def test_a_patch_of_attention_is_a_gaussian_that_sums_to_one():
    weights = weighting.spot(5, 7, (1.0, 2.0), 1.3).reshape(5, 7)
    i, j = np.mgrid[:5, :7]
    bell = np.exp(-((i - 1) ** 2 + (j - 2) ** 2) / (2 * 1.3**2))
    np.testing.assert_allclose(weights, bell / bell.sum())


def test_bits_of_words_add_up_to_the_surprise_of_the_sentence():
    class Run:
        ids = (0, 1, 2, 3, 4)
        spans = ((0, 1), (1, 3), (3, 4), (5, 7), (7, 8))
        logits = RNG.normal(size=(5, 6))

    found = weighting.word_bits(Run, ["abc", "de"], "\nabc de.")
    logp = torch.log_softmax(torch.tensor(Run.logits), -1).numpy() / np.log(2)
    np.testing.assert_allclose(found, [-logp[0, 1] - logp[1, 2], -logp[2, 3]])


# ------------------------------------------------------------------ pictures


def test_shapes_cover_what_counting_and_circles_say():
    square = Scene(
        4,
        3,
        (
            Shape("ground", "#000000", ((0, 0), (4, 0), (4, 3), (0, 3))),
            Shape("box", "#ffffff", ((1, 1), (3, 1), (3, 2), (1, 2))),
        ),
        "",
    )
    assert square.pixels(10)[..., 0].sum() == 2 * 1 * 100
    disc = Scene(
        4,
        4,
        (
            Shape("ground", "#000000", ((0, 0), (4, 0), (4, 4), (0, 4))),
            Shape("disc", "#ffffff", ((2, 2), (1, 1.5)), round=True),
        ),
        "",
    )
    assert (disc.top(60) == 1).mean() * 16 == pytest.approx(np.pi * 1.5, rel=2e-3)


@pytest.mark.parametrize(("scene", "rows", "columns"), [(PORTRAIT, 10, 8), (HARBOUR, 4, 6)])
def test_patches_put_together_are_the_picture_and_parts_fill_them(scene, rows, columns):
    patches = scene.patches(rows, columns, 6)
    again = patches.reshape(rows, columns, 6, 6, 3).swapaxes(1, 2).reshape(rows * 6, columns * 6, 3)
    assert np.array_equal(again, scene.pixels(6))
    shares = scene.shares(rows, columns)
    np.testing.assert_allclose(shares.sum(1), 1)
    assert (shares.sum(0) > 0).all(), "every named part is seen"


# ------------------------------------------------------------------ soft and hard


@pytest.fixture
def reading():
    values, scores = RNG.random((7, 3)), RNG.normal(size=7)
    return values, scores, maths.softmax(scores)


def test_the_mean_of_draws_nears_the_soft_read_within_four_standard_errors(reading):
    values, _, weights = reading
    drawn = maths.draw(weights, 20_000, lot=5)
    error = maths.spread(weights, values) / np.sqrt(len(drawn))
    assert (np.abs(values[drawn].mean(0) - maths.soft_read(weights, values)) <= 4 * error).all()
    counts = np.bincount(drawn, minlength=7) / len(drawn)
    assert (np.abs(counts - weights) <= 4 * np.sqrt(weights * (1 - weights) / len(drawn))).all()


def test_the_expected_distance_is_that_of_many_lots(reading):
    values, _, weights = reading
    squares = [
        maths.running(weights, values, maths.draw(weights, 50, lot)).distance[-1] ** 2 for lot in range(400)
    ]
    expect = maths.running(weights, values, maths.draw(weights, 50, 0)).expect[-1] ** 2
    assert np.mean(squares) == pytest.approx(expect, abs=4 * np.std(squares) / 20)


def test_the_soft_gradient_is_autograds_and_argmax_has_none(reading):
    values, scores, weights = reading
    w = np.array([0.2, -0.7, 1.1])
    np.testing.assert_allclose(
        maths.gradient(weights, values @ w), maths.autograd(scores, values, w), atol=1e-12
    )
    step = 1e-6 * np.eye(7)
    difference = [
        (maths.softmax(scores + one) @ values @ w - maths.softmax(scores - one) @ values @ w) / 2e-6
        for one in step
    ]
    np.testing.assert_allclose(maths.gradient(weights, values @ w), difference, atol=1e-8)
    assert np.abs(maths.gradient(weights, values @ w)).max() > 1e-3
    assert maths.autograd(scores, values, w, hard=True) is None


@pytest.mark.parametrize("baseline", [0.0, 0.4, -2.0])
def test_reinforce_is_right_in_expectation_for_every_baseline(reading, baseline):
    values, _, weights = reading
    reward = values @ np.array([1.0, 2.0, 3.0])
    every = maths.estimates(weights, reward, np.arange(7), baseline)
    np.testing.assert_allclose(weights @ every, maths.gradient(weights, reward), atol=1e-12)
    drawn = maths.draw(weights, 40_000, 2)
    some_ = maths.estimates(weights, reward, drawn, baseline)
    deviation = maths.estimate_deviation(weights, reward, baseline)
    np.testing.assert_allclose(some_.std(0), deviation, rtol=0.05)
    assert (np.abs(some_.mean(0) - maths.gradient(weights, reward)) <= 4.5 * deviation / 200).all()


def test_the_baseline_saves_variance(reading):
    values, _, weights = reading
    told = maths.learning(weights, values.sum(1) + 3, maths.draw(weights, 10, 0))
    assert told.saved > 2 and told.saved == pytest.approx(
        (told.plain_deviation**2).sum() / (told.based_deviation**2).sum()
    )
