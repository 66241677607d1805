"""The lessons behind the causal mask: what leaks without it, and that its two forms are one."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from viz.course.self_attention.masks import maths
from viz.course.self_attention.masks import maths as leaking


@pytest.fixture(scope="module")
def trained() -> dict[str, leaking.Learned]:
    return {sees: leaking.learned(sees, 4) for sees in leaking.SEES}


@pytest.mark.slow
def test_who_sees_the_next_digit_copies_it_and_who_does_not_is_left_with_chance(trained):
    for sees in ("all", "next"):
        found = trained[sees]
        assert found.inside > 0.98, "read, not guessed"
        assert found.pattern[np.arange(7), np.arange(1, 8)].min() > 0.8, "each place looks at the next one"
        assert abs(found.writing - 0.25) < 0.05, "where nothing follows it has learned nothing"
    past = trained["past"]
    assert np.abs(past.right - 0.25).max() < 0.05 and past.inside < 0.3
    assert (past.pattern[np.triu_indices(8, 1)] == 0).all()
    chance = math.log(4)
    assert abs(past.losses[-20:].mean() - chance) < 0.05 and trained["all"].losses[-20:].mean() < chance / 4


@pytest.mark.slow
def test_the_same_draw_learns_the_same_and_fewer_digits_are_easier_to_guess(trained):
    again = leaking.learned("past", 4)
    assert np.array_equal(again.right, trained["past"].right)
    assert abs(leaking.learned("past", 2).inside - 0.5) < 0.05
    with pytest.raises(ValueError, match="future"):
        leaking.allowed("future")


@pytest.mark.parametrize("n", [1, 2, 11, 23])
def test_both_forms_are_one_to_the_last_digit(n):
    """C035."""
    draw = np.random.default_rng(n).standard_normal
    scores, values = 3 * draw((n, n)), draw((n, 5))
    prefix, masked = maths.prefix_form(scores, values), maths.mask_form(scores, values)
    weights, outputs = maths.gaps(prefix, masked)
    assert weights.max() == 0.0 and outputs.max() == 0.0
    q, k, v = (
        torch.tensor(scores * math.sqrt(n))[None, None],
        torch.eye(n, dtype=torch.float64)[None, None],
        torch.tensor(values)[None, None],
    )
    reference = F.scaled_dot_product_attention(q, k, v, is_causal=True)[0, 0].numpy()
    np.testing.assert_allclose(masked.outputs, reference, atol=1e-12)


