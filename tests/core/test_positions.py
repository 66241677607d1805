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


def test_sinusoidal_d4_is_the_worked_example():
    table = sinusoidal(11, 4, **exact)
    pos = torch.arange(11, **exact)
    want = torch.stack((pos.sin(), pos.cos(), (pos / 100).sin(), (pos / 100).cos()), dim=1)
    assert torch.allclose(table, want, rtol=0, atol=1e-15)


def test_a_step_is_a_rotation_of_each_pair():
    d_model, k = 26, 7
    w = frequencies(d_model)[::2]
    cos, sin = (k * w).cos(), (k * w).sin()
    blocks = torch.stack((torch.stack((cos, sin), -1), torch.stack((-sin, cos), -1)), -2)
    turn = torch.block_diag(*blocks)
    table = sinusoidal(200, d_model, **exact)
    assert (table[:-k] @ turn.T - table[k:]).abs().max() < 1e-12


def test_distance_at_a_fixed_offset_is_constant_only_with_the_pair_exponent():
    right = sinusoidal(200, 128, **exact)
    steps = (right[5:] - right[:-5]).norm(dim=1)
    assert torch.allclose(steps, torch.full_like(steps, 5.799136), rtol=0, atol=5e-7)
    printed = sinusoidal(200, 128, variant="unpaired", **exact)
    steps = (printed[5:] - printed[:-5]).norm(dim=1)
    assert steps.min().item() == pytest.approx(4.787, abs=5e-4)
    assert steps.max().item() == pytest.approx(6.678, abs=5e-4)


def test_every_vector_has_squared_length_half_d():
    table = sinusoidal(200, 128, **exact)
    assert torch.allclose((table * table).sum(1), torch.full((200,), 64.0, **exact), rtol=0, atol=1e-12)
    assert len({tuple(row.tolist()) for row in table}) == 200


def test_exponent_over_p_differs_from_over_d_by_the_known_amount():
    right, printed = sinusoidal(10, 60, **exact), sinusoidal(10, 60, variant="over_p", p=100, **exact)
    gap = (right - printed).abs()
    assert gap.max().item() == pytest.approx(1.404, abs=5e-4)
    assert divmod(int(gap.argmax()), 60) == (9, 8)
    assert 2 * math.pi / frequencies(60)[-1].item() == pytest.approx(46222, abs=1)
    assert 2 * math.pi / frequencies(60, variant="over_p", p=100)[-1].item() == pytest.approx(1313, abs=1)
    for table, share in ((right, 0.99964), (printed, 0.98683)):
        variance = table.var(dim=0)
        assert (variance[:30].sum() / variance.sum()).item() == pytest.approx(share, abs=5e-6)


def test_exponent_unpaired_is_beigys_formula_as_printed():
    one = sinusoidal(2, 4, variant="unpaired", **exact)[1]
    assert torch.allclose(one, torch.tensor([0.8415, 0.9950, 0.0100, 1.0000], **exact), rtol=0, atol=5e-5)
    assert sinusoidal(2, 512, variant="unpaired", **exact)[1, 1].item() == pytest.approx(0.5552, abs=5e-5)


@pytest.mark.parametrize(("d_model", "printed"), [(60, 62), (4, 6), (7, 8)])
def test_j_up_to_half_d_inclusive_gives_too_many_entries(d_model, printed):
    whole = sinusoidal(3, d_model, cut=False, **exact)
    assert whole.shape == (3, printed)
    assert torch.equal(whole[:, :d_model], sinusoidal(3, d_model, **exact))


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


@given(
    m=st.integers(0, 400),
    n=st.integers(0, 400),
    shift=st.integers(0, 400),
    half=st.integers(1, 8),
    seed=st.integers(0, 99),
    interleaved=st.booleans(),
)
def test_rotary_dot_products_depend_on_the_difference_only(m, n, shift, half, seed, interleaved):
    draw = torch.Generator().manual_seed(seed)
    q, k = torch.randn(2, 1, 1, 1, 2 * half, generator=draw, **exact)

    def score(query_at, key_at):
        turned_q = rotary(q, torch.tensor([query_at]), interleaved=interleaved)
        turned_k = rotary(k, torch.tensor([key_at]), interleaved=interleaved)
        return (turned_q * turned_k).sum().item()

    assert score(m, n) == pytest.approx(score(m + shift, n + shift), abs=1e-10)
    assert rotary(q, torch.tensor([m]), interleaved=interleaved).norm().item() == pytest.approx(
        q.norm().item()
    )


def test_rotary_refuses_odd_heads_and_wrong_lengths():
    with pytest.raises(ValueError, match="d_head=5"):
        rotary(torch.zeros(1, 1, 2, 5), torch.arange(2))
    with pytest.raises(ValueError, match="has 2 positions"):
        rotary(torch.zeros(1, 1, 2, 4), torch.arange(3))


@pytest.mark.parametrize("n_heads", [1, 2, 8, 16])
def test_alibi_slopes_are_geometric_for_powers_of_two(n_heads):
    ratio = 2 ** (-8 / n_heads)
    want = torch.tensor([ratio ** (h + 1) for h in range(n_heads)])
    assert torch.allclose(alibi_slopes(n_heads), want, rtol=1e-6, atol=0)


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
