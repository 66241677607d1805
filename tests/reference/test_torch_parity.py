"""The Transformer against torch.nn by copied weights, both orders of the norm, padding and causal masks included."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from core.layers.recurrent import CELLS, unroll
from core.models import Batch
from core.models.seq2seq import Encoder, Seq2Seq, Seq2SeqConfig
from core.models.transformer import Transformer, TransformerConfig
from core.trace import Recorder


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


# ---------------- Recurrent cells, directions and the family around them against torch.nn by copied weights, padding packed.


BATCH, POS, D_INPUT, D_HIDDEN = 3, 7, 5, 11
THEIRS = {"rnn": nn.RNN, "lstm": nn.LSTM, "gru": nn.GRU}
LENGTHS = torch.tensor([7, 4, 1])
REAL = torch.arange(POS) < LENGTHS[:, None]


def copy(cell, theirs, suffix):
    for ours, name in ((cell.from_input, "ih"), (cell.from_hidden, "hh")):
        getattr(theirs, f"weight_{name}_{suffix}").data = ours.weight.detach().clone()
        getattr(theirs, f"bias_{name}_{suffix}").data = ours.bias.detach().clone()


def redrawn(module, std=0.5):
    for weight in module.parameters():
        nn.init.normal_(weight, std=std)
    return module


def pair(name):
    torch.manual_seed(3)
    cell, theirs = redrawn(CELLS[name](D_INPUT, D_HIDDEN)), THEIRS[name](D_INPUT, D_HIDDEN, batch_first=True)
    copy(cell, theirs, "l0")
    return cell, theirs, torch.randn(BATCH, POS, D_INPUT)


def packed(theirs, x):
    """Return torch's outputs of padded rows; padding gives zeros."""
    out, last = theirs(pack_padded_sequence(x, LENGTHS, batch_first=True))
    return pad_packed_sequence(out, batch_first=True)[0], last


@pytest.mark.parametrize("learnt", [False, True], ids=["steps", "kernel"])
@pytest.mark.parametrize("name", CELLS)
def test_a_cell_over_a_padded_sequence_equals_torch(name, learnt):
    cell, theirs, x = pair(name)
    cell.requires_grad_(learnt)
    ours, (wanted, _) = unroll(cell, x, REAL), packed(theirs, x)
    torch.testing.assert_close(ours, wanted, rtol=1e-5, atol=1e-6)
    assert wanted.abs().max() > 0.5


@pytest.mark.parametrize("name", CELLS)
def test_one_step_equals_the_cell_of_torch(name):
    cell, _, x = pair(name)
    theirs = {"rnn": nn.RNNCell, "lstm": nn.LSTMCell, "gru": nn.GRUCell}[name](D_INPUT, D_HIDDEN)
    for ours, side in ((cell.from_input, "ih"), (cell.from_hidden, "hh")):
        getattr(theirs, f"weight_{side}").data, getattr(theirs, f"bias_{side}").data = (
            ours.weight.data,
            ours.bias.data,
        )
    state = tuple(torch.randn(BATCH, D_HIDDEN) for _ in cell.states)
    wanted = theirs(x[:, 0], state if len(state) == 2 else state[0])
    for ours, his in zip(
        cell.step(cell.from_input(x[:, 0]), state), wanted if len(state) == 2 else (wanted,), strict=True
    ):
        torch.testing.assert_close(ours, his, rtol=1e-5, atol=1e-6)


