"""The linear autoencoder against Eckart-Young, torch and scipy; the letters; the dictionary of concepts."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg

from core.errors import InputError
from viz.course.why.autoencoder import concepts
from viz.course.why.autoencoder.linear_autoencoder import Data, head

RNG = np.random.default_rng(11)


@pytest.fixture(scope="module")
def data() -> Data:
    return Data(RNG.normal(size=(13, 7)) @ np.diag([5, 3, 2, 1, 0.5, 0.2, 0.1]))


@pytest.mark.parametrize("p", [1, 3, 7])
def test_the_best_pair_reaches_the_truncated_decomposition(data, p):
    """C003."""
    centred = data.rows - data.rows.mean(0)
    u, s, vt = scipy.linalg.svd(centred, full_matrices=False)
    nearest = (u[:, :p] * s[:p]) @ vt[:p] + data.rows.mean(0)
    coder = data.best(p)
    np.testing.assert_allclose(coder.back(coder.context(data.rows)), nearest, atol=1e-10)
    assert coder.lost_share(data.rows) == pytest.approx((s[p:] ** 2).sum() / (s**2).sum(), abs=1e-12)
    assert data.floor()[p] == pytest.approx(coder.lost_share(data.rows), abs=1e-12)


@pytest.mark.parametrize("p", [1, 2, 4])
def test_learning_from_a_random_start_comes_to_the_same(data, p):
    coder, losses = data.trained(p, 200, lot=3)
    assert (np.diff(losses) <= 1e-12).all(), "alternating least squares never gets worse"
    assert losses[0] > data.floor()[p] and losses[-1] == pytest.approx(data.floor()[p], abs=1e-6)
    best = data.best(p)
    np.testing.assert_allclose(
        coder.back(coder.context(data.rows)), best.back(best.context(data.rows)), atol=1e-3
    )


def test_more_numbers_never_lose_more_and_sizes_are_checked(data):
    assert (np.diff(data.floor()) <= 0).all()
    assert data.floor()[0] == 1
    assert data.floor()[-1] == pytest.approx(0, abs=1e-12)
    for wrong in (0, data.rank + 1):
        with pytest.raises(InputError):
            data.best(wrong)


def test_a_head_is_least_squares_with_a_mean():
    contexts, targets = RNG.normal(size=(11, 3)), RNG.normal(size=(11, 5))
    contexts -= contexts.mean(0)
    with_one = np.concatenate([contexts, np.ones((11, 1))], axis=1)
    expected = with_one @ np.linalg.lstsq(with_one, targets, rcond=None)[0]
    np.testing.assert_allclose(head(contexts, targets)(contexts), expected, atol=1e-10)


def test_concepts_are_whole_and_elephant_is_first():
    rows = concepts.taught()
    assert (rows[0].english, rows[0].french) == ("elephant", "l'éléphant") and len(rows) >= 40
    assert len({row.english for row in rows}) == len(rows) and not {row.english for row in rows} & set(
        concepts.UNTAUGHT
    )
    assert all(all(vars(row).values()) for row in rows)


def test_spelling_counts_neighbouring_letters():
    counts, names = concepts.pairs(["oso", "sol"])
    assert dict(zip(names, counts[0].tolist(), strict=True)) == {
        " o": 1,
        " s": 0,
        "l ": 0,
        "o ": 1,
        "ol": 0,
        "os": 1,
        "so": 1,
    }


def test_with_enough_numbers_every_language_says_its_word():
    """C002."""
    n = len(concepts.taught())
    rows = Data(RNG.normal(size=(n, 80)))
    small, large = concepts.Dictionary(rows, 2), concepts.Dictionary(rows, rows.rank)
    context = large.coder.context(rows.rows[0])
    assert {name: language.says(context) for name, language in large.languages.items()} == {
        "spanish": "el elefante",
        "french": "l'éléphant",
        "german": "der Elefant",
        "persian": "فیل",
    }
    assert large.right("french") == 1 and small.right("french") < 0.5
    assert len({language.head.weights.shape[1] for language in large.languages.values()}) > 1, (
        "four decoders, not one under four names"
    )


def test_the_nearest_word_is_that_of_the_largest_cosine_from_the_mean():
    draw = np.random.default_rng(3)
    contexts, spelled = draw.normal(size=(9, 4)), 5 + draw.normal(size=(9, 6))
    decoder = head(contexts, spelled)
    words = tuple(map(str, range(9)))
    found = concepts.Language(words, spelled, decoder).nearness(contexts[2])
    one, others = decoder(contexts[2]) - spelled.mean(0), spelled - spelled.mean(0)
    wanted = others @ one / np.linalg.norm(others, axis=1) / np.linalg.norm(one)
    np.testing.assert_allclose(found, wanted, atol=1e-9)
