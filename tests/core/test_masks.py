"""Masks against matrices written by hand, closed forms, and laws that hold for every size."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from small_models import build

from core import masks
from core.layers.attention import masked_softmax
from viz.course.self_attention.masks import maths
from viz.course.self_attention.masks import maths as leaking
from viz.course.shared import mask_evidence
from viz.course.shared import masks as lesson
from viz.course.shared.padded_batch import batch_masks, padded_content, run_batch

SIZES = st.integers(1, 23)


def drawn(*rows: str) -> torch.Tensor:
    """A mask as one sees it: x may attend, . may not."""
    return torch.tensor([[cell == "x" for cell in row] for row in rows])


@pytest.mark.parametrize(
    ("mask", "by_hand"),
    [
        (masks.full(2, 3), drawn("xxx", "xxx")),
        (masks.full(2), drawn("xx", "xx")),
        (masks.causal(3), drawn("x..", "xx.", "xxx")),
        (masks.causal(2, past=3), drawn("xxxx.", "xxxxx")),
        (masks.strict(3), drawn("...", "x..", "xx.")),
        (masks.window(5, 1), drawn("xx...", "xxx..", ".xxx.", "..xxx", "...xx")),
        (masks.window(3, 0), drawn("x..", ".x.", "..x")),
        (masks.global_tokens(4, [1]), drawn(".x..", "xxxx", ".x..", ".x..")),
        (masks.global_tokens(3, []), drawn("...", "...", "...")),
        (masks.prefix(4, 2), drawn("xx..", "xx..", "xxx.", "xxxx")),
        (masks.causal(4) & masks.window(4, 1), drawn("x...", "xx..", ".xx.", "..xx")),
        (masks.window(3, 0) | masks.global_tokens(3, [0]), drawn("xxx", "xx.", "x.x")),
    ],
)
def test_against_matrices_written_by_hand(mask, by_hand):
    assert mask.dtype == torch.bool and torch.equal(mask, by_hand)


def test_not_padding_broadcasts_over_heads_and_queries():
    real = torch.tensor([[True, True, False], [True, False, False]])
    mask = masks.not_padding(real)
    assert mask.shape == (2, 1, 1, 3)
    seen = mask.expand(2, 5, 7, 3)
    for batch in range(2):
        assert torch.equal(seen[batch], real[batch].expand(5, 7, 3))


@given(n=SIZES, past=st.integers(0, 7))
def test_causal_allows_exactly_what_was_read(n, past):
    i, j = torch.arange(past, past + n)[:, None], torch.arange(past + n)[None, :]
    assert torch.equal(masks.causal(n, past=past), j <= i)


@given(n=st.integers(1, 40), block=st.integers(1, 7), count=st.integers(0, 9), seed=st.integers(0, 10**6))
def test_random_blocks_are_whole_blocks_a_count_a_row_and_a_function_of_the_seed(n, block, count, seed):
    mask = masks.random_blocks(n, block=block, count=count, seed=seed)
    assert mask.shape == (n, n)
    assert torch.equal(mask, masks.random_blocks(n, block=block, count=count, seed=seed))
    n_blocks = -(-n // block)
    corners = mask[::block, ::block]
    assert corners.sum(1).tolist() == [min(count, n_blocks)] * n_blocks
    assert torch.equal(mask, corners.repeat_interleave(block, 0).repeat_interleave(block, 1)[:n, :n])


@given(
    n=st.integers(1, 40),
    block=st.integers(1, 5),
    count=st.integers(0, 5),
    radius=st.integers(0, 6),
    seed=st.integers(0, 99),
)
def test_random_blocks_besides_others_never_draw_a_block_twice(n, block, count, radius, seed):
    there = masks.window(n, radius) | masks.global_tokens(n, [0])
    added = masks.random_blocks(n, block=block, count=count, seed=seed, occupied=there)
    assert not (added & there).any()
    for row in range(0, n, block):
        free = sum(
            not there[row : row + block, column : column + block].any() for column in range(0, n, block)
        )
        assert added[row, ::block].sum() == min(count, free)


# ---------------- What the exhibit on masks says in numbers: the arithmetic of a row, the leak, the errata, a padded batch.


# ------------------------------------------------------------------ one row


def test_a_row_number_by_number():
    row = lesson.row([0.0, math.log(3), 5.0], [True, True, False])
    assert row.mask == (0.0, 0.0, -math.inf)
    assert row.summed == (0.0, math.log(3), -math.inf)
    assert row.exponentials == pytest.approx((1.0, 3.0, 0.0)) and row.exponentials[2] == 0.0
    assert row.total == pytest.approx(4.0) and row.weights == pytest.approx((0.25, 0.75, 0.0))
    assert row.shift == 0 and not row.empty
    assert row.hidden == pytest.approx(math.exp(5) / (4 + math.exp(5)))


@given(st.lists(st.tuples(st.floats(-30, 30), st.booleans()), min_size=1, max_size=9))
def test_the_row_is_what_the_layer_computes(cells):
    scores, allowed = zip(*cells, strict=True)
    row = lesson.row(scores, allowed)
    layer = masked_softmax(torch.tensor(scores, dtype=torch.float64), torch.tensor(allowed))
    assert row.weights == pytest.approx(layer.tolist(), abs=1e-12)
    assert row.empty == (not any(allowed))
    kept = 1 - row.hidden
    if any(allowed) and kept > 1e-6:  # what is left grows by one common factor
        alone = lesson.softmax(np.array([scores]))[0]
        assert [w * kept for w in row.weights] == pytest.approx(
            [a if may else 0.0 for a, may in zip(alone, allowed, strict=True)], abs=1e-9
        )


@pytest.mark.parametrize("sign", [1, -1])
def test_huge_scores_do_not_overflow(sign):
    row = lesson.row([sign * 1600.0, sign * 1600.0 - 1], [True, True])
    assert row.shift == sign * 1600.0 and row.total > 0
    assert row.weights == pytest.approx((1 / (1 + math.exp(-1)), 1 / (1 + math.e)))


# ------------------------------------------------------------------ masks by name


@pytest.mark.parametrize(
    ("recipe", "expected"),
    [
        (lesson.Recipe("causal"), masks.causal(7)),
        (lesson.Recipe("strict"), masks.strict(7)),
        (lesson.Recipe("full"), masks.full(7)),
        (lesson.Recipe("prefix", length=4), masks.prefix(7, 4)),
        (lesson.Recipe("window", radius=1, past_only=False), masks.window(7, 1)),
        (lesson.Recipe("window", radius=1), masks.window(7, 1) & masks.causal(7)),
        (lesson.Recipe("padding", padded=3, past_only=False), (torch.arange(7) < 4).expand(7, 7)),
        (lesson.Recipe("padding", padded=99, past_only=False), (torch.arange(7) < 1).expand(7, 7)),
    ],
)
def test_recipes_are_the_masks_of_core(recipe, expected):
    assert torch.equal(torch.from_numpy(recipe.allowed(7)), expected)


@pytest.mark.quick(12)
@pytest.mark.parametrize("kind", lesson.KINDS)
@pytest.mark.parametrize("past_only", [True, False])
@pytest.mark.parametrize("n", [1, 2, 11])
def test_the_lines_of_python_make_the_same_mask(kind, past_only, n):
    recipe = lesson.Recipe(kind, n_global=3, count=2, seed=5, past_only=past_only)
    names = {"masks": masks, "torch": torch, "n": n}
    exec(recipe.code(), names)
    assert torch.equal(names["mask"], torch.from_numpy(recipe.allowed(n)))


def test_an_unknown_kind_names_the_known_ones():
    with pytest.raises(ValueError, match="causal, padding, window"):
        lesson.Recipe("diagonal").allowed(3)


def test_sparse_is_window_global_and_blocks_that_add_to_them():
    recipe = lesson.Recipe("sparse", radius=1, n_global=1, block=1, count=2, seed=3, past_only=False)
    there = (masks.window(13, 1) | masks.global_tokens(13, [0])).numpy()
    mask = recipe.allowed(13)
    assert (mask >= there).all() and (mask & ~there).sum(1).tolist() == [0, *[2] * 12]


# ------------------------------------------------------------------ a finite number


def test_leak_by_hand():
    """Two equal scores, one forbidden: e^M / (1 + e^M), M = -10 beside the 1/sqrt(64), -10/8 under it."""
    found = [
        lesson.filled([[0.0, 0.0]], [[True, False]], -10, p=64, inside=inside) for inside in (True, False)
    ]
    assert found[0].worst == (0, pytest.approx(math.exp(-1.25) / (1 + math.exp(-1.25))))
    assert found[1].worst == (0, pytest.approx(math.exp(-10) / (1 + math.exp(-10))))


@given(st.integers(2, 9), st.integers(0, 999), st.sampled_from([-1.0, -7.5, -40.0]))
def test_leak_laws(n, seed, fill):
    """C037. Less for a lower number, more under the root, none for -inf, everything in an empty row."""
    scores = np.random.default_rng(seed).standard_normal((n, n))
    allowed = masks.causal(n).numpy()
    inside, outside, lower = (
        lesson.filled(scores, allowed, f, p=64, inside=i)
        for f, i in ((fill, True), (fill, False), (2 * fill, False))
    )
    for found in (inside, outside, lower):
        np.testing.assert_allclose(found.weights.sum(-1), 1)
        assert found.leaks[-1] == 0, "the last row forbids nothing"
    assert (inside.leaks[:-1] > outside.leaks[:-1]).all() and (outside.leaks[:-1] > lower.leaks[:-1]).all()
    exact = masked_softmax(torch.from_numpy(scores), masks.causal(n)).numpy()
    for where in (True, False):
        np.testing.assert_array_equal(lesson.filled(scores, allowed, -math.inf, p=64, inside=where).leaks, 0)
        np.testing.assert_allclose(
            lesson.filled(scores, allowed, -math.inf, p=64, inside=where).weights, exact, atol=1e-15
        )
    empty = lesson.filled(scores, masks.strict(n).numpy(), fill, p=64, inside=False)
    assert empty.leaks[0] == pytest.approx(1) and empty.worst[0] == 0


def test_the_curve_is_the_largest_leak_of_a_row_that_allows_something():
    scores, allowed = np.random.default_rng(1).standard_normal((5, 5)), masks.strict(5).numpy()
    curve = lesson.leak_curve(scores, allowed, [-1, -10], p=16)
    for name, inside in (("inside", True), ("outside", False)):
        for value, fill in zip(curve[name], (-1, -10), strict=True):
            assert value == lesson.filled(scores, allowed, fill, p=16, inside=inside).leaks[1:].max()
    assert lesson.leak_curve(scores, np.zeros((5, 5), bool), [-1], p=16)["inside"].tolist() == [0.0]


# ------------------------------------------------------------------ errata


def test_e17_and_e48_a_row_with_nothing_left():
    elsewhere, ours = mask_evidence.strict_first_row()
    assert np.isnan(elsewhere).all() and (ours == 0).all()
    assert mask_evidence.prefix_gap() < 1e-15


# ------------------------------------------------------------------ a batch


def test_the_masks_of_a_padded_batch():
    """C071. Source padding, target padding, causal, and what the decoder used: neither forbids."""
    runs = run_batch(
        build("transformer"), ["She has a white car.", "She"], ["Ella tiene un auto blanco.", "Ella"]
    )
    found = batch_masks(runs[1])
    n, m = len(found.sources), len(found.targets)
    real_n, real_m = runs[1].source.n_real, runs[1].side.n_real
    assert real_n < n and real_m < m and n != m
    assert found.source_padding.shape == (m, n) and found.union.shape == (m, m)
    assert found.source_padding.tolist() == [[j < real_n for j in range(n)]] * m
    assert found.target_padding.tolist() == [[j < real_m for j in range(m)]] * m
    assert found.union.tolist() == [[j <= i and j < real_m for j in range(m)] for i in range(m)]
    assert (found.union == (found.causal & found.target_padding)).all()
    assert found.sources[real_n:] == ("PAD",) * (n - real_n)


@pytest.mark.parametrize("family", ["transformer", "gpt"])
def test_other_content_on_padded_positions_changes_nothing(family):
    """C071. Also without the mask in a GPT: its padding comes last, and causal hides it from all who are read."""
    texts = ["She has a white car.", "She"]
    runs = run_batch(
        build(family), texts, ["Ella tiene un auto blanco.", "Ella"] if family == "transformer" else None
    )
    change = padded_content(runs)
    assert change.padded > 5 and change.with_mask == 0.0
    assert change.without_mask > 0.01 if family == "transformer" else change.without_mask == 0.0


def test_a_model_with_one_stack_has_no_source_padding():
    with pytest.raises(ValueError, match="random-gpt has one stack"):
        batch_masks(run_batch(build("gpt"), ["She has", "She"])[0])


# ---------------- The lessons behind the causal mask: what leaks without it, and that its two forms are one.


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
