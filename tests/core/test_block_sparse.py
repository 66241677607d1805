"""BigBird's mask: its three parts, what is kept of it, and that reading by blocks is the same as by the whole mask."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from deep import deep
from small_models import small_network

import core
from core import masks
from core.layers.block_sparse import PARTS, BlockMask, everything, layout, over_all_pairs, sparse
from core.models import Batch, families
from core.scoring import cost as costs
from core.scoring.cost import attention_costs, cost_by_length, with_full_attention
from core.text import Tokenizer
from core.text.learn import learn_wordpiece
from core.tools import evaluate

TEXT = "She has a white car and the animal didn't cross the street because it was too tired . "
IDS = {"pad": 0, "start": 2, "end": 3, "mask": 4}


def network(**changes):
    shape = {"n_ctx": 211, "block": 3, "n_global": 2, "n_random": 2, "window": 3}
    return small_network("bigbird", 3, **(shape | changes))


def texts(*lengths, n=None):
    draw = torch.Generator().manual_seed(5)
    ids = torch.randint(1, 29, (len(lengths), n or max(lengths)), generator=draw)
    real = torch.arange(ids.shape[1]) < torch.tensor(lengths)[:, None]
    return Batch(ids=ids, real=real)


def random(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)))


@pytest.mark.parametrize("seed", deep([0, 1, 7], quick=[0]))
def test_of_4096_blocks_622_are_kept(seed):
    """n = 4,096 in blocks of 64, w = 3, g = 2, r = 3 (SYLLABUS 54): 15.2%, in each head."""
    found = layout(64, 3, window=3, n_global=2, n_random=3, seed=seed)
    assert found.times.sum((1, 2)).tolist() == [622] * 3 and found.n_blocks**2 == 4096
    assert round(100 * 622 / 4096, 1) == 15.2
    cells = BlockMask((found,), 8, torch.ones(1, 512, dtype=torch.bool)).dense()[0]
    assert cells.shape[1:] == (512, 512) and cells.sum((1, 2)).tolist() == [622 * 8**2] * 3


def test_the_parts_are_window_global_and_random_and_add_up():
    n_blocks = 13
    found = layout(n_blocks, 2, window=3, n_global=3, n_random=2)
    window, all_over, drawn = (found.parts[name] for name in PARTS)
    assert torch.equal(window[0] > 0, masks.window(n_blocks, 1))
    assert torch.equal(all_over[0] > 0, masks.global_tokens(n_blocks, [0, 1, 12]))
    there = (window + all_over) > 0
    assert not (there & (drawn > 0)).any()  # nothing is drawn that is read anyhow
    free = n_blocks - there.sum(-1)
    assert torch.equal(drawn.sum(-1), free.clamp(max=2))
    assert not torch.equal(drawn[0], drawn[1])  # each head has its own
    assert torch.equal(found.times, there + drawn)
    alone = layout(n_blocks, 1, window=1, n_global=0, n_random=2).parts
    assert (
        torch.equal(alone["window"][0], torch.eye(n_blocks, dtype=torch.int64)) and not alone["global"].any()
    )
    assert alone["random"].sum(-1).unique().tolist() == [2]


@pytest.mark.parametrize("n", [50, 61, 97])
@pytest.mark.parametrize(
    "shape", [(3, 2, 2, "each"), (1, 0, 3, "each"), (5, 1, 0, "each"), (3, 2, 3, "first")]
)
def test_blocks_alone_give_the_numbers_of_the_whole_mask(n, shape):
    window, n_global, n_random, draw = shape
    found = layout(-(-n // 2), 3, window=window, n_global=n_global, n_random=n_random, draw=draw)
    q, k, v = (random(2, 3, n, 11 + i)[..., :11] for i in range(3))
    real = torch.arange(n) < torch.tensor([n, n - 1])[:, None]
    mask = BlockMask((found, found), 2, real)
    assert found.saves
    whole = over_all_pairs(q, k, v, mask.dense(), times=mask.key_counts)
    torch.testing.assert_close(sparse(q, k, v, found, 2, real), whole, atol=1e-5, rtol=1e-5)


def test_a_batch_padded_beyond_the_layout_of_all_its_texts_reads_as_without_the_padding():
    found = layout(4, 3, window=1, n_global=1, n_random=0)
    q, k, v = (random(2, 3, 12, 5 + i)[..., :5] for i in range(3))
    real = (torch.arange(12) < 8).expand(2, -1)
    read = BlockMask((found, found), 2, real).sparse(q, k, v)
    alone = sparse(*(side[:, :, :8] for side in (q, k, v)), found, 2, real[:, :8])
    torch.testing.assert_close(read[:, :, :8], alone)
    assert read.shape == q.shape and not read[:, :, 8:].any()


def test_gradients_are_those_of_the_whole_mask():
    n, found = 41, layout(21, 2, n_random=1)
    real = torch.arange(n) < torch.tensor([n, n - 3])[:, None]
    mask, toward = BlockMask((found, found), 2, real), random(2, 2, n, 5)
    slopes = []
    for way in (mask.sparse, lambda q, k, v: over_all_pairs(q, k, v, mask.dense())):
        given = [random(2, 2, n, 5 + i)[..., :5].requires_grad_() for i in range(3)]
        slopes.append(torch.autograd.grad(way(*given), given, toward))
    for ours, whole in zip(*slopes, strict=True):
        torch.testing.assert_close(ours, whole, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("lengths", [(100,), (91, 91), (120, 61, 7), (50, 13)])
def test_a_tap_that_wants_the_pattern_gets_the_numbers_of_the_blocks(lengths):
    net, batch = network(), texts(*lengths)
    with torch.no_grad():
        blocks = net(batch)
    _, trace = core.record(net, batch, keep=("*.pattern", "*.allowed", "layer.1.resid_out"))
    real = batch.real[..., None]
    torch.testing.assert_close(trace["layer.1.resid_out"] * real, blocks * real, atol=1e-5, rtol=1e-5)
    _, long = core.record(net, batch, keep=("layer.1.resid_out",))
    assert torch.equal(long["layer.1.resid_out"], blocks)
    pattern, allowed = trace["layer.0.self_attn.pattern"], trace["layer.0.self_attn.allowed"]
    assert (pattern[~allowed] == 0).all()
    torch.testing.assert_close(
        pattern.sum(-1)[batch.real[:, None].expand(-1, 3, -1)].unique().round(decimals=5).unique(),
        torch.ones(1),
    )


def test_a_text_reads_as_it_does_alone_whatever_stands_beside_it():
    net = network()
    alone, together = texts(61), texts(61, 120)
    together = replace(
        together, ids=torch.cat((torch.cat((alone.ids, together.ids[:1, 61:]), 1), together.ids[1:]))
    )
    with torch.no_grad():
        torch.testing.assert_close(net(together)[:1, :61], net(alone), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("n", [5, 100])
def test_the_full_mask_is_full_attention(n):
    """By config, by a window as wide as the text, and as BERT with the same weights: the same numbers."""
    batch, net = texts(n), network(layout="full")
    bert = families()["bert"]
    shape = {
        name: getattr(net.cfg, name)
        for name in ("n_layers", "n_heads", "d_model", "d_ff", "n_vocab", "n_ctx")
    }
    plain = bert.network(bert.config(**shape, activation="gelu_tanh")).eval()
    plain.load_state_dict(net.state_dict())
    with torch.no_grad():
        assert torch.equal(net(batch), plain(batch))
        wide = network(window=2 * n + 1, n_global=0, n_random=0)
        torch.testing.assert_close(wide(batch), plain(batch), atol=1e-5, rtol=1e-5)
        assert (network()(batch) - plain(batch)).abs().max() > (0.01 if n > 50 else -1)
    q = random(1, 2, 40, 4)
    real = torch.ones(1, 40, dtype=torch.bool)
    whole = over_all_pairs(q, q, q, real)
    torch.testing.assert_close(sparse(q, q, q, everything(20, 2), 2, real), whole, atol=1e-6, rtol=1e-6)


def test_a_short_text_is_read_in_full_where_the_config_says_so():
    net, short, long = network(full_up_to=30), texts(30), texts(31, 30)
    with torch.no_grad():
        assert torch.equal(net(short), network(layout="full")(short))
        torch.testing.assert_close(net(long)[1:, :30], net(texts(31, 30, n=31))[1:, :30])
        whole = network(layout="full")(long)
    torch.testing.assert_close(net(long)[1, :30], whole[1, :30], atol=1e-5, rtol=1e-5)
    assert (net(long)[0] - whole[0]).abs().max() > 0.01


def test_without_its_random_blocks_a_head_reads_window_and_global_alone():
    net, batch = network(), texts(60)
    off = core.edits.SetAllowed("layer.0.self_attn.allowed.random", ((False,) * 60,) * 60)
    _, trace = core.record(net, batch, edits=[off])
    window, all_over = (trace[f"layer.0.self_attn.allowed.{name}"] for name in PARTS[:2])
    assert torch.equal(trace["layer.0.self_attn.allowed"], window | all_over)
    assert trace["layer.1.self_attn.allowed.random"].any()


@pytest.mark.slow
def test_memory_grows_with_n_and_not_with_its_square():
    """From 1,024 to 4,096 tokens: 16 times as much for all pairs, about 4 times for blocks of 64."""
    (full, blocks), (full4, blocks4) = (
        attention_costs(layout(n // 64), 64, 16, budget=0) for n in (1024, 4096)
    )
    assert 14 < full4.nbytes / full.nbytes <= 16.5
    assert 3 < blocks4.nbytes / blocks.nbytes < 5.5
    assert full4.nbytes > 4 * blocks4.nbytes


@pytest.fixture(scope="module")
def model():
    backend = learn_wordpiece([TEXT] * 3, 97)
    net = network(n_vocab=backend.get_vocab_size())
    return core.Model("tiny-bigbird", families()["bigbird"], net.cfg, net, Tokenizer(backend, **IDS))


def test_the_full_mask_is_measured_with_the_same_weights(model, tmp_path):
    data = tmp_path / "valid.txt"
    data.write_text("=== one\n" + (TEXT * 40 + "\n") * 3, encoding="utf-8")
    whole = with_full_attention(model)
    assert whole.config.layout == "full" and whole.name == "tiny-bigbird with the full mask"
    assert (
        whole.network.layers[0].self_attn.to_q.weight.data_ptr()
        == model.network.layers[0].self_attn.to_q.weight.data_ptr()
    )
    assert model.config.layout == model.network.cfg.layout == "sparse"
    long = TEXT * 6
    assert whole.run(long).attention().allowed.all() and not model.run(long).attention().allowed.all()
    assert np.abs(whole.run(long).logits - model.run(long).logits).max() > 0.01
    rows = {
        tokens: evaluate.evaluate(evaluate.with_options(model, tokens=tokens, full=True, blocks=True), data)
        for tokens in (8, 200)
    }
    assert rows[8]["passages"] > rows[200]["passages"] > 0
    assert set(rows[200]) >= {"masked_top1", "masked_top5"}


def test_a_pass_that_is_measured_is_of_one_text_of_each_length_and_of_every_head(model, monkeypatch):
    shapes = []

    def noted(run, budget):
        shapes.append(tuple(run().shape))
        return costs.Cost(0.002, 3_000_000)

    monkeypatch.setattr(costs, "cost", noted)
    found = cost_by_length(model, (7, 400))
    assert shapes == [(1, n, model.config.d_model) for n in (7, 400)]
    assert found["ms_by_length"] == {"7 tokens": 2, "400 tokens": 2}
    assert found["mb_by_length"] == {"7 tokens": 3, "400 tokens": 3}
    attention_costs(layout(5, 3), 2, 11)
    assert shapes[2:] == [(1, 3, 10, 11)] * 2


@pytest.mark.parametrize(
    ("asked", "said"), [({"tokens": 7}, "--tokens is 7"), ({"tokens": 212}, "reads from 8 to 211")]
)
def test_what_cannot_be_measured_is_said(model, asked, said):
    with pytest.raises(core.InputError, match=said):
        evaluate.with_options(model, **asked)


@pytest.mark.parametrize(
    "wrong",
    [
        *({"layout": "half"}, {"layout": True}, {"block": 0}, {"block": 18}, {"block": True}, {"window": 2}),
        *({"n_global": -1}, {"n_random": 1.0}, {"seed": -1}, {"full_up_to": True}, {"draw": "lot"}),
    ],
)
def test_a_bigbird_that_cannot_be_built_names_its_numbers(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        replace(families()["bigbird"].config.tiny(), **wrong)


def test_a_model_without_blocks_has_no_full_mask_to_be_measured_with():
    with pytest.raises(core.InputError, match="no mask in blocks"):
        evaluate.with_options(core.open_model("bert-mini"), full=True, blocks=True)
