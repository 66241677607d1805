"""GPT-2, GPT-1 and BERT have the numbers of the transformers library at every path, and a fault is seen where it acts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from parity import SAME, SWAPS, alike, by_head, first_divergence, of_row, swapped, variant, watched
from test_kinds_parity import SHORT, TARGET, TEXT

from core import masks
from core.checkpoints import open_model
from core.model import Model

BERT, NAMES = "bert, pretraining", ("gpt2", "gpt1", "bert, pretraining")


def gpt_values(model, runs):
    """Return every value of the library's GPT under our path names, of each text alone."""
    body, heads = model.transformer, by_head(model.config.n_head)
    first = body.config.model_type == "openai-gpt"
    results = []
    for run in runs:
        with watched() as (found, keep), torch.no_grad():
            keep(body.tokens_embed if first else body.wte, "embed.token")
            places = body.positions_embed if first else body.wpe
            keep(places, "embed.position", lambda value: value.expand(1, *value.shape[-2:]))
            keep(body.drop, "embed.out")
            for i, block in enumerate(body.h):
                here, attn = f"layer.{i}", block.attn
                keep(block, f"{here}.resid_in", before=True)
                keep(block.ln_1, f"{here}.norm1.out")
                for part, name in enumerate("qkv"):
                    keep(
                        attn.c_attn,
                        f"{here}.self_attn.{name}",
                        lambda value, part=part: heads(value.chunk(3, -1)[part]),
                    )
                keep(attn.c_proj, f"{here}.self_attn.heads", heads, before=True)
                keep(attn.c_proj, f"{here}.self_attn.out")
                keep(block.ln_1 if first else block.ln_2, f"{here}.resid_mid", before=True)
                keep(block.mlp.c_fc, f"{here}.ffn.pre")
                keep(block.mlp.c_proj, f"{here}.ffn.act", before=True)
                keep(block.mlp, f"{here}.ffn.out")
                keep(block.ln_2, f"{here}.norm2.out")
                keep(block, f"{here}.resid_out")
            if not first:
                keep(body.ln_f, "final_norm.out")
            out = model(torch.tensor([run.ids]), output_attentions=True, output_hidden_states=True)
        results.append(of_row(found | {"logits": out.logits}, out))
    return results


def bert_values(model, runs):
    """Return every value of the library's BERT under our path names, of one padded batch."""
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
            for name in ("query", "key", "value"):
                keep(getattr(attention.self, name), f"{here}.self_attn.{name[0]}", heads)
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
        real = torch.tensor([[int(i < run.side.n_real) for i in range(len(run.side.ids))] for run in runs])
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


def values(name, model, runs):
    return (bert_values if name == BERT else gpt_values)(model, runs)


def divergence(name, opened, model):
    """Return the first path where our run of a text differs from the library's."""
    run = opened.run(TEXT, **({"pair": TARGET} if name == BERT else {}))
    return first_divergence(run, values(name, model, [run])[0])


@pytest.mark.parametrize("name", NAMES)
def test_every_path_has_the_numbers_of_the_library(name, case_of):
    folder, model = case_of(name)
    opened = open_model(folder)
    batches = [[opened.run(TEXT)]]
    if name == BERT:
        batches += [
            [opened.run(TEXT, pair=TARGET)],
            opened.run_many([TEXT, SHORT], pairs=[TARGET, None]),
        ]
    for batch in batches:
        for run, other in zip(batch, values(name, model, batch), strict=True):
            alike(run, other)
            allowed, n = run.trace["layer.0.self_attn.allowed"], len(run.side.ids)
            sight = np.arange(n) < run.side.n_real if name == BERT else np.tril(np.ones((n, n), dtype=bool))
            assert (allowed == sight).all()
            for output in opened.outputs:
                theirs = other["pooler.out" if output == "pooled" else output]
                theirs = theirs[: len(run.ids)] if output == "logits" else theirs
                assert np.abs(getattr(run, output) - theirs).max() <= SAME


def test_float32_weights_are_taken_over_bit_by_bit(case_of):
    folder, model = case_of("gpt2")
    network = open_model(folder).network
    assert torch.equal(network.embed["token"].weight, model.transformer.wte.weight)
    query = model.transformer.h[1].attn.c_attn.weight[:, :33].T
    assert torch.equal(network.layers[1].self_attn.to_q.weight, query) and not network.training
    assert all(weight.dtype == torch.float32 and not weight.requires_grad for weight in network.parameters())
    folder, model = case_of(BERT)
    ours, theirs = open_model(folder).network, model.bert.encoder.layer[1]
    assert torch.equal(ours.layers[1].self_attn.to_k.weight, theirs.attention.self.key.weight)
    assert torch.equal(ours.layers[1].norm1.bias, theirs.attention.output.LayerNorm.bias)


