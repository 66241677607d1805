"""Local attention against closed forms and against the layer that models use."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as some

from core.errors import InputError
from core.layers.recurrent.alignment import Local, Source
from core.layers.scores import Dot
from viz.course.shared import luong

scores = some.lists(some.floats(-5, 5), min_size=1, max_size=9).map(np.array)


@given(scores, some.floats(0, 9), some.integers(1, 5), some.floats(0.2, 20))
def test_a_row_is_the_closed_form(row, centre, window, sigma):
    """C022."""
    found, at = luong.local(row, centre, window, sigma), np.arange(len(row))
    inside = np.abs(at - centre) <= window
    raised = np.where(inside, np.exp(row - row.max()), 0.0)
    align = raised / raised.sum() if inside.any() else raised
    np.testing.assert_allclose(found.align, align, atol=1e-12)
    np.testing.assert_allclose(
        found.product, align * np.exp(-((at - centre) ** 2) / (2 * sigma**2)), atol=1e-12
    )
    assert found.n_inside == inside.sum() and found.total <= 1 + 1e-12


def test_the_gaussian_at_the_edge_of_the_window_is_e_to_minus_two():
    """C022: sigma = D / 2."""
    found = luong.local(np.zeros(9), centre=4.0, window=3)
    assert found.sigma == 1.5 and found.gaussian[[1, 7]] == pytest.approx([math.exp(-2)] * 2)
    assert luong.bell(np.array([1.0]), 4.0, 1.5)[0] == pytest.approx(0.1353, abs=1e-4)


@given(scores)
def test_a_wide_bell_without_a_window_gives_the_softmax_back(row):
    found = luong.local(row, 0.0, 1, sigma=1e7, windowed=False)
    np.testing.assert_allclose(found.product, torch.softmax(torch.from_numpy(row), -1), atol=1e-9)
    assert found.total == pytest.approx(1.0)


def test_the_layer_of_the_models_does_the_same():
    torch.manual_seed(3)
    layer = Local(Dot(5, 5), 2, 5, 7, predictive=True)
    memory, query = torch.randn(1, 8, 5), torch.randn(1, 1, 5)
    from core.trace import Recorder

    recorder = Recorder()
    with torch.no_grad():
        layer(query, Source(memory, memory[:, None], torch.ones(1, 8, dtype=torch.bool)), tap=recorder)
    trace = recorder.close()
    centre = float(trace["centre"].squeeze())
    found = luong.local(trace["scores"].squeeze().numpy(), centre, 2)
    np.testing.assert_allclose(found.product, trace["pattern"].squeeze().numpy(), atol=1e-6)
    assert luong.predicted_centre(luong.required_z(centre, 8), 8) == pytest.approx(centre)


def test_the_centre_never_reaches_the_ends():
    assert luong.required_z(6.0, 6) == math.inf and luong.required_z(0.0, 6) == -math.inf
    assert 0 < luong.predicted_centre(-20, 6) < luong.predicted_centre(20, 6) < 6


@pytest.mark.parametrize(("window", "sigma"), [(0, None), (2, 0.0), (2, math.inf)])
def test_what_cannot_be_is_refused(window, sigma):
    with pytest.raises(InputError):
        luong.local(np.zeros(3), 1.0, window, sigma)


def test_what_windows_keep_and_cost():
    weights = np.eye(4)[[1, 0, 2, 3]]
    diagonal = luong.windows([luong.monotonic(t, 4) for t in range(4)], 1, 4)
    assert luong.inside_share(weights, diagonal) == 1.0
    assert luong.inside_share(weights, luong.windows(range(4), 0, 4)) == 0.5
    assert luong.crossing(weights) == 0 and luong.cells(4, 4) == 16 and luong.cells(4, 4, 1) == 12
