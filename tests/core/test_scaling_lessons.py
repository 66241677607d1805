"""Why 1/sqrt(d): closed forms, scipy and torch against the drawn vectors; where float32 ends."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as some
from scipy import stats

from core.errors import InputError
from viz.course.look_up.scaling import maths
from viz.course.shared import unscaled_scores


@pytest.mark.parametrize("d_k", [4, 64, 1024])
def test_the_variance_is_d_and_one_after_the_division(d_k):
    """C031."""
    found = maths.sample_scores(d_k)
    assert found.raw.var() == pytest.approx(d_k, rel=0.08)
    assert found.scaled.var() == pytest.approx(1.0, rel=0.08)
    assert stats.norm(scale=math.sqrt(d_k)).pdf(1.5) == pytest.approx(maths.bell(np.array([1.5]), d_k)[0])


def test_entropy_falls_unscaled_and_stays_scaled():
    """C031: over 32 keys from 2.37 to 0.10, and near 3.0."""
    found = maths.by_width((4, 1024))
    assert [round(m.entropy, 2) for m in found["raw"]] == pytest.approx([2.37, 0.10], abs=0.02)
    assert [m.entropy for m in found["scaled"]] == pytest.approx([3.0, 3.0], abs=0.07)
    weights = torch.softmax(torch.from_numpy(maths.sample_scores(16).raw), -1).numpy()
    assert maths.measured(maths.sample_scores(16).raw).entropy == pytest.approx(
        stats.entropy(weights, axis=-1).mean()
    )


@given(some.lists(some.floats(-6, 6), min_size=1, max_size=7))
def test_the_slope_is_the_trace_of_the_jacobian(scores):
    row = torch.tensor(scores, dtype=torch.float64)
    jacobian = torch.autograd.functional.jacobian(lambda s: s.softmax(-1), row)
    assert maths.slopes(row.softmax(-1).numpy()) == pytest.approx(float(torch.trace(jacobian)), abs=1e-12)  # type: ignore[arg-type]


def test_the_slope_vanishes_without_the_division():
    found = maths.by_width()
    raw, scaled = ([m.slope for m in found[name]] for name in ("raw", "scaled"))
    assert raw[-1] < 0.1 and min(scaled) > 0.9
    assert raw[1:] == sorted(raw[1:], reverse=True), "wider vectors, smaller slopes"


def test_the_same_seed_draws_the_same():
    assert np.array_equal(maths.sample_scores(8, 3).raw, maths.sample_scores(8, 3).raw)
    assert not np.array_equal(maths.sample_scores(8, 3).raw, maths.sample_scores(8, 4).raw)
    with pytest.raises(InputError):
        maths.sample_scores(0)


def test_float32_ends_at_88_72():
    """C032."""
    assert pytest.approx(88.7228, abs=1e-3) == maths.OVERFLOW
    below, above = (maths.in_float32([s, 0.0], safe=False) for s in (88.72, 88.73))
    assert (
        not below.broken and above.broken and np.isinf(above.exponentials[0]) and np.isnan(above.weights[0])
    )
    assert float(torch.exp(torch.tensor(88.73))) == math.inf
    assert np.exp(np.float32(maths.VANISHES - 0.1)) == 0 < np.exp(np.float32(maths.VANISHES + 0.1))


@given(some.lists(some.floats(-1000, 1600, width=32), min_size=1, max_size=6))
def test_the_safe_softmax_is_torchs(scores):
    """C032: torch subtracts the maximum too."""
    found = maths.in_float32(scores, safe=True)
    assert not found.broken
    np.testing.assert_allclose(
        found.weights, torch.softmax(torch.tensor(scores, dtype=torch.float32), -1), rtol=1e-4, atol=1e-7
    )


def test_both_agree_where_both_work():
    plain, safe = (maths.in_float32([3.0, -1.0, 0.5], safe=way) for way in (False, True))
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
