"""Divergence, correlation and cosine of two patterns, against scipy; what is forbidden is left out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some
from scipy.spatial import distance
from scipy.stats import pearsonr

from core.analysis.heads.pattern_distance import compare_patterns
from core.maths import cosine


def patterns(seed: int, n: int = 6, *, causal: bool = False) -> list[np.ndarray]:
    luck = np.random.default_rng(seed)
    raw = luck.gamma(0.4, size=(2, n, n)) + 1e-9
    raw *= np.tri(n) if causal else 1.0
    return list(raw / raw.sum(-1, keepdims=True))


@given(some.integers(0, 999), some.integers(2, 9))
def test_all_numbers_are_those_of_scipy(seed, n):
    a, b = patterns(seed, n)
    found = compare_patterns(a, b)
    rows = [distance.jensenshannon(p, q, base=2) ** 2 for p, q in zip(a, b, strict=True)]
    np.testing.assert_allclose(found.rows, rows, atol=1e-9)
    assert found.bits == pytest.approx(np.mean(rows), abs=1e-9)
    assert found.correlation == pytest.approx(pearsonr(a.ravel(), b.ravel()).statistic, abs=1e-9)
    assert found.cosine == pytest.approx(1 - distance.cosine(a.ravel(), b.ravel()), abs=1e-9)
    assert found.largest == abs(a - b).max()


@given(some.integers(0, 999))
def test_forbidden_cells_are_left_out(seed):
    a, b = patterns(seed, causal=True)
    may = np.tri(6, dtype=bool)
    found = compare_patterns(a, b, may)
    assert found.correlation == pytest.approx(pearsonr(a[may], b[may]).statistic, abs=1e-9)
    assert found.cosine == pytest.approx(1 - distance.cosine(a[may], b[may]), abs=1e-9)
    assert found.rows[0] == 0.0, "the first row has one place to look at"


def test_rows_that_one_of_them_lacks_are_no_rows():
    a, b = patterns(3)
    may = np.ones((6, 6), dtype=bool)
    b[2] = 0.0
    may[4] = False
    found, whole = (
        compare_patterns(a, b, may),
        compare_patterns(np.delete(a, [2, 4], 0), np.delete(b, [2, 4], 0)),
    )
    assert np.isnan(found.rows[[2, 4]]).all() and np.isfinite(np.delete(found.rows, [2, 4])).all()
    assert (found.bits, found.cosine) == (whole.bits, whole.cosine)
    nothing, half = np.array([[0.0, 0.0], [0.25, 0.25]]), np.array([[0.5, 0.0], [0.5, 0.5]])
    for one, other in (
        (nothing, half),
        (half, nothing),
    ):  # a row that sums to less than 1 is one all the same
        assert np.isnan(compare_patterns(one, other).rows).tolist() == [True, False]


def test_a_row_that_is_no_distribution_is_made_one_for_the_divergence():
    a, b = patterns(4)
    np.testing.assert_allclose(compare_patterns(a * 3, b).rows, compare_patterns(a, b).rows, atol=1e-12)


def test_nothing_to_compare_is_not_a_number():
    none = compare_patterns(np.zeros((2, 2)), np.zeros((2, 2)))
    assert (
        np.isnan([none.bits, none.correlation, none.cosine, none.largest]).all() and np.isnan(none.rows).all()
    )
    even = compare_patterns(np.full((3, 3), 1 / 3), patterns(1, 3)[0])
    assert np.isnan(even.correlation) and np.isfinite(even.cosine), (
        "an even pattern goes up and down with nothing"
    )
    assert np.isnan(cosine(np.zeros(2), np.ones(2)))


def test_patterns_of_two_shapes_are_refused_with_both():
    with pytest.raises(ValueError, match=r"\(2, 2\).*\(3, 3\)"):
        compare_patterns(np.eye(2), np.eye(3))
