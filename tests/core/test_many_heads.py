"""Several heads followed number by number: against nn.MultiheadAttention, by hand, and in closed form."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from core.errors import InputError
from viz.course.self_attention.many_heads import maths
from viz.course.self_attention.many_heads.maths import Sizes

SIZES = [Sizes(), Sizes(1, 2, 4, 4), Sizes(3, 6, 12, 3), Sizes(1, 5, 6, 1)]


@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("redrawn", [0, 2])
def test_every_step_is_that_of_torch(sizes: Sizes, redrawn: int) -> None:
    way, attend = maths.run_layer(sizes, 3, redrawn), maths.layer(sizes, 3, redrawn)
    oracle = nn.MultiheadAttention(sizes.d, sizes.h, batch_first=True, dtype=torch.float64)
    maps = (attend.to_q, attend.to_k, attend.to_v)
    with torch.no_grad():
        oracle.in_proj_weight.copy_(torch.cat([each.weight for each in maps]))
        oracle.in_proj_bias.copy_(torch.cat([each.bias for each in maps]))
        oracle.out_proj.weight.copy_(attend.to_out.weight)
        oracle.out_proj.bias.copy_(attend.to_out.bias)
        x = torch.from_numpy(way.x)
        out, each = oracle(x, x, x, average_attn_weights=False)
        mean = oracle(x, x, x, average_attn_weights=True)[1]
        np.testing.assert_allclose(way.project, attend.to_q(x), atol=1e-14)
    np.testing.assert_allclose(way.out, out, atol=1e-13)
    np.testing.assert_allclose(way.pattern, each, atol=1e-14)
    np.testing.assert_allclose(way.pattern.mean(1), mean, atol=1e-14)
    assert (
        way.parameters == sum(weight.numel() for weight in oracle.parameters()) == 4 * (sizes.d**2 + sizes.d)
    )
    assert maths.parameters(512) == 1_050_624


def test_shapes_and_whose_number_is_where() -> None:
    sizes = Sizes(2, 3, 8, 4)
    way = maths.run_layer(sizes)
    steps = {stage.name: stage for stage in maths.stages(way)}
    assert tuple(steps) == maths.NAMES
    expected = {
        "x": (2, 3, 8),
        "project": (2, 3, 8),
        "view": (2, 3, 4, 2),
        "swap": (2, 4, 3, 2),
        "scores": (2, 4, 3, 3),
        "softmax": (2, 4, 3, 3),
        "out": (2, 4, 3, 2),
        "transpose back": (2, 3, 4, 2),
        "flatten": (2, 3, 8),
        "W_O": (2, 3, 8),
    }
    assert {name: stage.shape for name, stage in steps.items()} == expected
    assert all(stage.head_of.shape == stage.word_of.shape == stage.shape for stage in steps.values())
    for name in ("swap", "scores", "softmax", "out"):
        assert (steps[name].head_of == np.arange(4)[:, None, None]).all() and (
            steps[name].word_of == np.arange(3)[:, None]
        ).all()
    assert (steps["flatten"].head_of[0] == np.arange(8) // 2).all() and (
        np.arange(3) == steps["flatten"].word_of[0].T
    ).all()
    np.testing.assert_array_equal(way.merged[1, 2], way.heads[1, :, 2].ravel())
    wrong = {stage.name: stage for stage in maths.stages(way, swapped=False)}
    np.testing.assert_array_equal(wrong["flatten"].value, way.heads.reshape(2, 3, 8))
    right = (wrong["flatten"].head_of == steps["flatten"].head_of) & (
        wrong["flatten"].word_of == steps["flatten"].word_of
    )
    assert right[0].sum() == maths.in_place(sizes) < 24
    assert way.off > 0.1 and (way.unswapped == way.merged)[right].all()


def test_with_one_head_or_one_word_the_swap_changes_nothing() -> None:
    for sizes in (Sizes(1, 4, 6, 1), Sizes(2, 1, 6, 3)):
        assert maths.in_place(sizes) == sizes.n * sizes.d and maths.run_layer(sizes).off == 0


def test_a_head_drawn_anew_leaves_the_others_as_they_are_to_the_bit() -> None:
    """E15."""
    sizes = Sizes(2, 5, 16, 4)
    before, after = maths.run_layer(sizes), maths.run_layer(sizes, redrawn=1)
    moved = maths.changed(before, after)
    assert moved[0] > 0.1 and (moved[1:] == 0).all()
    assert (
        before.heads[:, 1:].tobytes() == after.heads[:, 1:].tobytes()
        and before.pattern[:, 1:].tobytes() == after.pattern[:, 1:].tobytes()
    )
    assert np.abs(before.out - after.out).max() > 0.05  # W_O mixes all heads


def test_a_head_reads_the_whole_word() -> None:
    """E30."""
    assert maths.chunk(Sizes(1, 4, 8, 2)) > 0.1
    assert maths.chunk(Sizes(1, 4, 8, 1)) == pytest.approx(0, abs=1e-14)


def test_heads_that_do_not_divide_the_width_are_told_in_three_parts() -> None:
    with pytest.raises(InputError, match="8 numbers cannot be divided among 3 heads") as told:
        maths.run_layer(Sizes(1, 4, 8, 3))
    assert "divisible" in told.value.rule and "d = 6 or d = 9" in told.value.remedy
    with pytest.raises(InputError, match="take d = 8,"):
        maths.run_layer(Sizes(1, 4, 4, 8))


@pytest.mark.parametrize("wanted", [2, 3, 4])
def test_one_head_keeps_the_worth_of_one_part(wanted: int) -> None:
    for heads in range(1, wanted + 2):
        assert maths.measured_loss(wanted, heads) == pytest.approx(maths.lost_share(wanted, heads), abs=0.02)


