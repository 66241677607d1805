"""GPT-2, GPT-1 and BERT have the numbers of the transformers library at every path, and a fault is seen where it acts."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from parity import SAME, alike, by_head, first_divergence, of_row, watched
from test_kinds_parity import SHORT, TARGET, TEXT

from core import masks
from core.checkpoints import open_model

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
        batches += [[opened.run(TEXT, pair=TARGET)], opened.run_many([TEXT, SHORT], pairs=[TARGET, None])]
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
