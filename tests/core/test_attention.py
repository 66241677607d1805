"""Attention against numbers by hand, torch's own modules and the laws of the equation.

Axes have different sizes (batch 2, heads 3, queries 5, keys 7, d_head 11), so that a swapped axis cannot pass.
"""

from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from core import masks, record
from core.layers import attention as attention_layer
from core.layers.attention import MultiHeadAttention, masked_softmax
from core.layers.packed_attention import PackedAttention
from core.layers.sdpa import fused_attention, fused_attention_on_gpu

BATCH, HEADS, QUERIES, KEYS, D_HEAD = 3, 4, 5, 7, 11
WIDTH = HEADS * D_HEAD
SOURCE_REAL = torch.tensor([[True] * 7, [True] * 4 + [False] * 3, [True] * 6 + [False]])


def draw(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def attention(*, bias: bool = True, d_model: int = WIDTH, n_heads: int = HEADS) -> MultiHeadAttention:
    layer = MultiHeadAttention(d_model, n_heads, bias=bias).eval()
    for seed, weight in enumerate(layer.parameters()):
        weight.data = 0.3 * draw(*weight.shape, seed=100 + seed)
    return layer


def twin(ours: MultiHeadAttention, d_model: int = WIDTH) -> nn.MultiheadAttention:
    """torch's module with our weights."""
    theirs = nn.MultiheadAttention(
        d_model, ours.n_heads, bias=ours.to_q.bias is not None, batch_first=True
    ).eval()
    parts = (ours.to_q, ours.to_k, ours.to_v)
    theirs.in_proj_weight.data = torch.cat([part.weight for part in parts])
    theirs.out_proj.weight.data = ours.to_out.weight.data
    if ours.to_q.bias is not None:
        theirs.in_proj_bias.data = torch.cat([part.bias for part in parts])
        theirs.out_proj.bias.data = ours.to_out.bias.data
    return theirs


def traced(layer, x, source, allowed):
    with torch.no_grad():
        return record(layer, x, source, allowed)


# ------------------------------------------------------------------ by hand


def test_two_words_by_hand():
    """Identity projections, x_1 = (1, 0), x_2 = (1, 1), d = 2: scores (1, 1; 1, 2) / sqrt(2)."""
    layer = MultiHeadAttention(2, 1, bias=False).eval()
    for weight in layer.parameters():
        weight.data = torch.eye(2)
    x = torch.tensor([[[1.0, 0.0], [1.0, 1.0]]])
    out, trace = traced(layer, x, x, masks.causal(2))
    torch.testing.assert_close(
        trace["scores"][0, 0], torch.tensor([[0.70710678, 0.70710678], [0.70710678, 1.41421356]])
    )
    right = 1 / (1 + math.exp(-1 / math.sqrt(2)))  # 0.669762
    assert round(right, 6) == 0.669762
    torch.testing.assert_close(trace["pattern"][0, 0], torch.tensor([[1.0, 0.0], [1 - right, right]]))
    torch.testing.assert_close(out[0], torch.tensor([[1.0, 0.0], [1.0, right]]))


# ------------------------------------------------------------------ torch.nn.MultiheadAttention


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize(
    ("self_attention", "allowed", "options"),
    [
        (True, masks.full(QUERIES), {}),
        (True, masks.causal(QUERIES), {"attn_mask": ~masks.causal(QUERIES)}),
        (True, masks.window(QUERIES, 1), {"attn_mask": ~masks.window(QUERIES, 1)}),
        (False, masks.full(QUERIES, KEYS), {}),
        (False, masks.not_padding(SOURCE_REAL), {"key_padding_mask": ~SOURCE_REAL}),
    ],
    ids=["self", "self causal", "self window", "cross", "cross padded"],
)
def test_output_and_weights_of_each_head_equal_torch_nn(bias, self_attention, allowed, options):
    ours = attention(bias=bias)
    x = draw(BATCH, QUERIES, WIDTH, seed=1)
    source = x if self_attention else draw(BATCH, KEYS, WIDTH, seed=2)
    out, trace = traced(ours, x, source, allowed)
    with torch.no_grad():
        expected, weights = twin(ours)(x, source, source, average_attn_weights=False, **options)
    assert trace["pattern"].shape == (BATCH, HEADS, QUERIES, source.shape[1])
    assert trace["pattern"].amax() > 0.5, "a nearly uniform pattern would hide a fault"
    torch.testing.assert_close(trace["pattern"], weights, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(out, expected, rtol=1e-4, atol=1e-5)


def test_heads_that_do_not_divide_the_width_are_refused_with_both_numbers():
    with pytest.raises(ValueError, match=r"d_model=10 is not divisible by n_heads=3"):
        MultiHeadAttention(10, 3)


# ------------------------------------------------------------------ scaled_dot_product_attention


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("causal", [False, True])
def test_equals_scaled_dot_product_attention(dtype, causal):
    """Also with values of another size than keys (r = 13, p = 11), which the equation allows."""
    n = QUERIES if causal else KEYS
    q = draw(BATCH, HEADS, QUERIES, D_HEAD, seed=3).to(dtype)
    k, v = draw(BATCH, HEADS, n, D_HEAD, seed=4).to(dtype), draw(BATCH, HEADS, n, 13, seed=5).to(dtype)
    allowed = masks.causal(n) if causal else masks.full(QUERIES, n)
    ours = masked_softmax(q @ k.mT / math.sqrt(D_HEAD), allowed) @ v
    theirs = F.scaled_dot_product_attention(q, k, v, is_causal=causal)
    tight = 1e-6 if dtype == torch.float32 else 1e-14
    torch.testing.assert_close(ours, theirs, rtol=tight, atol=tight)


def test_causal_weights_above_the_diagonal_are_exactly_zero_and_equal_is_causal():
    """C034."""
    layer, x = attention(), draw(BATCH, QUERIES, WIDTH, seed=6)
    _, trace = traced(layer, x, x, masks.causal(QUERIES))
    above = trace["pattern"][..., ~masks.causal(QUERIES)]
    assert above.numel() == BATCH * HEADS * 10 and (above == 0).all()
    torch.testing.assert_close(trace["pattern"].sum(-1), torch.ones(BATCH, HEADS, QUERIES))
    theirs = F.scaled_dot_product_attention(trace["q"], trace["k"], trace["v"], is_causal=True)
    torch.testing.assert_close(trace["heads"], theirs, rtol=1e-5, atol=1e-6)


def test_prefix_form_equals_mask_form():
    """C035. y_i from x_1..x_i alone (lifei.tech 2022) is row i of the masked product (Ghojogh 2023, Eq. (27))."""
    layer, x = attention().double(), draw(BATCH, QUERIES, WIDTH, seed=9).double()
    with torch.no_grad():
        masked = layer(x, x, masks.causal(QUERIES))
        for i in range(QUERIES):
            prefix = layer(x[:, i : i + 1], x[:, : i + 1], masks.full(1, i + 1))
            torch.testing.assert_close(masked[:, i], prefix[:, 0], rtol=0, atol=1e-14)


def test_prefix_form_by_the_printed_sums():
    """C035. alpha_ij = exp(s_ij) / sum over j' <= i of exp(s_ij'), one division at a time."""
    scores = draw(QUERIES, QUERIES, seed=10).double()
    pattern = masked_softmax(scores, masks.causal(QUERIES))
    for i in range(QUERIES):
        exponentials = [math.exp(scores[i, j]) for j in range(i + 1)]
        for j in range(QUERIES):
            expected = exponentials[j] / sum(exponentials) if j <= i else 0.0
            assert pattern[i, j].item() == pytest.approx(expected, abs=1e-15)


# ------------------------------------------------------------------ rows with nothing allowed, padding, order


def test_a_row_with_nothing_allowed_gives_zeros_and_finite_gradients():
    """C036. Other code gives NaN (fill with -inf) or a uniform row (fill with a large number) here."""
    layer, x = attention(), draw(BATCH, QUERIES, WIDTH, seed=11).requires_grad_()
    out, trace = record(layer, x, x, masks.strict(QUERIES))
    assert (trace["pattern"][:, :, 0] == 0).all() and (trace["heads"][:, :, 0] == 0).all()
    torch.testing.assert_close(trace["pattern"][:, :, 1:].sum(-1), torch.ones(BATCH, HEADS, QUERIES - 1))
    out.square().sum().backward()
    assert out.isfinite().all() and x.grad.isfinite().all()
    assert all(weight.grad.isfinite().all() for weight in layer.parameters())
    elsewhere = draw(QUERIES, QUERIES, seed=12).masked_fill(~masks.strict(QUERIES), -math.inf).softmax(-1)
    assert elsewhere[0].isnan().all()


@given(
    st.lists(st.lists(st.booleans(), min_size=4, max_size=4), min_size=1, max_size=5), st.integers(0, 10**6)
)
def test_any_mask_gives_rows_that_sum_to_one_or_are_empty(rows, seed):
    allowed, scores = torch.tensor(rows), 5 * draw(len(rows), 4, seed=seed)
    pattern = masked_softmax(scores, allowed)
    assert (pattern[~allowed] == 0).all() and (pattern >= 0).all()
    torch.testing.assert_close(pattern.sum(-1), allowed.any(-1).float())
    for row, may in zip(range(len(rows)), allowed, strict=True):
        torch.testing.assert_close(pattern[row][may], scores[row][may].softmax(-1))


def test_a_frozen_layer_multiplies_once_and_gives_the_same():
    """The two ways to the projections agree, and the packed one notices a weight that changes."""
    torch.manual_seed(2)
    layer = PackedAttention(33, 3)
    x, allowed = torch.randn(2, 5, 33), torch.ones(5, 5, dtype=torch.bool).tril()
    learning = layer(x, x, allowed).detach()
    apart = layer(x, x.clone(), allowed).detach()
    layer.requires_grad_(False)
    frozen = layer(x, x, allowed)
    torch.testing.assert_close(frozen, learning, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(frozen, apart, rtol=1e-5, atol=1e-6)
    layer.to_v.bias.add_(1.0)
    layer.to_v.bias.requires_grad_(False)
    torch.testing.assert_close(layer(x, x, allowed), layer(x, x.clone(), allowed), rtol=1e-5, atol=1e-6)
    assert not torch.allclose(layer(x, x, allowed), frozen)
    with torch.inference_mode():
        inside = PackedAttention(33, 3, bias=False).requires_grad_(False)
        assert inside(x, x, allowed).shape == x.shape


# ------------------------------------------------------------------ while it is learnt

ROW_OF_NOTHING = torch.ones(QUERIES, KEYS, dtype=torch.bool).tril() & (torch.arange(QUERIES) > 0)[:, None]


@pytest.mark.parametrize(
    ("way", "at_once"),
    [(fused_attention, 2 * HEADS * QUERIES * KEYS), (fused_attention, 2**20), (fused_attention_on_gpu, 1)],
)
@pytest.mark.parametrize(
    "allowed",
    [torch.ones(QUERIES, KEYS, dtype=torch.bool), ROW_OF_NOTHING, SOURCE_REAL[:, None, None, :]],
    ids=["all", "row of nothing", "padded"],
)
def test_the_path_of_training_is_the_explicit_one(allowed, way, at_once, monkeypatch):
    """Output and the gradient of every weight and input; `eval` takes the path with every step named."""
    taken = []
    monkeypatch.setattr("core.layers.sdpa.AT_ONCE", at_once)
    monkeypatch.setattr(
        "core.layers.packed_attention.fused_attention", lambda *sides: taken.append(1) or way(*sides)
    )

    def passed(mode: bool) -> list[torch.Tensor]:
        layer = PackedAttention(WIDTH, HEADS).train(mode)
        layer.load_state_dict(attention().state_dict())
        x, source = (
            draw(BATCH, QUERIES, WIDTH, seed=1).requires_grad_(),
            draw(BATCH, KEYS, WIDTH, seed=2).requires_grad_(),
        )
        out = layer(x, source, allowed)
        (out * draw(*out.shape, seed=3)).sum().backward()
        return [out, x.grad, source.grad, *(weight.grad for weight in layer.parameters())]

    explicit = passed(False)
    assert not taken
    learnt = passed(True)
    assert taken
    for ours, theirs in zip(learnt, explicit, strict=True):
        torch.testing.assert_close(ours, theirs, atol=2e-5, rtol=2e-5)


def test_a_sink_takes_weight_from_the_keys_as_a_column_that_is_dropped():
    """The library's way (gpt-oss): softmax over keys and sink, then the last column is cut off; a masked row stays empty."""
    scores, sink = torch.randn(2, 3, 4, 5), torch.randn(2, 3, 4, 1)
    allowed = torch.ones(4, 5, dtype=torch.bool).tril(-1)
    beside = torch.cat([scores.masked_fill(~allowed, -torch.inf), sink], dim=-1).softmax(-1)
    found = masked_softmax(scores, allowed, sink=sink)
    torch.testing.assert_close(found, beside[..., :-1])
    torch.testing.assert_close(found.sum(-1, keepdim=True)[:, :, 1:], 1 - beside[..., 1:, -1:])
    assert (found[:, :, 0] == 0).all()


@pytest.mark.parametrize(
    "allowed", [masks.causal(7), masks.not_padding(torch.tensor([[1, 1, 1, 1, 1, 0, 0]]).bool())]
)
def test_long_texts_head_by_head_are_the_same_and_scores_that_are_kept_are_not_overwritten(
    allowed, monkeypatch
) -> None:
    layer, x = MultiHeadAttention(d_model=12, n_heads=3).eval(), torch.randn(1, 7, 12)
    with torch.inference_mode():
        whole = layer(x, x, allowed)
        monkeypatch.setattr(attention_layer, "LARGE", 1)
        torch.testing.assert_close(layer(x, x, allowed), whole, rtol=1e-6, atol=1e-6)
        out, kept = record(layer, x, x, allowed, keep=("scores", "pattern", "q", "k"))
    torch.testing.assert_close(out, whole, rtol=1e-6, atol=1e-6)
    by_hand = kept["q"] @ kept["k"].mT / 2
    torch.testing.assert_close(kept["scores"], by_hand, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(kept["pattern"], masked_softmax(by_hand, allowed), rtol=1e-5, atol=1e-6)
    lost = masked_softmax(by_hand.clone(), allowed.expand_as(by_hand), overwrite=True)
    assert torch.equal(lost, masked_softmax(by_hand, allowed))
