"""Positions: closed forms, the documents' numbers, and the reference implementations."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from core.layers.positions import (
    LearnedPositions,
    Sinusoidal,
    alibi_bias,
    alibi_slopes,
    frequencies,
    rotary,
    sinusoidal,
    sinusoidal_at,
)

exact = {"dtype": torch.float64}


@pytest.mark.parametrize("d_model", [1, 2, 5, 8, 13])
def test_sinusoidal_is_the_closed_form_for_even_and_odd_widths(d_model):
    table = sinusoidal(7, d_model, base=300.0, **exact)
    assert table.shape == (7, d_model)
    for position in range(7):
        for i in range(d_model):
            angle = position / 300.0 ** (2 * (i // 2) / d_model)
            want = math.cos(angle) if i % 2 else math.sin(angle)
            assert table[position, i].item() == pytest.approx(want, abs=1e-14)


def test_sinusoidal_d512_has_the_numbers_of_the_slides():
    zero, one = sinusoidal(2, 512, **exact)
    assert torch.equal(zero, torch.tensor([0.0, 1.0] * 256, **exact))
    begin = torch.tensor([0.841471, 0.540302, 0.821856, 0.569695], **exact)
    assert torch.allclose(one[:4], begin, rtol=0, atol=5e-7)
    assert one[-2].item() == pytest.approx(0.000104, abs=5e-7)
    assert one[-1].item() == pytest.approx(0.999999995, abs=5e-10)
    assert [f"{v:.4f}" for v in one[[0, 1, 2, -2, -1]]] == ["0.8415", "0.5403", "0.8219", "0.0001", "1.0000"]


def test_distance_at_a_fixed_offset_is_constant_only_with_the_pair_exponent():
    right = sinusoidal(200, 128, **exact)
    steps = (right[5:] - right[:-5]).norm(dim=1)
    assert torch.allclose(steps, torch.full_like(steps, 5.799136), rtol=0, atol=5e-7)
    printed = sinusoidal(200, 128, variant="unpaired", **exact)
    steps = (printed[5:] - printed[:-5]).norm(dim=1)
    assert steps.min().item() == pytest.approx(4.787, abs=5e-4)
    assert steps.max().item() == pytest.approx(6.678, abs=5e-4)


def test_fractional_positions_lie_on_the_same_curves():
    halves = sinusoidal_at(torch.arange(0, 9, 0.5, dtype=torch.float64), 6)
    assert torch.equal(halves[::2], sinusoidal(9, 6, **exact))
    assert halves[1, 1].item() == pytest.approx(math.cos(0.5), abs=1e-15)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"d_model": 0}, "d_model=0"),
        ({"base": 0.0}, "base=0.0"),
        ({"base": math.inf}, "base=inf"),
        ({"variant": "odd"}, "variant='odd'"),
        ({"variant": "over_p"}, "p=None"),
        ({"p": 5}, "p=5"),
        ({"variant": "over_p", "p": -1}, "p=-1"),
        ({"n_positions": -1}, "n_positions=-1"),
    ],
)
def test_wrong_arguments_are_named(arguments, words):
    with pytest.raises(ValueError, match=words.replace(".", r"\.")):
        sinusoidal(**{"n_positions": 3, "d_model": 4} | arguments)


def test_modules_look_up_rows_and_only_the_learned_table_is_saved():
    fixed, learned = Sinusoidal(11, 6), LearnedPositions(11, 6)
    positions = torch.tensor([3, 10, 3])
    assert torch.equal(fixed(positions), sinusoidal(11, 6)[positions])
    assert torch.equal(learned(positions), learned.weight[positions])
    assert fixed(positions.expand(2, 3)).shape == (2, 3, 6)
    assert list(fixed.state_dict()) == []
    assert list(fixed.parameters()) == []
    assert list(learned.state_dict()) == ["weight"]
    for part in (fixed, learned):
        with pytest.raises(IndexError):
            part(torch.tensor([11]))


@pytest.mark.reference
@pytest.mark.parametrize("base", [10000.0, 500.0])
def test_rotary_is_that_of_transformers(base):
    llama = pytest.importorskip("transformers.models.llama.modeling_llama")
    config = llama.LlamaConfig(
        hidden_size=30, num_attention_heads=3, rope_parameters={"rope_type": "default", "rope_theta": base}
    )
    q, k = torch.randn(2, 3, 7, 10), torch.randn(2, 3, 7, 10)
    positions = torch.tensor([0, 1, 2, 5, 11, 60, 301])
    cos, sin = llama.LlamaRotaryEmbedding(config)(q, positions[None])
    want = llama.apply_rotary_pos_emb(q, k, cos, sin)
    for ours, theirs in zip((rotary(q, positions, base), rotary(k, positions, base)), want, strict=True):
        assert torch.allclose(ours, theirs, rtol=0, atol=5e-5)


def test_rotary_interleaved_is_roformers_matrix():
    x = torch.randn(1, 1, 5, 6, **exact)
    w = frequencies(6)[::2]
    for position in range(5):
        cos, sin = (position * w).cos(), (position * w).sin()
        blocks = torch.stack((torch.stack((cos, -sin), -1), torch.stack((sin, cos), -1)), -2)
        want = torch.block_diag(*blocks) @ x[0, 0, position]
        got = rotary(x, torch.arange(5), interleaved=True)[0, 0, position]
        assert torch.allclose(got, want, rtol=0, atol=1e-14)


def test_rotary_refuses_odd_heads_and_wrong_lengths():
    with pytest.raises(ValueError, match="d_head=5"):
        rotary(torch.zeros(1, 1, 2, 5), torch.arange(2))
    with pytest.raises(ValueError, match="has 2 positions"):
        rotary(torch.zeros(1, 1, 2, 4), torch.arange(3))


@pytest.mark.reference
@pytest.mark.parametrize("n_heads", [1, 2, 3, 5, 8, 12, 16, 20])
def test_alibi_is_that_of_transformers(n_heads):
    bloom = pytest.importorskip("transformers.models.bloom.modeling_bloom")
    theirs = bloom.build_alibi_tensor(torch.ones(1, 7, dtype=torch.long), n_heads, torch.float32)[:, 0]
    slopes = theirs[:, 1] - theirs[:, 0]
    assert torch.allclose(alibi_slopes(n_heads), slopes, rtol=1e-5, atol=0)
    ours = alibi_bias(n_heads, 1, 7)[:, 0]  # theirs counts from the first key: the softmax sees no constant
    assert torch.allclose(ours - ours[:, :1], theirs, rtol=1e-5, atol=1e-6)


def test_alibi_bias_counts_distance_from_the_last_queries():
    bias = alibi_bias(3, 2, 5)
    slopes = alibi_slopes(3)
    distance = torch.tensor([[3, 2, 1, 0, 1], [4, 3, 2, 1, 0]])
    assert torch.equal(bias, -(slopes[:, None, None] * distance))
    assert alibi_bias(3, 0, 5).shape == (3, 0, 5)
    with pytest.raises(ValueError, match="n_query=6"):
        alibi_bias(3, 6, 5)
    with pytest.raises(ValueError, match="n_heads=0"):
        alibi_slopes(0)
