"""The Transformer against torch.nn by copied weights, both orders of the norm, padding and causal masks included."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import nn

from core.models import Batch
from core.models.transformer import Transformer, TransformerConfig


def copy_attention(ours, theirs):
    theirs.in_proj_weight.data = torch.cat([ours.to_q.weight, ours.to_k.weight, ours.to_v.weight])
    theirs.in_proj_bias.data = torch.cat([ours.to_q.bias, ours.to_k.bias, ours.to_v.bias])
    theirs.out_proj.load_state_dict(ours.to_out.state_dict())


def copy_block(ours, theirs, *, decoder):
    copy_attention(ours.self_attn, theirs.self_attn)
    if decoder:
        copy_attention(ours.cross_attn, theirs.multihead_attn)
    theirs.linear1.load_state_dict(ours.ffn.to_hidden.state_dict())
    theirs.linear2.load_state_dict(ours.ffn.to_out.state_dict())
    for i in (1, 2, 3) if decoder else (1, 2):
        getattr(theirs, f"norm{i}").load_state_dict(getattr(ours, f"norm{i}").state_dict())


def build(order, **changes):
    torch.manual_seed(3)
    cfg = replace(TransformerConfig.tiny(), order=order, **changes)
    ours = Transformer(cfg).eval()
    for weight in ours.parameters():
        nn.init.normal_(weight, std=0.3)
    options = {"dim_feedforward": cfg.d_ff, "dropout": 0.0, "batch_first": True, "norm_first": order == "pre"}
    final = (lambda norm: None) if order == "post" else (lambda norm: copy_norm(norm, cfg.d_model))
    encoder = nn.TransformerEncoder(
        nn.TransformerEncoderLayer(cfg.d_model, cfg.n_heads, **options),
        cfg.n_layers,
        final(ours.encoder_norm),
        enable_nested_tensor=False,
    ).eval()
    decoder = nn.TransformerDecoder(
        nn.TransformerDecoderLayer(cfg.d_model, cfg.n_heads, **options),
        cfg.n_layers,
        final(ours.decoder_norm),
    ).eval()
    for mine, theirs in zip(ours.encoder, encoder.layers, strict=True):
        copy_block(mine, theirs, decoder=False)
    for mine, theirs in zip(ours.decoder, decoder.layers, strict=True):
        copy_block(mine, theirs, decoder=True)
    return cfg, ours, encoder, decoder


def copy_norm(norm, d_model):
    theirs = nn.LayerNorm(d_model)
    theirs.load_state_dict(norm.state_dict())
    return theirs


@pytest.mark.parametrize("order", ["post", "pre"])
def test_both_stacks_equal_torch_nn(order):
    cfg, ours, encoder, decoder = build(order)
    draw = torch.Generator().manual_seed(5)
    source, target = (
        torch.randint(1, 29, (2, 7), generator=draw),
        torch.randint(1, 29, (2, 5), generator=draw),
    )
    source_real = torch.tensor([[True] * 7, [True] * 4 + [False] * 3])
    real = torch.tensor([[True] * 5, [True] * 5])

    def embedded(ids):
        return nn.functional.embedding(ids, ours.embed["token"].weight) * cfg.d_model**0.5 + ours.embed[
            "position"
        ](torch.arange(ids.shape[1]))

    with torch.no_grad():
        batch = Batch(ids=target, real=real, source=source, source_real=source_real)
        memory, hidden = ours.encode(batch), ours(batch)
        causal = torch.ones(5, 5, dtype=torch.bool).triu(1)
        theirs_memory = encoder(embedded(source), src_key_padding_mask=~source_real)
        theirs_hidden = decoder(
            embedded(target), theirs_memory, tgt_mask=causal, memory_key_padding_mask=~source_real
        )
    torch.testing.assert_close(memory[source_real], theirs_memory[source_real], rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(hidden, theirs_hidden, rtol=1e-4, atol=1e-4)
    assert hidden.abs().max() > 0.5


@pytest.mark.slow
def test_parameter_counts_of_the_base_model():
    """Count as C072: encoder layer 3,152,384, decoder layer 4,204,032, 6 + 6 layers with final norms 44,140,544."""
    ours = Transformer(TransformerConfig(order="pre", n_vocab=1))

    def count(module):
        return sum(weight.numel() for weight in module.parameters())

    assert count(ours.encoder[0]) == 3_152_384
    assert count(ours.decoder[0]) == 4_204_032
    stacks = count(ours.encoder) + count(ours.decoder) + count(ours.encoder_norm) + count(ours.decoder_norm)
    assert stacks == 44_140_544 == count(nn.Transformer())
    assert (
        count(ours.decoder[0]) - count(ours.decoder[0].cross_attn) - count(ours.decoder[0].norm3) == 3_152_384
    )