@pytest.mark.quick(12)
@pytest.mark.parametrize("learnt", [False, True], ids=["steps", "kernel"])
@pytest.mark.parametrize("n_layers", [1, 2])
@pytest.mark.parametrize("bidirectional", [False, True], ids=["one", "two"])
@pytest.mark.parametrize("name", CELLS)
def test_the_encoder_equals_torch_in_both_directions_and_layer_on_layer(
    name, bidirectional, n_layers, learnt
):
    torch.manual_seed(5)
    cfg = replace(Seq2SeqConfig.tiny(), cell=name, bidirectional=bidirectional, n_layers=n_layers)
    encoder = redrawn(Encoder(cfg), 0.3).requires_grad_(learnt)
    width = cfg.d_model // 2 if bidirectional else cfg.d_model
    theirs = THEIRS[name](
        cfg.d_model, width, num_layers=n_layers, bidirectional=bidirectional, batch_first=True
    )
    for i in range(n_layers):
        copy(encoder.forward_cells[i], theirs, f"l{i}")
        if bidirectional:
            copy(encoder.backward_cells[i], theirs, f"l{i}_reverse")
    x = torch.randn(BATCH, POS, cfg.d_model)
    ours, (wanted, last) = encoder(x, REAL), packed(theirs, x)
    torch.testing.assert_close(ours, wanted, rtol=1e-5, atol=1e-5)
    hidden = last[0] if name == "lstm" else last
    ends = torch.cat(hidden[-2:].unbind(0), dim=-1) if bidirectional else hidden[-1]
    torch.testing.assert_close(encoder.context(ours, REAL), ends, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", ["lstm", "gru"])
def test_gates_in_the_trace_are_those_of_the_equations(name):
    cell, _, x = pair(name)
    tap = Recorder()
    with torch.no_grad():
        unroll(cell, x, torch.ones(BATCH, POS, dtype=torch.bool), tap)
    trace = tap.close()
    before = torch.cat((torch.zeros(BATCH, 1, D_HIDDEN), trace["hidden"][:, :-1]), dim=1)
    from_x, from_h = (
        x @ cell.from_input.weight.T + cell.from_input.bias,
        before @ cell.from_hidden.weight.T + cell.from_hidden.bias,
    )
    if name == "lstm":
        i, f, g, o = (from_x + from_h).chunk(4, -1)
        for leaf, wanted in (
            ("input", i.sigmoid()),
            ("forget", f.sigmoid()),
            ("candidate", g.tanh()),
            ("output", o.sigmoid()),
        ):
            torch.testing.assert_close(trace[leaf], wanted, rtol=1e-5, atol=1e-6)
        torch.testing.assert_close(trace["output"] * trace["cell"].tanh(), trace["hidden"])
    else:
        (xr, xz, xn), (hr, hz, hn) = from_x.chunk(3, -1), from_h.chunk(3, -1)
        for leaf, wanted in (
            ("reset", (xr + hr).sigmoid()),
            ("update", (xz + hz).sigmoid()),
            ("new", (xn + trace["reset"] * hn).tanh()),
        ):
            torch.testing.assert_close(trace[leaf], wanted, rtol=1e-5, atol=1e-6)


def test_parameter_counts():
    """Count for input 4, state 8: nn.LSTM 4 (h (i + h) + 2 h) = 448, in two directions 896, nn.GRU 336, nn.RNN 112."""
    for name, count in (("lstm", 448), ("gru", 336), ("rnn", 112)):
        assert (
            sum(w.numel() for w in CELLS[name](4, 8).parameters())
            == count
            == sum(w.numel() for w in THEIRS[name](4, 8).parameters())
        )
    both = Encoder(Seq2SeqConfig(d_model=16))
    theirs = nn.LSTM(16, 8, bidirectional=True)
    assert sum(w.numel() for w in both.parameters()) == sum(w.numel() for w in theirs.parameters())
    assert sum(w.numel() for w in nn.LSTM(4, 8, bidirectional=True).parameters()) == 896


@pytest.mark.parametrize("name", CELLS)
def test_a_translator_without_attention_equals_two_nets_of_torch(name):
    torch.manual_seed(9)
    cfg = replace(Seq2SeqConfig.tiny(), cell=name, attention="none", bidirectional=False)
    net = redrawn(Seq2Seq(cfg), 0.3).eval().requires_grad_(False)
    encoder, decoder = (
        THEIRS[name](cfg.d_model, cfg.d_model, num_layers=2, batch_first=True) for _ in range(2)
    )
    for i in range(2):
        copy(net.encoder.forward_cells[i], encoder, f"l{i}")
        copy(net.decoder.cells[i], decoder, f"l{i}")
    source, ids = torch.randint(1, 29, (BATCH, POS)), torch.randint(1, 29, (BATCH, 5))
    batch = Batch(ids=ids, real=ids > 0, source=source, source_real=REAL)
    embedded = [F.embedding(words, net.embed["token"].weight) * cfg.d_model**0.5 for words in (source, ids)]
    _, last = packed(encoder, embedded[0])
    context = (last[0] if name == "lstm" else last)[-1]
    start = (
        F.linear(context, net.decoder.bridge.weight, net.decoder.bridge.bias)
        .unflatten(-1, (2, -1, cfg.d_model))
        .transpose(0, 1)
    )
    held = (
        (start[:, :, 0].tanh().contiguous(), start[:, :, 1].contiguous())
        if name == "lstm"
        else start[:, :, 0].tanh().contiguous()
    )
    wanted = F.linear(decoder(embedded[1], held)[0], net.embed["token"].weight)
    torch.testing.assert_close(net.logits(net(batch)), wanted, rtol=1e-4, atol=1e-4)
    assert wanted.abs().max() > 0.5
