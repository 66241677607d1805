"""Another order of the words: equivariance, the closed forms, and the layer itself, each against an oracle."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

import core
from core.layers.attention import MultiHeadAttention
from viz.course.self_attention.permutation import maths

WORDS, SIZE, HEADS = 7, 15, 3


@pytest.fixture
def layer() -> MultiHeadAttention:
    with torch.random.fork_rng():
        torch.manual_seed(3)
        return maths.in_double(MultiHeadAttention(SIZE, HEADS))


def rows(n: int = WORDS) -> np.ndarray:
    return np.random.default_rng(1).normal(size=(n, SIZE))


def oracle(layer: MultiHeadAttention) -> nn.MultiheadAttention:
    other = nn.MultiheadAttention(SIZE, HEADS, batch_first=True).double().eval()
    maps = (layer.to_q, layer.to_k, layer.to_v)
    other.load_state_dict(
        {
            "in_proj_weight": torch.cat([each.weight for each in maps]),
            "in_proj_bias": torch.cat([each.bias for each in maps]),
            "out_proj.weight": layer.to_out.weight,
            "out_proj.bias": layer.to_out.bias,
        }
    )
    return other


@pytest.mark.parametrize("causal", [False, True])
def test_the_layer_is_torch_s(layer, causal):
    x = rows()
    mask = torch.ones(WORDS, WORDS, dtype=torch.bool).triu(1) if causal else None
    with torch.no_grad():
        expected, weights = oracle(layer)(
            *[torch.tensor(x)[None]] * 3, attn_mask=mask, average_attn_weights=False
        )
    out, pattern = maths.attend(layer, x, causal)
    np.testing.assert_allclose(out, expected[0], atol=1e-12)
    np.testing.assert_allclose(pattern, weights[0], atol=1e-12)


def test_equivariant_not_invariant_and_the_weights_are_p_a_p_transposed(layer):
    """C038, C039."""
    x, order = rows(), (4, 0, 6, 1, 5, 3, 2)
    p = maths.matrix(order)
    assert np.array_equal(p @ x, x[list(order)]) and np.array_equal(p @ p.T, np.eye(WORDS))
    (out, a), (moved, b) = maths.attend(layer, x), maths.attend(layer, p @ x)
    np.testing.assert_allclose(moved, p @ out, atol=1e-13)
    np.testing.assert_allclose(b, p @ a @ p.T, atol=1e-13)
    found = maths.reordered(layer, x, p @ x, order)
    assert (
        found.kind == maths.MOVES and found.largest < 1e-12 < 0.01 < found.in_place and found.unchanged.all()
    )
    assert found.pooled_largest < 1e-13
    assert maths.reordered(layer, x, x, range(WORDS)).kind == maths.STAYS


def test_with_positions_and_with_a_mask_it_is_lost(layer):
    x, order = rows(), (0, 2, 1, 3, 4, 6, 5)
    places = np.random.default_rng(2).normal(size=(WORDS, SIZE))
    placed = maths.reordered(layer, x + places, x[list(order)] + places, order)
    assert placed.kind == maths.CHANGES and placed.pooled_largest > 0.001 and not placed.unchanged.any()
    masked = maths.reordered(layer, x, x[list(order)], order, causal=True)
    assert masked.kind == maths.CHANGES
    assert (
        masked.unchanged.tolist()
        == maths.same_past(range(WORDS), order)
        == [True, False, False, True, True, False, False]
    )


def test_a_repeated_word_counts_and_only_shares_count(layer):
    x = rows()
    again = (*range(WORDS), 2, 2)
    before, after = maths.attend(layer, x)[1], maths.attend(layer, x[list(again)])[1][:, :WORDS]
    together = np.concatenate(
        [after[..., :2], after[..., [2]] + after[..., 7:].sum(-1, keepdims=True), after[..., 3:7]], axis=-1
    )
    np.testing.assert_allclose(together, maths.repeated(before, [1, 1, 3, 1, 1, 1, 1]), atol=1e-13)
    said = maths.reordered(layer, x, x[list(again)], again)
    assert said.kind == maths.CHANGES and not said.unchanged.any()
    whole = (*range(WORDS), *range(WORDS))
    assert maths.reordered(layer, x, x[list(whole)], whole).unchanged.all()


def test_the_model_s_own_first_layer_and_all_its_layers_agree():
    model = core.open_model("bert-mini")
    run = model.run("The dog saw the man.")
    x = maths.rows_of(model.network, run.ids, range(len(run.ids)))
    np.testing.assert_allclose(x, run.trace["embed.out"], atol=1e-5)
    out, pattern = maths.attend(maths.in_double(model.network.layers[0].self_attn), x)
    np.testing.assert_allclose(out, run.trace["layer.0.self_attn.out"], atol=1e-4)
    np.testing.assert_allclose(pattern, run.trace["layer.0.self_attn.pattern"], atol=1e-5)
    np.testing.assert_allclose(maths.run_layers(model.network, x), run.hidden()[-1], atol=1e-4)
    bare = model.run("The dog saw the man.", edits=[core.edits.NoPositions("embed.position")])
    np.testing.assert_allclose(maths.rows_of(model.network, run.ids), bare.trace["embed.out"], atol=1e-5)


def test_moving_one_word_keeps_all_words():
    order = (0, 1, 2, 3)
    for _ in range(4):
        order = maths.forward(order, 0)
    assert order == (0, 1, 2, 3) and sorted(maths.forward((2, 0, 1), 1)) == [0, 1, 2]
