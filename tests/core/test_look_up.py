"""Soft look-up against torch: scores, weights, mix, and the hull that a mix never leaves."""

from __future__ import annotations

import math
import sqlite3
import time
from contextlib import suppress

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as some
from scipy.optimize import linprog
from scipy.special import softmax as scipy_softmax

from core.errors import InputError
from core.layers import scores as layers
from viz.course.look_up.retrieval import memory_read, persons
from viz.course.look_up.retrieval.look_up import RULES, look_up, scores, softmax
from viz.course.look_up.soft_and_hard import maths
from viz.course.shared import weighting
from viz.course.shared.scene import HARBOUR, PORTRAIT

P, N, R = 3, 7, 5


def random(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).normal(size=shape)


def test_dot_and_scaled_equal_torch():
    query, keys, values = random(P), random(N, P), random(N, R)
    for rule, scale in (("dot", 1.0), ("scaled", P**-0.5)):
        want = F.scaled_dot_product_attention(
            *(torch.from_numpy(a)[None, None] for a in (query[None], keys, values)), scale=scale
        )
        np.testing.assert_allclose(look_up(query, keys, values, rule).mix, want[0, 0, 0], rtol=1e-12)


def test_every_rule_equals_the_layer_of_the_models():
    query, keys, w, joined, v, position = (
        random(P),
        random(N, P),
        random(P, P),
        random(11, 2 * P),
        random(11),
        random(N, P),
    )
    general, linear, additive, location = (
        layers.General(P, P),
        layers.LinearAdditive(P, P),
        layers.Additive(P, P, d_ff=11),
        layers.Location(P, P, n_ctx=N),
    )
    own = {
        "dot": (layers.Dot(P, P), {}),
        "scaled": (layers.ScaledDot(P, P), {}),
        "cosine": (layers.Cosine(P, P), {}),
        "general": (general, {"w": w}),
        "linear": (linear, {"q": v[:P], "k": v[P : 2 * P]}),
        "additive": (additive, {"w": joined, "v": v}),
        "location": (location, {"w": position}),
    }
    for tensor, number in (
        (general.to_key.weight, w),
        (linear.query, v[:P]),
        (linear.key, v[P : 2 * P]),
        (additive.from_query.weight, joined[:, :P]),
        (additive.from_key.weight, joined[:, P:]),
        (additive.v, v),
        (location.to_position.weight, position),
    ):
        tensor.data = torch.from_numpy(np.ascontiguousarray(number)).float()
    assert set(own) == set(RULES)
    for rule, (layer, parameters) in own.items():
        want = layer(torch.from_numpy(query)[None, None].float(), torch.from_numpy(keys)[None].float())[
            0, 0
        ].detach()
        np.testing.assert_allclose(
            scores(query, keys, rule, **parameters), want, rtol=1e-4, atol=1e-5, err_msg=rule
        )


def test_from_uniform_to_one_hot():
    assert np.allclose(softmax([1, 2, 3], 0), 1 / 3)
    assert softmax([1, 2, 3], 5).round(4).tolist() == [0.0, 0.0067, 0.9933]
    assert softmax([1, 2, 3], 50).round(9).tolist() == [0, 0, 1]
    assert np.isfinite(softmax([1000.0, -1000.0], 50)).all()


@given(
    some.lists(some.tuples(some.floats(-2, 2), some.floats(-2, 2)), min_size=1, max_size=6),
    some.floats(0, 20),
)
def test_the_mix_lies_in_the_hull_of_the_values(values, sharpness):
    found = look_up([0.7, -0.3], [(x + 1, -y) for x, y in values], values, sharpness=sharpness)
    equal = np.vstack([np.array(values).T, np.ones(len(values))])
    assert linprog(np.zeros(len(values)), A_eq=equal, b_eq=[*found.mix, 1], bounds=(0, 1)).success
    assert found.weights.sum() == pytest.approx(1)


# ---------------- The table of the slides against SQLite, visitors' SQL kept in its cage, and the memory read against its bound.


def free(sql: str) -> list[tuple]:
    """The same table in a plain SQLite."""
    base = sqlite3.connect(":memory:")
    base.execute("CREATE TABLE PERSONS (ID TEXT, Name TEXT, Family TEXT)")
    base.executemany("INSERT INTO PERSONS VALUES (?, ?, ?)", persons.PERSONS)
    return base.execute(sql).fetchall()


def test_the_two_queries_of_the_slides():
    one, two = (persons.ask(persons.PERSONS, sql) for sql in persons.QUERIES)
    assert [row[1] for row in one.rows] == ["Mohammad Reza"] and one.similarity == (0, 1, 0)
    assert [row[1] for row in two.rows] == ["Ali", "Ashkan"] and two.similarity == (1, 0, 1)


