"""SNAIL against torch's own convolution and attention, its field against 1 + the sum of dilations, its texts against counting."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from small_models import small_network

from core.analysis.arithmetic.cell import cell_arithmetic
from core.analysis.attribution.logit_attribution import attribute
from core.analysis.attribution.target_token import OutputTarget
from core.analysis.residual.logit_lens import unembed
from core.data import episodes
from core.data.grammar import split_of
from core.decoding import decode
from core.decoding.strategies import Beam
from core.layers.cache import NO_PAST, Recent
from core.layers.concatenated_attention import ConcatenatedAttention
from core.layers.convolution import CausalConv, DenseBlock
from core.model import Model
from core.models import Batch, families
from core.models.snail import PARTS
from core.text import Tokenizer
from core.text.learn import character_tokenizer
from core.trace import Recorder


def network(**changes):
    return small_network("snail", **changes)


def reads(ids):
    return Batch(ids=ids, real=torch.ones_like(ids, dtype=torch.bool))


def as_conv1d(conv: CausalConv, dilation: int) -> torch.nn.Conv1d:
    d_out, d_in = conv.now.weight.shape
    theirs = torch.nn.Conv1d(d_in, d_out, kernel_size=2, dilation=dilation)
    theirs.weight.data = torch.stack((conv.before.weight.data, conv.now.weight.data), dim=-1)
    theirs.bias.data = conv.now.bias.data
    return theirs


@pytest.mark.parametrize("dilation", [1, 2, 3, 8, 16])
def test_a_causal_convolution_is_torchs_with_zeros_before_the_text(dilation):
    conv, x = CausalConv(5, 3), torch.randn(2, 11, 5)
    theirs = as_conv1d(conv, dilation)(F.pad(x.mT, (dilation, 0))).mT
    torch.testing.assert_close(conv(x, NO_PAST(x, dilation)), theirs)


def test_a_dense_block_is_two_convolutions_of_torch_side_by_side_with_what_it_read():
    block, x = DenseBlock(5, 3, dilation=2), torch.randn(2, 11, 5)
    padded = F.pad(x.mT, (2, 0))
    theirs = as_conv1d(block.filter, 2)(padded).tanh() * as_conv1d(block.gate, 2)(padded).sigmoid()
    y = block(x)
    assert torch.equal(y[..., :5], x)
    torch.testing.assert_close(y[..., 5:], theirs.mT)


def test_its_attention_is_torchs_with_the_heads_side_by_side():
    attend, x = ConcatenatedAttention(6, 3, d_in=7).eval(), torch.randn(2, 5, 7)
    q, k, v = (to(x).unflatten(-1, (3, 2)).transpose(1, 2) for to in (attend.to_q, attend.to_k, attend.to_v))
    theirs = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(-2)
    causal = torch.ones(5, 5, dtype=torch.bool).tril()
    torch.testing.assert_close(attend.requires_grad_(False)(x, x, causal), theirs)
    assert "to_out.weight" not in attend.state_dict()
    torch.testing.assert_close(attend.to_out.weight, torch.eye(6))


@pytest.mark.parametrize("parts", PARTS)
@pytest.mark.parametrize("changed", [0, 3, 8])
def test_an_output_does_not_know_what_comes_later(parts, changed):
    net, ids = network(parts=parts), torch.randint(0, 29, (1, 9))
    other = ids.clone()
    other[:, changed:] = (other[:, changed:] + 5) % 29
    with torch.no_grad():
        before, after = (net.logits(net(reads(each))) for each in (ids, other))
    assert torch.equal(before[:, :changed], after[:, :changed])
    assert not torch.equal(before[:, changed], after[:, changed])


@pytest.mark.parametrize(("n_layers", "n_dense"), [(1, 1), (1, 4), (2, 3), (3, 2)])
def test_the_field_of_the_convolutions_is_one_and_the_sum_of_all_dilations(n_layers, n_dense):
    """By gradient: of the last output with respect to each token; exactly the last `field` places have one that is not 0."""
    net = network(parts="convolutions", n_layers=n_layers, n_dense=n_dense)
    assert net.cfg.field == 1 + n_layers * sum(2**i for i in range(n_dense))
    n = net.cfg.field + 3
    tap = Recorder(("embed.token",), edits=[_Leaf("embed.token")])
    hidden = net(reads(torch.randint(0, 29, (1, n))), tap=tap)
    words = tap.close()["embed.token"]
    (slope,) = torch.autograd.grad(hidden[0, -1].sum(), words)
    reached = slope[0].abs().sum(-1) > 0
    assert reached.tolist() == [False] * (n - net.cfg.field) + [True] * net.cfg.field


class _Leaf:
    def __init__(self, where):
        self.where = where

    def __call__(self, value):
        return value.detach().requires_grad_()


def test_the_store_of_a_convolution_holds_as_much_as_it_looks_back():
    x, store = torch.randn(2, 10, 3), Recent()
    pieces = [store(x[:, first:last], 4) for first, last in ((0, 3), (3, 4), (4, 9), (9, 10))]
    assert torch.equal(torch.cat(pieces, dim=1), NO_PAST(x, 4))
    assert torch.equal(store.tensor(), x[:, -4:])
    store.reorder(torch.tensor([1, 1]))
    assert torch.equal(store.tensor()[0], x[1, -4:])


def test_the_cache_can_go_on_with_other_rows():
    net, ids = network(), torch.randint(0, 29, (2, 6))
    with torch.no_grad():
        cache = net.new_cache()
        net(reads(ids[:, :5]), cache=cache)
        cache.reorder(torch.tensor([1, 0]))
        found = net(reads(ids[[1, 0], 5:]), cache=cache)
        whole = net(reads(ids[[1, 0]]))[:, 5:]
    torch.testing.assert_close(found, whole)


@pytest.mark.parametrize("task", episodes.TASKS)
@pytest.mark.parametrize("split", ["train", "test"])
def test_a_drawn_text_can_be_solved_and_says_where_its_answer_stands(task, split):
    rng = np.random.default_rng(1)
    for n in episodes.TASKS[task][1]:
        found = episodes.sample_episode(rng, task, n, 3, split)
        assert split_of("".join(map("".join, found.examples))) == split
        assert len(found.examples) == n and len({answer for _, answer in found.examples}) == n
        signs = found.text.replace(" ", "")
        assert signs[-1] == "?" and signs[-1 - found.back] == found.answers[-1]
        for item, place in found.queries:
            apart = [sum(a != b for a, b in zip(item, known, strict=True)) for known, _ in found.examples]
            assert int(np.argmin(apart)) == place and sorted(apart)[1] > min(apart)
            assert min(apart) == 0 if task == "recall" else min(apart) <= 2 < sorted(apart)[1]


def test_no_sign_of_a_key_alone_says_which_pair_is_meant():
    rng = np.random.default_rng(0)
    alone = []
    for _ in range(200):
        found = episodes.recall_episode(rng, 12, 1)
        key = found.examples[found.queries[0][1]][0]
        alone += [sum(sign in other for other, _ in found.examples) for sign in key]
    assert min(alone) >= 1 and np.mean(np.array(alone) > 1) > 0.95


def model(**changes):
    """A tiny network that reads the signs of the tasks."""
    backend = character_tokenizer(episodes.SIGNS, ("<end>", "<unk>"))
    net = network(n_vocab=backend.get_vocab_size(), **changes)
    return Model("tiny", families()["snail"], net.cfg, net, Tokenizer(backend, start=0, end=0, pad=0))


@pytest.mark.parametrize("parts", PARTS)
def test_the_parts_of_a_logit_add_up_to_it(parts):
    run = model(parts=parts).run("k3Fm7Qk3?")
    for asked in (OutputTarget(8, 40, None), OutputTarget(5, 40, 12)):
        found = attribute(run, asked)
        assert found.total == pytest.approx(found.logit, abs=1e-4) and found.layer_part == "convolutions"
        assert bool(found.feed_forward.any()) == (parts != "attention") and bool(found.heads) == (
            parts != "convolutions"
        )


def test_what_leaves_the_last_layer_is_what_the_output_reads_and_earlier_features_are_not_there_yet():
    own = model()
    run, widths = own.run("k3Fm7Qk3?"), own.config.widths
    hidden = run.hidden()
    assert hidden.shape == (3, 9, widths[-1])
    assert all((hidden[i, :, width:] == 0).all() and hidden[i].any() for i, width in enumerate(widths))
    np.testing.assert_allclose(unembed(own, hidden[-1]), run.logits, atol=1e-5)


def test_a_cell_of_its_attention_is_computed_line_by_line_up_to_what_the_head_gives():
    run = model().run("k3Fm7Qk3?")
    lines = cell_arithmetic(run, "causal", 1, 2, 8, 2)
    assert [line.name for line in lines.lines][-2:] == ["value", "output"]
    heads = run.trace["layer.1.self_attn.heads"][2, 8]
    assert lines.residue < 1e-4 and lines.lines[-1].value == pytest.approx(
        heads[np.abs(heads).argmax()], abs=1e-4
    )


def test_a_beam_goes_on_with_the_features_of_its_own_rows():
    """Against the whole pass: the logarithm of what the best text of three was given, token by token."""
    own, text = model(), "k3Fm7Qk3?"
    *_, last = decode(own, text, Beam(3), max_new_tokens=4)
    ids = [*own.tokenizer.encode(text).ids, *last.ids]
    with torch.no_grad():
        logs = own.network.logits(own.network(reads(torch.tensor([ids]))))[0].log_softmax(-1)
    n = len(ids) - len(last.ids)
    total = sum(float(logs[n - 1 + i, token]) for i, token in enumerate(last.ids))
    assert last.tree.nodes[last.tree.best].logprob == pytest.approx(total, abs=1e-4)
