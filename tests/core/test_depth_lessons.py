"""Norms, sums and stacks written out: against torch, closed forms and the numbers of the documents."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from core.layers.norm import LayerNorm
from viz.course.transformer import depth
from viz.course.transformer.residual_norm import maths


def table(words: int = 8, numbers: int = 5, lot: int = 3) -> np.ndarray:
    return np.random.default_rng(lot).standard_normal((words, numbers)) * 2 + 1


def test_layer_norm_is_torchs_and_ours():
    x, gain, bias = table(), np.linspace(0.5, 2, 5), np.linspace(-1, 1, 5)
    ours = maths.layer_norm(x, gain, bias)
    torchs = F.layer_norm(torch.from_numpy(x), (5,), torch.from_numpy(gain), torch.from_numpy(bias)).numpy()
    np.testing.assert_allclose(ours, torchs, atol=1e-12)
    np.testing.assert_allclose(
        maths.layer_norm(x), LayerNorm(5).double()(torch.from_numpy(x)).detach().numpy(), atol=1e-12
    )


@pytest.mark.parametrize("h", [4, 256, 512])
def test_the_printed_deviation_gives_variance_one_over_h(h):
    """C064: 0.001953 for H = 512."""
    x = table(1, h)[0]
    assert maths.layer_norm(x, printed=True).var() == pytest.approx(1 / h, rel=1e-4)
    assert maths.layer_norm(x).var() == pytest.approx(1, rel=1e-4)
    assert float(maths.deviation(x, printed=True)[0] / maths.deviation(x)[0]) == pytest.approx(h**0.5)


def test_batch_norm_is_torchs_and_another_axis():
    x = table()
    np.testing.assert_allclose(
        maths.batch_norm(x), F.batch_norm(torch.from_numpy(x), None, None, training=True).numpy(), atol=1e-12
    )
    assert np.abs(maths.batch_norm(x) - maths.layer_norm(x)).max() > 0.5
    pushed = x.copy()
    pushed[2, 0] += 3
    layer = maths.row_changes(maths.layer_norm(x), maths.layer_norm(pushed))
    batch = maths.row_changes(maths.batch_norm(x), maths.batch_norm(pushed))
    assert np.flatnonzero(layer).tolist() == [2] and (batch > 0).all()
    assert not maths.batch_norm(x[:1]).any(), "one word leaves nothing to compare"


def test_the_three_orders_by_hand():
    x, f = torch.tensor([[1.0, 3.0, 5.0]]), lambda y: 2 * y
    unit = np.array([-1.0, 0.0, 1.0]) * 1.5**0.5
    wanted = {
        "none": [3, 9, 15],
        "post": unit,
        "pre": np.array([1, 3, 5]) + 2 * unit,
        "worded": np.array([1, 3, 5]) + unit,
    }
    for order, values in wanted.items():
        np.testing.assert_allclose(depth.apply(order, x, f)[0], values, atol=1e-6)
    assert depth.apply("none", x, f, residual=False).tolist() == [[2, 6, 10]]
    assert torch.equal(depth.apply("none", x, torch.zeros_like), x), (
        "the identity where the sub-layer is zero"
    )


def test_without_sums_signal_and_gradient_die_and_with_them_they_do_not():
    """C063."""
    bare, kept = (
        depth.by_depth("none", residual=residual, size=0.5, n_layers=8) for residual in (False, True)
    )
    assert bare.signal[-1] < 1e-5 * bare.signal[0] and bare.gradient[0] < 1e-5 * bare.gradient[-1]
    assert kept.signal[-1] > kept.signal[0] and kept.gradient[0] > kept.gradient[-1]
    assert (
        bare.signal[0] == kept.signal[0]
        and len(kept.signal) == 9 == len(kept.mean_cosine) == len(kept.added) + 1
    )


def test_the_gradient_holds_the_identity():
    gap, size = depth.identity_gap()
    assert gap < 1e-12 < size
    x, layers, w = depth.sample_stack(1)
    x.requires_grad_()
    bare, kept = (
        torch.autograd.grad((depth.apply("none", x, layers[1], residual=r) * w).sum(), x)[0]
        for r in (False, True)
    )
    torch.testing.assert_close(kept - bare, w)


def test_gradients_by_depth_are_finite_differences():
    x, layers, w = depth.sample_stack(2)
    found = depth.by_depth("pre", size=0.7, n_layers=2)

    def loss(y: torch.Tensor) -> float:
        for f in layers:
            y = depth.apply("pre", y, lambda v, f=f: 0.7 * f(v))
        return float((y * w).sum())

    direction = torch.from_numpy(np.random.default_rng(1).standard_normal(tuple(x.shape)))
    with torch.enable_grad():
        leaf = x.clone().requires_grad_()
        y = leaf
        for f in layers:
            y = depth.apply("pre", y, lambda v, f=f: 0.7 * f(v))
        slope = torch.autograd.grad((y * w).sum(), leaf)[0]
    assert found.gradient[0] == pytest.approx(slope.norm().item())
    step = 1e-6
    assert (loss(x + step * direction) - loss(x - step * direction)) / (2 * step) == pytest.approx(
        float((slope * direction).sum()), rel=1e-6
    )


def test_the_orders_differ_by_depth_and_the_worded_one_does_not_notice_the_size():
    """C065."""
    large, small = (
        {order: depth.by_depth(order, size=size) for order in depth.ORDERS[1:]} for size in (0.4, 0.1)
    )
    np.testing.assert_allclose(large["post"].signal[1:], 1, atol=1e-6)
    assert large["pre"].signal[-1] > small["pre"].signal[-1] > 1
    np.testing.assert_allclose(large["worded"].signal, small["worded"].signal, rtol=1e-6)
    assert large["worded"].signal[-1] > 3
