"""BERT folders written by the transformers library give its numbers, path by path, in every form they come in."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from parity import (
    SAME,
    SWAPS,
    alike,
    by_head,
    first_divergence,
    narrowed,
    of_row,
    redraw,
    swapped,
    variant,
    watched,
)
from transformers import (
    BertConfig,
    BertForPreTraining,
)

from core import masks
from core.checkpoints import open_model
from core.layers.task_head import AXES
from core.model import Model
from core.text.learn import wordpiece

TEXT, PAIR = "The animal didn't [MASK] the street.", "It was too tired, and the café was closed!"

TEXTS, PAIRS = [TEXT, "She has a white car."], [PAIR, None]

LINES = [TEXT.replace("[MASK]", "cross"), PAIR, "She has a white car.", "Once upon a time"]


@pytest.fixture(scope="module")
def backend():
    return wordpiece(LINES * 3, 97)


@pytest.fixture(scope="module")
def bert(backend):
    config = BertConfig(
        num_hidden_layers=3,
        num_attention_heads=3,
        hidden_size=33,
        intermediate_size=41,
        max_position_embeddings=61,
        vocab_size=backend.get_vocab_size() + 2,
        attn_implementation="eager",
        layer_norm_eps=3e-4,
    )
    return redraw(BertForPreTraining(config))


@pytest.fixture(scope="module")
def written(bert, backend, tmp_path_factory):
    """The folder as the library saves it, with the tokenizer beside."""
    return saved(bert, backend, tmp_path_factory.mktemp("written") / "model")


def saved(model, backend, folder, **options):
    model.save_pretrained(folder, **options)
    backend.save(str(folder / "tokenizer.json"))
    return folder


def reference(model, runs):
    """For each run every value of the other implementation under our path names, (..) without the batch axis."""
    body, heads = model.bert, by_head(model.config.num_attention_heads)
    embed, words = body.embeddings, model.cls.predictions
    with watched() as (found, keep), torch.no_grad():
        keep(embed.word_embeddings, "embed.token")
        keep(embed.token_type_embeddings, "embed.segment")
        keep(embed.position_embeddings, "embed.position")
        keep(embed.LayerNorm, "embed.sum", before=True)
        keep(embed, "embed.out")
        for i, block in enumerate(body.encoder.layer):
            here, attention = f"layer.{i}", block.attention
            keep(block, f"{here}.resid_in", before=True)
            for name, part in (
                ("q", attention.self.query),
                ("k", attention.self.key),
                ("v", attention.self.value),
            ):
                keep(part, f"{here}.self_attn.{name}", heads)
            keep(attention.output.dense, f"{here}.self_attn.heads", heads, before=True)
            keep(attention.output.dense, f"{here}.self_attn.out")
            keep(attention.output.LayerNorm, f"{here}.resid_mid", before=True)
            keep(attention, f"{here}.norm1.out")
            keep(block.intermediate.dense, f"{here}.ffn.pre")
            keep(block.output.dense, f"{here}.ffn.act", before=True)
            keep(block.output.dense, f"{here}.ffn.out")
            keep(block.output, f"{here}.norm2.out")
            keep(block, f"{here}.resid_out")
        keep(words.transform.dense, "masked_lm.pre")
        keep(words.transform.LayerNorm, "masked_lm.act", before=True)
        keep(words.transform, "masked_lm.norm.out")
        keep(body.pooler.dense, "pooler.pre")
        keep(body.pooler, "pooler.out")
        real = torch.tensor(
            [[int(place < run.side.n_real) for place in range(len(run.side.ids))] for run in runs]
        )
        ids, segments = (
            torch.tensor([getattr(run.side, name) for run in runs]) for name in ("ids", "segments")
        )
        out = model(
            ids,
            attention_mask=real,
            token_type_ids=segments,
            output_attentions=True,
            output_hidden_states=True,
        )
    found |= {"logits": out.prediction_logits, "next_sentence": out.seq_relationship_logits}
    return [of_row(found, out, row) for row in range(len(runs))]


def faulty(opened, model, **options):
    run = opened.run(TEXT, pair=PAIR, **options)
    return first_divergence(run, reference(model, [run])[0])


def agree(folder, model, tolerance=SAME, heads=("logits", "pooled", "next_sentence")):
    """One text, a pair, and both in a padded batch: the same numbers; the outputs are those of these heads."""
    opened = open_model(folder)
    assert tuple(opened.outputs) == heads
    one, two, batch = opened.run(TEXT), opened.run(TEXT, pair=PAIR), opened.run_many(TEXTS, pairs=PAIRS)
    assert set(two.segments) == {0, 1} and batch[1].side.n_real < len(batch[1].side.ids)
    others = [*reference(model, [one]), *reference(model, [two]), *reference(model, batch)]
    for run, other in zip([one, two, *batch], others, strict=True):
        alike(run, other, tolerance)
        for name in set(heads) - set(AXES):  # those of fine-tuning: test_task_heads_parity
            path = "pooler.out" if name == "pooled" else name
            ours, theirs = getattr(run, name), other[path]
            theirs = theirs[: len(run.ids)] if name == "logits" else theirs
            assert ours.shape == theirs.shape and np.abs(ours - theirs).max() <= tolerance
        allowed = run.trace["layer.0.self_attn.allowed"]
        assert (allowed == (np.arange(len(run.side.ids)) < run.side.n_real)).all()
    return opened


def test_bert_gives_the_same_numbers_at_every_path(written, bert):
    opened = agree(written, bert)
    assert (opened.family, opened.config.activation, opened.config.eps, opened.config.n_segments) == (
        "bert",
        "gelu",
        3e-4,
        2,
    )
    tokenizer = opened.tokenizer
    assert (tokenizer.pad, tokenizer.start, tokenizer.end, tokenizer.mask) == (0, 2, 3, 4)
    assert opened.run(TEXT, pair=PAIR).tokens[:4] == ("[CLS]", "the", "animal", "didn")


def test_float32_weights_are_taken_over_bit_by_bit(written, bert):
    ours, theirs = open_model(written).network, bert.bert.encoder.layer[1]
    assert torch.equal(ours.layers[1].self_attn.to_k.weight, theirs.attention.self.key.weight)
    assert torch.equal(ours.layers[1].norm1.bias, theirs.attention.output.LayerNorm.bias)
    assert torch.equal(ours.masked_lm.bias, bert.cls.predictions.bias)


def test_a_wrong_scaling_is_seen(written, bert, monkeypatch):
    monkeypatch.setattr("core.layers.attention.math.sqrt", lambda value: value)
    assert faulty(open_model(written), bert).startswith("layer.0.self_attn.pattern")


def test_a_causal_mask_is_seen(written, bert, monkeypatch):
    padding = masks.not_padding
    monkeypatch.setattr("core.masks.not_padding", lambda real: padding(real) & masks.causal(real.shape[1]))
    assert faulty(open_model(written), bert).startswith("layer.0.self_attn.pattern")


def test_padding_that_is_read_is_seen(written, bert, monkeypatch):
    monkeypatch.setattr("core.masks.not_padding", lambda real: torch.ones_like(real)[:, None, None])
    runs = open_model(written).run_many(TEXTS, pairs=PAIRS)
    long, short = (
        first_divergence(run, other) for run, other in zip(runs, reference(bert, runs), strict=True)
    )
    assert long is None
    assert short.startswith("layer.0.self_attn.pattern")


def test_segments_that_are_ignored_are_seen(written, bert, monkeypatch):
    batch = Model._batch
    monkeypatch.setattr(Model, "_batch", lambda *given: replace(batch(*given), segments=None))
    opened = open_model(written)
    assert faulty(opened, bert).startswith("embed.segment")
    run = opened.run(TEXT)
    assert first_divergence(run, reference(bert, [run])[0]) is None  # one text alone cannot tell


MORE_SWAPS = {
    "layer.0.self_attn.k": ("layers.0.self_attn.to_k.weight", "layers.0.self_attn.to_v.weight"),
    "layer.1.norm1.out": ("layers.1.norm1.weight", "layers.1.norm2.weight"),
    "embed.out": ("embed.norm.bias", "masked_lm.norm.bias"),
    "masked_lm.pre": ("masked_lm.to_hidden.weight", "pooler.weight"),
    "masked_lm.norm.out": ("masked_lm.norm.weight", "masked_lm.norm.bias"),
}


@pytest.mark.quick(3)
@pytest.mark.parametrize(("path", "names"), (SWAPS | MORE_SWAPS).items())
def test_swapped_parameters_are_seen_where_they_act(written, bert, path, names):
    assert faulty(swapped(open_model(written), *names), bert).startswith(path + ":")


@pytest.mark.quick(2)
@pytest.mark.parametrize(
    ("name", "change", "path"),
    [
        ("to_next_sentence.weight", lambda value: value.flip(0), "next_sentence"),
        ("to_next_sentence.bias", lambda value: value.flip(0), "next_sentence"),
        ("masked_lm.bias", torch.zeros_like, "logits"),
        ("embed.segment.weight", lambda value: value.flip(0), "embed.segment"),
        ("embed.position.weight", lambda value: value.roll(1, 0), "embed.position"),
        ("layers.0.self_attn.to_out.weight", lambda value: value.T, "layer.0.self_attn.out"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_changed_parameter_is_seen_where_it_acts(written, bert, name, change, path):
    opened = open_model(written)
    state = opened.network.state_dict()
    opened.network.load_state_dict(state | {name: change(state[name]).clone()})
    assert faulty(opened, bert).startswith(path + ":")


def test_the_other_gelu_is_seen(written, bert, tmp_path):
    assert faulty(open_model(variant(written, tmp_path, config={"hidden_act": "gelu_new"})), bert).startswith(
        "layer.0.ffn.act"
    )


def test_a_norm_without_its_eps_is_seen(written, bert, tmp_path):
    assert faulty(open_model(variant(written, tmp_path, config={"layer_norm_eps": 1e-12})), bert).startswith(
        "embed.out"
    )


def body(state):
    return {name.removeprefix("bert."): value for name, value in state.items() if not name.startswith("cls.")}


def test_shards(bert, backend, tmp_path):
    folder = saved(bert, backend, tmp_path / "shards", max_shard_size="40KB")
    assert not (folder / "model.safetensors").exists()
    assert len(list(folder.glob("*.safetensors"))) > 2
    agree(folder, bert)


@pytest.mark.quick(1)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_number_formats_vary(written, bert, tmp_path, dtype):
    agree(*narrowed(written, tmp_path, bert, dtype))