def _unscaled(patch, name):
    patch.setattr("core.layers.attention.math.sqrt", lambda value: value)


def _other_mask(patch, name):
    padding = masks.not_padding
    if name == BERT:
        patch.setattr("core.masks.not_padding", lambda real: padding(real) & masks.causal(real.shape[1]))
    else:
        patch.setattr("core.masks.causal", lambda n, past=0: torch.ones(n, n, dtype=torch.bool).tril(1))


@pytest.mark.parametrize("name", ["gpt2", BERT])
@pytest.mark.parametrize("fault", [_unscaled, _other_mask])
def test_a_fault_of_scores_is_seen(name, fault, case_of, monkeypatch):
    folder, model = case_of(name)
    fault(monkeypatch, name)
    assert divergence(name, open_model(folder), model).startswith("layer.0.self_attn.pattern")


def test_padding_that_is_read_is_seen(case_of, monkeypatch):
    folder, model = case_of(BERT)
    monkeypatch.setattr("core.masks.not_padding", lambda real: torch.ones_like(real)[:, None, None])
    runs = open_model(folder).run_many([TEXT, SHORT], pairs=[TARGET, None])
    long, short = map(first_divergence, runs, values(BERT, model, runs))
    assert long is None and short.startswith("layer.0.self_attn.pattern")


def test_segments_that_are_ignored_are_seen(case_of, monkeypatch):
    folder, model = case_of(BERT)
    batch = Model.batch
    monkeypatch.setattr(Model, "batch", lambda *given: replace(batch(*given), segments=None))
    opened = open_model(folder)
    assert divergence(BERT, opened, model).startswith("embed.segment")
    run = opened.run(TEXT)
    assert first_divergence(run, values(BERT, model, [run])[0]) is None  # one text alone cannot tell


MORE_SWAPS = {
    "gpt2": {"final_norm.out": ("final_norm.weight", "final_norm.bias")},
    BERT: {
        "layer.0.self_attn.k": ("layers.0.self_attn.to_k.weight", "layers.0.self_attn.to_v.weight"),
        "layer.1.norm1.out": ("layers.1.norm1.weight", "layers.1.norm2.weight"),
        "embed.out": ("embed.norm.bias", "masked_lm.norm.bias"),
        "masked_lm.pre": ("masked_lm.to_hidden.weight", "pooler.weight"),
        "masked_lm.norm.out": ("masked_lm.norm.weight", "masked_lm.norm.bias"),
    },
}


@pytest.mark.quick(5)
@pytest.mark.parametrize(
    ("name", "path"), [(name, path) for name, more in MORE_SWAPS.items() for path in SWAPS | more]
)
def test_swapped_parameters_are_seen_where_they_act(name, path, case_of):
    folder, model = case_of(name)
    opened = swapped(open_model(folder), *(SWAPS | MORE_SWAPS[name])[path])
    assert divergence(name, opened, model).startswith(f"{path}:")


@pytest.mark.quick(3)
@pytest.mark.parametrize(
    ("name", "weight", "change", "path"),
    [
        ("gpt2", "layers.0.self_attn.to_out.weight", lambda value: value.T, "layer.0.self_attn.out"),
        (BERT, "layers.0.self_attn.to_out.weight", lambda value: value.T, "layer.0.self_attn.out"),
        (BERT, "to_next_sentence.weight", lambda value: value.flip(0), "next_sentence"),
        (BERT, "to_next_sentence.bias", lambda value: value.flip(0), "next_sentence"),
        (BERT, "masked_lm.bias", torch.zeros_like, "logits"),
        (BERT, "embed.segment.weight", lambda value: value.flip(0), "embed.segment"),
        (BERT, "embed.position.weight", lambda value: value.roll(1, 0), "embed.position"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_changed_parameter_is_seen_where_it_acts(name, weight, change, path, case_of):
    folder, model = case_of(name)
    opened = open_model(folder)
    state = opened.network.state_dict()
    opened.network.load_state_dict(state | {weight: change(state[weight]).clone()})
    assert divergence(name, opened, model).startswith(f"{path}:")


@pytest.mark.parametrize(
    ("name", "config", "path"),
    [
        ("gpt2", {"activation_function": "gelu"}, "layer.0.ffn.act"),
        (BERT, {"hidden_act": "gelu_new"}, "layer.0.ffn.act"),
        (BERT, {"layer_norm_eps": 1e-12}, "embed.out"),
    ],
)
def test_another_setting_is_seen_where_it_acts(name, config, path, case_of, tmp_path):
    folder, model = case_of(name)
    opened = open_model(variant(folder, tmp_path, config=config))
    assert divergence(name, opened, model).startswith(path)