@pytest.mark.parametrize(
    "sql",
    [
        *persons.QUERIES,
        persons.AS_NUMBER,
        "select * from persons",
        "SELECT Name FROM PERSONS WHERE Family LIKE '%h%' AND length(ID) = 12;",
        "SELECT Name FROM PERSONS WHERE ID = (SELECT max(ID) FROM PERSONS)",
        "SELECT ID FROM PERSONS WHERE 1 -- all",
    ],
)
def test_the_sum_of_similarity_times_value_is_what_sqlite_returns(sql):
    answer = persons.ask(persons.PERSONS, sql)
    assert list(answer.rows) == free(sql)
    places = [persons.COLUMNS.index(column) for column in answer.columns]
    by_hand = [
        tuple(row[c] for c in places) for row, s in zip(persons.PERSONS, answer.similarity, strict=True) if s
    ]
    assert list(answer.rows) == by_hand


def test_another_table_another_answer():
    table = [(*persons.PERSONS[0][:2], "Ahmadi"), ("005123179999", "Sara", "Karimi")]
    assert persons.ask(table, persons.QUERIES[1]).similarity == (1, 1) and persons.ask(
        table, persons.QUERIES[0]
    ).similarity == (0, 0)


@pytest.mark.parametrize(
    "sql",
    [
        "",
        "DROP TABLE PERSONS",
        "SELECT ID FROM PERSONS; DELETE FROM PERSONS",
        "SELECT name FROM sqlite_master",
        "PRAGMA table_info(PERSONS)",
        "SELECT ID FROM PERSONS WHERE (SELECT count(*) FROM sqlite_master)",
        "ATTACH '/tmp/x' AS y",
        "SELECT ID FROM PERSONS WHERE load_extension('x')",
        "SELECT ID FROM PERSONS WHERE randomblob(900000000)",
        "SELECT load_extension('x') FROM PERSONS",
        "SELECT ID FROM PERSONS WHERE ID = 'a' UNION SELECT sql FROM sqlite_master",
        "WITH RECURSIVE t(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM t) SELECT x FROM t",
        "SELECT ID FROM PERSONS WHERE ID IN (WITH RECURSIVE t(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM t) SELECT x FROM t)",
        "SELECT ID FROM PERSONS WHERE ID = '\x00",
        "SELECT ID FROM PERSONS WHERE ID = '\ud800'",
        "SELECT ID FROM PERSONS WHERE 1) OR (1",
        "SELECT x FROM PERSONS",
        "SELECT ID FROM PERSONS WHERE " + "(" * 90,
        "a" * 400,
    ],
)
def test_anything_else_is_refused_in_three_parts(sql):
    with pytest.raises(InputError):
        persons.ask(persons.PERSONS, sql)


def test_a_query_that_would_take_long_is_stopped():
    table = [(str(i), "a" * 40, "b") for i in range(persons.ROWS)]
    every = ", ".join(f"PERSONS p{i}" for i in range(9))
    began = time.monotonic()
    with pytest.raises(InputError, match="interrupted"):
        persons.ask(table, f"SELECT ID FROM PERSONS WHERE (SELECT count(*) FROM {every}) > 1")
    assert time.monotonic() - began < 2


@pytest.mark.slow
@given(some.text(max_size=60))
def test_no_text_does_more_than_answer_or_refuse(text):
    for sql in (text, f"SELECT ID FROM PERSONS WHERE {text}"):
        with suppress(InputError):
            assert len(persons.ask(persons.PERSONS, sql).similarity) == 3


def test_what_is_read_is_weights_times_memory():
    memory, key = np.random.default_rng(3).normal(size=(5, 7)), np.arange(7.0)
    found = memory_read.read(memory, key, 3.0)
    cosines = memory @ key / np.linalg.norm(memory, axis=1) / np.linalg.norm(key)
    np.testing.assert_allclose(found.cosines, cosines)
    np.testing.assert_allclose(found.weights, np.exp(3 * cosines) / np.exp(3 * cosines).sum())
    np.testing.assert_allclose(found.vector, found.weights @ memory)
    np.testing.assert_allclose(memory_read.read_row(memory, key, 2).vector, memory[2])


@given(some.lists(some.lists(some.floats(-5, 5), min_size=3, max_size=3), min_size=2, max_size=9))
def test_without_a_sharpness_two_weights_differ_at_most_by_e_squared(memory):
    weights = memory_read.read(memory, (1.0, -0.5, 2.0), 1.0).weights
    assert weights.max() / weights.min() <= math.e**2 + 1e-9 and weights.sum() == pytest.approx(1)


def test_ten_rows_reach_the_numbers_of_the_bound():
    assert memory_read.read(memory_read.TEN, (1, 1, 0), 1).weights.max() == pytest.approx(
        math.e / (math.e + 9 / math.e)
    )
    assert round(float(memory_read.read(memory_read.TEN, (1, 1, 0), 10).weights.max()), 4) == 1.0


# ---------------- Weights of words and patches, the drawn pictures, soft and hard reads: against scipy, torch and counting.


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
