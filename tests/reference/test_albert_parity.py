"""ALBERT folders written by the transformers library give its numbers, path by path, heads and shared weights too."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from parity import SAME, alike, by_head, first_divergence, narrowed, of_row, redraw, variant, watched
from transformers import AlbertConfig, AlbertForMaskedLM, AlbertForPreTraining, AlbertModel

import core
from core.checkpoints import open_model
from core.model import Model
from core.text.learn import wordpiece

TEXT, PAIR = "The animal didn't [MASK] the street.", "It was too tired, and the café was closed!"
TEXTS, PAIRS = [TEXT, "She has a white car."], [PAIR, None]
LINES = [TEXT.replace("[MASK]", "cross"), PAIR, "She has a white car.", "Once upon a time"]
HEADS = ("logits", "pooled", "sentence_order")


@pytest.fixture(scope="module")
def backend():
    return wordpiece(LINES * 3, 97)


def drawn(backend, kind=AlbertForPreTraining, **changes):
    config = AlbertConfig(
        **{
            "num_hidden_layers": 3,
            "num_attention_heads": 3,
            "hidden_size": 33,
            "embedding_size": 7,
            "intermediate_size": 41,
            "max_position_embeddings": 61,
            "vocab_size": backend.get_vocab_size() + 2,
            "attn_implementation": "eager",
            "layer_norm_eps": 3e-4,
        }
        | changes
    )
    return redraw(kind(config))


@pytest.fixture(scope="module")
def albert(backend):
    return drawn(backend)


def saved(model, backend, folder):
    model.save_pretrained(folder)
    backend.save(str(folder / "tokenizer.json"))
    return folder


@pytest.fixture(scope="module")
def written(albert, backend, tmp_path_factory):
    return saved(albert, backend, tmp_path_factory.mktemp("written") / "model")


def reference(model, runs):
    """For each run every value of the other implementation under our path names, (..) without the batch axis.

    Its one layer is called once for each of ours, so what is watched there is told apart by the count of the calls.
    """
    body, heads = model.albert, by_head(model.config.num_attention_heads)
    embed, words, n_groups = body.embeddings, model.predictions, model.config.num_hidden_groups
    n, calls, ours = model.config.num_hidden_layers, [], []
    stages: dict[str, dict] = {}
    with watched() as (found, keep), torch.no_grad():
        keep(embed.word_embeddings, "embed.token")
        keep(embed.token_type_embeddings, "embed.segment")
        keep(embed.position_embeddings, "embed.position")
        keep(embed.LayerNorm, "embed.sum", before=True)
        keep(embed, "embed.norm.out")
        keep(body.encoder.embedding_hidden_mapping_in, "embed.out")
        for group in range(n_groups):
            block = body.encoder.albert_layer_groups[group].albert_layers[0]
            attention, here = block.attention, f"group.{group}"
            keep(block, f"{here}.resid_in", before=True)
            for name, part in (("q", attention.query), ("k", attention.key), ("v", attention.value)):
                keep(part, f"{here}.self_attn.{name}", heads)
            keep(attention.dense, f"{here}.self_attn.heads", heads, before=True)
            keep(attention.dense, f"{here}.self_attn.out")
            keep(attention.LayerNorm, f"{here}.resid_mid", before=True)
            keep(attention, f"{here}.norm1.out")
            keep(block.ffn, f"{here}.ffn.pre")
            keep(block.ffn_output, f"{here}.ffn.act", before=True)
            keep(block.ffn_output, f"{here}.ffn.out")
            keep(block.full_layer_layer_norm, f"{here}.norm2.out")
            keep(block, f"{here}.resid_out")

            def called(*_, here=here):
                stages[f"layer.{len(calls)}"] = {
                    path.removeprefix(here): value for path, value in found.items() if path.startswith(here)
                }
                calls.append(here)

            ours.append(block.register_forward_hook(called))
        keep(words.dense, "masked_lm.pre")
        keep(words.LayerNorm, "masked_lm.act", before=True)
        keep(words.LayerNorm, "masked_lm.norm.out")
        keep(body.pooler, "pooler.pre")
        keep(body.pooler_activation, "pooler.out")
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
    for hook in ours:
        hook.remove()
    assert len(calls) == n
    found = {path: value for path, value in found.items() if not path.startswith("group.")}
    found |= {here + leaf: value for here, values in stages.items() for leaf, value in values.items()}
    found |= {"logits": out.prediction_logits, "sentence_order": out.sop_logits}
    return [of_row(found, out, row) for row in range(len(runs))]


def agree(folder, model, tolerance=SAME):
    opened = open_model(folder)
    assert tuple(opened.outputs) == HEADS
    one, two, batch = opened.run(TEXT), opened.run(TEXT, pair=PAIR), opened.run_many(TEXTS, pairs=PAIRS)
    assert set(two.segments) == {0, 1} and batch[1].side.n_real < len(batch[1].side.ids)
    others = [*reference(model, [one]), *reference(model, [two]), *reference(model, batch)]
    for run, other in zip([one, two, *batch], others, strict=True):
        alike(run, other, tolerance)
        for name in HEADS:
            path = "pooler.out" if name == "pooled" else name
            theirs = other[path][: len(run.ids)] if name == "logits" else other[path]
            assert np.abs(getattr(run, name) - theirs).max() <= tolerance
    return opened


def faulty(opened, model):
    run = opened.run(TEXT, pair=PAIR)
    return first_divergence(run, reference(model, [run])[0])


def test_albert_gives_the_same_numbers_at_every_path(written, albert):
    opened = agree(written, albert)
    assert (opened.family, opened.config.activation, opened.config.d_embed, opened.config.shared) == (
        "albert",
        "gelu_tanh",
        7,
        "all",
    )
    assert opened.n_parameters == sum(weight.numel() for weight in albert.parameters())
    assert len({layer.ffn.to_out.weight.data_ptr() for layer in opened.network.layers}) == 1


def test_as_many_groups_as_layers_share_nothing(backend, tmp_path):
    model = drawn(backend, num_hidden_groups=3, embedding_size=12)
    opened = agree(saved(model, backend, tmp_path / "model"), model)
    assert opened.config.shared == "none"
    assert opened.n_parameters == sum(weight.numel() for weight in model.parameters())


@pytest.mark.parametrize("changes", [{"num_hidden_groups": 2}, {"inner_group_num": 2}])
def test_groups_in_between_are_refused_by_name(backend, tmp_path, changes):
    folder = saved(drawn(backend, num_hidden_layers=4, **changes), backend, tmp_path / "model")
    with pytest.raises(core.InputError, match=next(iter(changes))):
        open_model(folder)


def test_a_body_alone_and_one_with_words_only(backend, tmp_path):
    body = open_model(saved(drawn(backend, AlbertModel), backend, tmp_path / "body"))
    assert tuple(body.outputs) == ("pooled",)
    words = drawn(backend, AlbertForMaskedLM)
    opened = open_model(saved(words, backend, tmp_path / "words"))
    assert tuple(opened.outputs) == ("logits",)
    run = opened.run(TEXT)
    with torch.no_grad():
        out = words(torch.tensor([run.ids]), token_type_ids=torch.tensor([run.segments]))
    assert np.abs(run.logits - out.logits[0].numpy()).max() <= SAME


@pytest.mark.quick(2)
@pytest.mark.parametrize(
    ("name", "change", "path"),
    [
        ("to_sentence_order.weight", lambda value: value.flip(0), "sentence_order"),
        ("embed.to_model.bias", torch.zeros_like, "embed.out"),
        ("embed.norm.weight", lambda value: value.flip(0), "embed.norm.out"),
        ("masked_lm.norm.bias", torch.zeros_like, "masked_lm.norm.out"),
        ("layers.0.norm2.bias", torch.zeros_like, "layer.0.norm2.out"),
        ("layers.0.self_attn.to_k.bias", torch.zeros_like, "layer.0.self_attn.k"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_changed_parameter_is_seen_where_it_acts(written, albert, name, change, path):
    opened = open_model(written)
    state = opened.network.state_dict()
    opened.network.load_state_dict(state | {name: change(state[name]).clone()})
    assert faulty(opened, albert).startswith(path + ":")


def test_the_other_gelu_is_seen(written, albert, tmp_path):
    changed = variant(written, tmp_path, config={"hidden_act": "relu"})
    assert faulty(open_model(changed), albert).startswith("layer.0.ffn.act")


def test_segments_that_are_ignored_are_seen(written, albert, monkeypatch):
    batch = Model._batch
    monkeypatch.setattr(Model, "_batch", lambda *given: replace(batch(*given), segments=None))
    assert faulty(open_model(written), albert).startswith("embed.segment")


@pytest.mark.quick(1)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_number_formats_vary(written, albert, tmp_path, dtype):
    agree(*narrowed(written, tmp_path, albert, dtype))


def test_shards_and_a_config_without_a_kind(written, albert, tmp_path):
    folder = variant(written, tmp_path, config={"model_type": "absent"})
    held = json.loads((folder / "config.json").read_text())
    assert held.pop("model_type", None) == "absent" or "model_type" not in held
    (folder / "config.json").write_text(json.dumps(held))
    agree(folder, albert)
