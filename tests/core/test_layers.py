"""Layer norm, feed-forward and embedding against torch's own modules, closed forms and printed numbers."""

from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from core.layers import linear
from core.layers.dropout import dropout
from core.layers.embedding import TokenEmbedding
from core.layers.feedforward import ACTIVATIONS, FeedForward, gelu, gelu_tanh
from core.layers.linear import Linear
from core.layers.norm import LayerNorm

BATCH, POS, WIDE = 2, 5, 11


def draw(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def norm(n: int = WIDE) -> LayerNorm:
    ours = LayerNorm(n)
    ours.weight.data, ours.bias.data = draw(n, seed=17), draw(n, seed=18)
    return ours


def written_out(x: torch.Tensor, gain: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The equation, in float64."""
    x = x.double()
    mu = x.mean(-1, keepdim=True)
    return gain * (x - mu) / torch.sqrt((x - mu).square().mean(-1, keepdim=True) + 1e-5) + bias


def test_layer_norm_is_its_equation():
    ours, x = norm(), 3 * draw(BATCH, POS, WIDE, seed=19) + 5
    torch.testing.assert_close(ours(x).double(), written_out(x, ours.weight, ours.bias), rtol=1e-5, atol=1e-5)
    wide = draw(BATCH, 512, seed=20)
    torch.testing.assert_close(
        LayerNorm(512)(wide).var(-1, correction=0), torch.ones(BATCH), rtol=0, atol=1e-4
    )


def test_layer_norm_has_the_slope_of_its_equation():
    x = (3 * draw(BATCH, POS, WIDE, seed=19) + 5).requires_grad_()
    ours, weights = norm(), draw(BATCH, POS, WIDE, seed=23)
    slopes = [
        torch.autograd.grad((y * weights).sum(), x)[0]
        for y in (ours(x), written_out(x, ours.weight, ours.bias))
    ]
    torch.testing.assert_close(*slopes, rtol=1e-4, atol=1e-6)


def test_layer_norm_of_equal_numbers_stays_finite():
    assert LayerNorm(4)(torch.full((1, 4), 3.0)).tolist() == [[0.0, 0.0, 0.0, 0.0]]


def test_dropout_zeroes_its_share_and_keeps_the_mean():
    torch.manual_seed(0)
    drop = dropout(0.15)
    y = drop(torch.ones(401, 997))
    assert (y == 0).double().mean().item() == pytest.approx(0.15, abs=0.002)  # 4 standard errors
    assert y.double().mean().item() == pytest.approx(1, abs=0.003)
    assert y.unique().tolist() == pytest.approx([0, 1 / 0.85], rel=1e-4)
    assert not torch.equal(drop(torch.ones(401, 997)), y)
    torch.manual_seed(0)
    assert torch.equal(drop(torch.ones(401, 997)), y)
    neighbours = (y.flatten()[:-1] == 0) & (y.flatten()[1:] == 0)
    assert neighbours.double().mean().item() == pytest.approx(0.15**2, abs=0.001)


def test_dropout_keeps_the_type_and_does_nothing_outside_training():
    drop = dropout(0.5)
    x = draw(3, 5).bfloat16()
    assert drop(x).dtype == torch.bfloat16
    assert drop.eval()(x) is x
    with pytest.raises(ValueError, match="share=1"):
        dropout(1.0)


@pytest.mark.parametrize("activation", sorted(ACTIVATIONS))
def test_feed_forward_equals_two_linear_maps(activation):
    ours = FeedForward(WIDE, 13, activation=activation).eval()
    first, second = nn.Linear(WIDE, 13), nn.Linear(13, WIDE)
    first.load_state_dict(ours.to_hidden.state_dict())
    second.load_state_dict(ours.to_out.state_dict())
    between = {
        "relu": nn.ReLU(),
        "gelu": nn.GELU(),
        "gelu_tanh": nn.GELU(approximate="tanh"),
        "silu": nn.SiLU(),
    }[activation]
    x = draw(BATCH, POS, WIDE, seed=22)
    with torch.no_grad():
        torch.testing.assert_close(ours(x), second(between(first(x))), rtol=1e-5, atol=1e-6)
        torch.testing.assert_close(ours(x)[:, 3:4], ours(x[:, 3:4]), rtol=1e-5, atol=1e-6)


def test_gelu_in_closed_form():
    for value in (-3.0, -0.5, 0.0, 0.5, 2.0):
        exact = value * 0.5 * (1 + math.erf(value / math.sqrt(2)))
        tanh = 0.5 * value * (1 + math.tanh(math.sqrt(2 / math.pi) * (value + 0.044715 * value**3)))
        assert gelu(torch.tensor(value, dtype=torch.float64)).item() == pytest.approx(exact, abs=1e-12)
        assert gelu_tanh(torch.tensor(value, dtype=torch.float64)).item() == pytest.approx(tanh, abs=1e-12)


@pytest.mark.parametrize("scaled", [False, True])
def test_embedding_is_one_hot_times_the_table(scaled):
    embed = TokenEmbedding(29, WIDE, scaled=scaled)
    ids = torch.tensor([[3, 28, 3, 0, 17], [1, 1, 2, 5, 28]])
    with torch.no_grad():
        product = F.one_hot(ids, 29).float() @ embed.weight * (math.sqrt(WIDE) if scaled else 1)
        torch.testing.assert_close(embed(ids), product)
        hidden = draw(BATCH, POS, WIDE, seed=23)
        torch.testing.assert_close(embed.scores(hidden), hidden @ embed.weight.T)
    assert torch.equal(embed(ids)[0, 0], embed(ids)[0, 2])


@pytest.mark.parametrize("shape", [(1, 1), (2, 5), (3, 64)])
@pytest.mark.parametrize("bias", [True, False])
def test_a_frozen_map_equals_the_plain_one_and_notices_a_change(shape, bias):
    torch.manual_seed(4)
    layer, x = Linear(33, 13, bias=bias), torch.randn(*shape, 33)
    plain = torch.nn.functional.linear(x, layer.weight, layer.bias).detach()
    layer.requires_grad_(False)
    torch.testing.assert_close(layer(x), plain, rtol=1e-5, atol=1e-5)
    layer.weight.mul_(2.0)
    torch.testing.assert_close(
        layer(x), torch.nn.functional.linear(x, layer.weight, layer.bias), rtol=1e-5, atol=1e-5
    )
    with_grad = x.clone().requires_grad_()
    layer(with_grad).sum().backward()
    torch.testing.assert_close(with_grad.grad, layer.weight.sum(0).expand_as(x), rtol=1e-5, atol=1e-5)
    with torch.autocast("cpu", torch.bfloat16):
        assert layer(x).dtype == torch.bfloat16


def test_copies_in_the_processors_layout_stay_as_far_as_there_is_room(monkeypatch):
    room = linear.PackedWeightCache(3 * 4 * 16 * 32)
    monkeypatch.setattr(linear, "PACKED_WEIGHTS", room)
    monkeypatch.setattr(linear, "SMALL", 0)
    layers, rows = [Linear(32, 16).requires_grad_(False) for _ in range(5)], torch.randn(2, 32)
    for layer in (*layers, *layers):
        torch.testing.assert_close(layer(rows), F.linear(rows, layer.weight, layer.bias))
        assert room.nbytes <= room.capacity_bytes
    assert len(room._copies) == 3 and room.nbytes == room.capacity_bytes
    del layer, layers
    assert not room._copies and room.nbytes == 0


def test_a_model_larger_than_the_room_is_multiplied_as_it_lies_and_equal_runs_are_equal(monkeypatch):
    monkeypatch.setattr(linear, "PACKED_WEIGHTS", linear.PackedWeightCache(3 * 4 * 16 * 32))
    monkeypatch.setattr(linear, "SMALL", 0)
    small = torch.nn.ModuleList(Linear(32, 16).requires_grad_(False) for _ in range(3))
    large = torch.nn.ModuleList([*small, TokenEmbedding(16, 32).requires_grad_(False)])
    rows = torch.randn(2, 32)
    for network, copies in ((small, 3), (large, 0)):
        linear.PACKED_WEIGHTS = linear.PackedWeightCache(linear.PACKED_WEIGHTS.capacity_bytes)
        for part in network:
            part._packed = None
        linear.configure_packing(network)
        first, second = ([part(rows) for part in small] for _ in range(2))
        assert all(map(torch.equal, first, second))
        for part, found in zip(small, first, strict=True):
            torch.testing.assert_close(found, F.linear(rows, part.weight, part.bias))
        assert len(linear.PACKED_WEIGHTS._copies) == copies


@pytest.mark.parametrize("dtype", linear.HALF)
@pytest.mark.parametrize("shape", [(2, 5), (1, 1)])
def test_a_weight_in_half_precision_is_multiplied_in_float32_block_by_block(dtype, shape, monkeypatch):
    monkeypatch.setattr(linear, "BLOCK", 7 * 33)  # blocks of 7 of the 13 rows
    torch.manual_seed(5)
    layer, x = Linear(33, 13).requires_grad_(False), torch.randn(*shape, 33)
    layer.weight = torch.nn.Parameter(layer.weight.to(dtype), requires_grad=False)
    exact = layer.stored.float()
    assert layer.stored.dtype == dtype and torch.equal(layer.weight, exact)
    wanted = F.linear(x, exact, layer.bias)
    torch.testing.assert_close(layer(x), wanted)
    with torch.inference_mode():
        torch.testing.assert_close(layer(x), wanted)
    with_grad = x.clone().requires_grad_()
    (layer(with_grad) * wanted).sum().backward()
    torch.testing.assert_close(with_grad.grad, wanted @ exact, rtol=1e-5, atol=1e-5)
    embed = TokenEmbedding(29, WIDE).requires_grad_(False)
    embed._parameters["weight"] = torch.nn.Parameter(embed.weight.to(dtype), requires_grad=False)
    hidden, ids = draw(BATCH, POS, WIDE, seed=23), torch.tensor([[3, 28]])
    torch.testing.assert_close(embed.scores(hidden), hidden @ embed.weight.T)
    assert torch.equal(embed(ids), embed.weight[ids]) and embed(ids).dtype == torch.float32


@pytest.mark.parametrize(
    ("out", "inside", "bias"), [(7, 3, True), (3, 7, True), (5, 5, False), (9, 2, False)]
)
def test_one_row_is_multiplied_to_the_same_numbers_as_many(out, inside, bias):
    layer = Linear(inside, out, bias=bias).requires_grad_(False)
    rows = torch.randn(4, 1, inside)
    together = F.linear(rows, layer.weight, layer.bias)
    for row, wanted in zip(rows, together, strict=True):
        torch.testing.assert_close(layer(row[None]), wanted[None])
        torch.testing.assert_close(layer(row[0]), wanted[0])
    with torch.inference_mode():
        first = layer(rows[:1])
    torch.testing.assert_close(layer(rows[:1]), first)  # what was laid in inference mode serves outside of it
