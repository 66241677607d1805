"""Every score function against one line of torch, and what each of them cannot do."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as some
from scipy import stats

from core.layers.scores import SCORES, Additive, Cosine, Dot, General, LinearAdditive, Location, ScaledDot
from core.trace import Recorder
from viz.course.look_up.retrieval import look_up
from viz.course.look_up.scaling import maths as scaling
from viz.course.look_up.score_functions import maths
from viz.course.shared import unscaled_scores

BATCH, QUERY, KEY, D, D_KEY, D_FF, N_CTX = 2, 3, 7, 5, 11, 13, 17


def draw(*shape):
    return torch.randn(*shape)


@pytest.fixture
def same():
    return draw(BATCH, QUERY, D), draw(BATCH, KEY, D)


@pytest.fixture
def differing():
    return draw(BATCH, QUERY, D), draw(BATCH, KEY, D_KEY)


def test_dot_and_scaled_dot(same):
    q, k = same
    wanted = torch.einsum("bqd,bkd->bqk", q, k)
    torch.testing.assert_close(Dot(D, D)(q, k), wanted)
    torch.testing.assert_close(ScaledDot(D, D)(q, k), wanted / math.sqrt(D))
    mixed = ScaledDot(D, D)(q, k).softmax(-1) @ k
    torch.testing.assert_close(mixed, F.scaled_dot_product_attention(q, k, k))
    torch.testing.assert_close(
        Dot(D, D)(q, k).softmax(-1) @ k, F.scaled_dot_product_attention(q, k, k, scale=1.0)
    )


def test_general(same, differing):
    q, k = differing
    score = General(D, D_KEY)
    torch.testing.assert_close(score(q, k), torch.einsum("bqd,de,bke->bqk", q, score.to_key.weight, k))
    square = General(D, D)
    torch.nn.init.eye_(square.to_key.weight)
    assert torch.equal(square(*same), Dot(D, D)(*same)), "W = I is the dot product"


def test_additive_in_one_piece_and_split(differing):
    q, k = differing
    score = Additive(D, D_KEY, d_ff=D_FF)
    together = torch.cat(
        (q[:, :, None].expand(-1, -1, KEY, -1), k[:, None].expand(-1, QUERY, -1, -1)), dim=-1
    )
    whole = torch.cat((score.from_query.weight, score.from_key.weight), dim=1)  # W_a [s; h]
    torch.testing.assert_close(score(q, k), torch.tanh(together @ whole.T) @ score.v)


def test_linear_additive_cannot_attend(differing):
    """E8: the query cancels in the softmax; with tanh it does not."""
    q, k = differing
    linear, tanh = LinearAdditive(D, D_KEY), Additive(D, D_KEY, d_ff=D_FF)
    torch.testing.assert_close(linear(q, k), (q @ linear.query)[:, :, None] + (k @ linear.key)[:, None])
    moved = q + 5
    torch.testing.assert_close(linear(q, k).softmax(-1), linear(moved, k).softmax(-1))
    assert (tanh(q, k).softmax(-1) - tanh(moved, k).softmax(-1)).abs().max() > 1e-2


def test_cosine(same):
    q, k = same
    wanted = F.cosine_similarity(q[:, :, None], k[:, None], dim=-1)
    torch.testing.assert_close(Cosine(D, D)(q, k), wanted)
    torch.testing.assert_close(Cosine(D, D)(7 * q, k), wanted)
    torch.testing.assert_close(Cosine(D, D, sharpness=10.0)(q, k), 10 * wanted)
    weights = Cosine(D, D)(q, k).softmax(-1)
    assert (weights.amax(-1) / weights.amin(-1)).max() <= math.exp(2)


def test_location_does_not_see_the_keys(differing):
    q, k = differing
    score = Location(D, D_KEY, n_ctx=N_CTX)
    torch.testing.assert_close(score(q, k), (q @ score.to_position.weight.T)[..., :KEY])
    assert torch.equal(score(q, k), score(q, torch.randn_like(k)))
    with pytest.raises(ValueError, match="18 keys.*n_ctx=17"):
        score(q, draw(BATCH, 18, D_KEY))


@pytest.mark.parametrize("name", SCORES)
def test_every_score_by_one_interface(name, same):
    q, k = same
    score, tap = SCORES[name](D, D, D_FF, N_CTX), Recorder()
    scores = score(q, k, tap)
    assert scores.shape == (BATCH, QUERY, KEY) and torch.equal(tap.close()["scores"], scores)
    torch.testing.assert_close(
        score.compare(q[:, 1:2], score.prepare(k)), scores[:, 1:2], rtol=1e-5, atol=1e-6
    )


@pytest.mark.parametrize("kind", [Dot, ScaledDot, Cosine])
def test_a_product_of_unequal_widths_is_refused(kind):
    with pytest.raises(ValueError, match="d_query=5.*d_key=11"):
        kind(D, D_KEY)


# ---------------- Eight score functions on vectors of the plane: against numpy, against the plane's arithmetic, and what each does not see.


Q, KEYS = (1.0, 0.6), ((0.7, 0.5), (1.7, -0.2), (-0.6, 1.4), (-1.2, -0.9))
PLACE = maths.PlaneExample(Q, KEYS)
RULES = {"concat": "additive"}
number = some.floats(-2, 2).map(lambda x: round(x, 3))
pair = some.tuples(number, number)


@given(pair, some.lists(pair, min_size=1, max_size=4))
def test_every_function_is_the_planes_rule(query, keys):
    """C017: the layer that models use and the arithmetic of the plane agree."""
    for f in maths.eight():
        found = look_up.look_up(
            query, keys, keys, rule=RULES.get(f.kind, f.kind), sharpness=f.sharpness, **f.numbers
        )
        np.testing.assert_allclose(f.weights(query, keys), found.weights, atol=1e-9)
        np.testing.assert_allclose(f.scores(query, keys), f.sharpness * found.scores, atol=1e-9)


def test_by_hand():
    """C017."""
    by_name = {f.name: f.scores((1.0, 2.0), ((3.0, 4.0), (2.0, -1.0))) for f in maths.eight(beta=10)}
    assert by_name["dot"].tolist() == [11.0, 0.0]
    np.testing.assert_allclose(by_name["scaled"], [11 / math.sqrt(2), 0.0])
    np.testing.assert_allclose(by_name["cosine"], [11 / (5 * math.sqrt(5)), 0.0], atol=1e-12)
    np.testing.assert_allclose(by_name["sharp"], 10 * by_name["cosine"])
    assert by_name["general"].tolist() == [1 * 4 + 2 * -3, 1 * -1 + 2 * -2]
    assert by_name["linear"].tolist() == [2 + 1.5 + 4, 2 + 1 - 1]
    assert by_name["location"].tolist() == [1.0, 2.0]


def test_who_does_not_see_what():
    """C018: the linear one ignores the query, the location one the keys, cosines the length."""
    assert maths.unchanged(PLACE, "turn") == ("linear",)
    assert maths.unchanged(PLACE, "keys") == ("location",)
    assert maths.unchanged(PLACE, "longer") == ("linear", "cosine", "sharp")


@given(pair, pair, some.lists(pair, min_size=2, max_size=4))
def test_under_the_linear_score_no_query_moves_anything(one, other, keys):
    """C018, E8."""
    linear = next(f for f in maths.eight() if f.name == "linear")
    np.testing.assert_allclose(linear.weights(one, keys), linear.weights(other, keys), atol=1e-12)


# ---------------- Why 1/sqrt(d): closed forms, scipy and torch against the drawn vectors; where float32 ends.


@pytest.mark.parametrize("d_k", [4, 64, 1024])
def test_the_variance_is_d_and_one_after_the_division(d_k):
    """C031."""
    found = scaling.sample_scores(d_k)
    assert found.raw.var() == pytest.approx(d_k, rel=0.08)
    assert found.scaled.var() == pytest.approx(1.0, rel=0.08)
    assert stats.norm(scale=math.sqrt(d_k)).pdf(1.5) == pytest.approx(scaling.bell(np.array([1.5]), d_k)[0])


def test_entropy_falls_unscaled_and_stays_scaled():
    """C031: over 32 keys from 2.37 to 0.10, and near 3.0."""
    found = scaling.by_width((4, 1024))
    assert [round(m.entropy, 2) for m in found["raw"]] == pytest.approx([2.37, 0.10], abs=0.02)
    assert [m.entropy for m in found["scaled"]] == pytest.approx([3.0, 3.0], abs=0.07)
    weights = torch.softmax(torch.from_numpy(scaling.sample_scores(16).raw), -1).numpy()
    assert scaling.measured(scaling.sample_scores(16).raw).entropy == pytest.approx(
        stats.entropy(weights, axis=-1).mean()
    )


@given(some.lists(some.floats(-6, 6), min_size=1, max_size=7))
def test_the_slope_is_the_trace_of_the_jacobian(scores):
    row = torch.tensor(scores, dtype=torch.float64)
    jacobian = torch.autograd.functional.jacobian(lambda s: s.softmax(-1), row)
    assert scaling.slopes(row.softmax(-1).numpy()) == pytest.approx(float(torch.trace(jacobian)), abs=1e-12)


def test_the_slope_vanishes_without_the_division():
    found = scaling.by_width()
    raw, scaled = ([m.slope for m in found[name]] for name in ("raw", "scaled"))
    assert raw[-1] < 0.1 and min(scaled) > 0.9
    assert raw[1:] == sorted(raw[1:], reverse=True), "wider vectors, smaller slopes"


def test_float32_ends_at_88_72():
    """C032."""
    assert pytest.approx(88.7228, abs=1e-3) == scaling.OVERFLOW
    below, above = (scaling.in_float32([s, 0.0], safe=False) for s in (88.72, 88.73))
    assert (
        not below.broken and above.broken and np.isinf(above.exponentials[0]) and np.isnan(above.weights[0])
    )
    assert float(torch.exp(torch.tensor(88.73))) == math.inf
    assert np.exp(np.float32(scaling.VANISHES - 0.1)) == 0 < np.exp(np.float32(scaling.VANISHES + 0.1))


@given(some.lists(some.floats(-1000, 1600, width=32), min_size=1, max_size=6))
def test_the_safe_softmax_is_torchs(scores):
    """C032: torch subtracts the maximum too."""
    found = scaling.in_float32(scores, safe=True)
    assert not found.broken
    np.testing.assert_allclose(
        found.weights, torch.softmax(torch.tensor(scores, dtype=torch.float32), -1), rtol=1e-4, atol=1e-7
    )


def test_both_agree_where_both_work():
    plain, safe = (scaling.in_float32([3.0, -1.0, 0.5], safe=way) for way in (False, True))
    np.testing.assert_allclose(plain.weights, safe.weights, rtol=1e-6)


def test_evenness_and_surprise_against_scipy_and_torch():
    draw = np.random.default_rng(0)
    pattern = draw.dirichlet(np.ones(5), size=(3, 5))
    allowed = np.ones((3, 5, 5), dtype=bool)
    np.testing.assert_allclose(
        unscaled_scores.evenness(pattern, allowed), stats.entropy(pattern, axis=-1, base=5).mean(-1)
    )
    logits, ids = draw.standard_normal((4, 7)), (1, 6, 2, 0)
    wanted = torch.nn.functional.cross_entropy(torch.from_numpy(logits[:3]), torch.tensor(ids[1:]))
    assert unscaled_scores.surprise(logits, ids) == pytest.approx(float(wanted))
    assert unscaled_scores.surprise(logits[:1], (3,)) == 0.0


def test_a_row_without_a_choice_does_not_count():
    pattern, allowed = np.eye(2)[None], np.tri(2, dtype=bool)[None]
    assert unscaled_scores.evenness(pattern, allowed).tolist() == [0.0]
