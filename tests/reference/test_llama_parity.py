"""Folders of Llama, Mistral, Qwen2 and Qwen3 written by the transformers library give its numbers, path by path."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from parity import SAME, by_head, first_divergence, of_row, redraw, variant, watched
from transformers import (
    AutoModelForCausalLM,
    GemmaConfig,
    GemmaForCausalLM,
    LlamaConfig,
    LlamaForCausalLM,
    MistralConfig,
    MistralForCausalLM,
    Qwen2Config,
    Qwen2ForCausalLM,
    Qwen3Config,
    Qwen3ForCausalLM,
)
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

from core.checkpoints import open_model
from core.checkpoints.foreign.llama import LLAMA
from core.checkpoints.safety.config_schema import Fields
from core.errors import InputError
from core.layers.positions import turned
from core.models import Batch
from core.models.rotary.llama import rope_frequencies
from core.text.learn import byte_level_bpe
from core.tools import export

TEXT = "The animal didn't cross the street because it was too tired."
SHORT = "She has a white car."
LINES = [TEXT, SHORT, "Once upon a time"] * 3
SIZES = {
    "num_hidden_layers": 3,
    "num_attention_heads": 6,
    "num_key_value_heads": 2,
    "hidden_size": 30,
    "intermediate_size": 41,
    "head_dim": 8,
    "max_position_embeddings": 61,
    "rms_norm_eps": 3e-4,
    "bos_token_id": 0,
    "eos_token_id": 0,
    "attn_implementation": "eager",
}
STRETCHED = {
    "rope_theta": 500.0,
    "rope_type": "llama3",
    "factor": 4.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 3.0,
    "original_max_position_embeddings": 16,
}
KINDS = {
    "llama": (LlamaForCausalLM, LlamaConfig, {}),
    "llama-one-key-head": (LlamaForCausalLM, LlamaConfig, {"num_key_value_heads": 1, "head_dim": 10}),
    "llama-all-key-heads": (
        LlamaForCausalLM,
        LlamaConfig,
        {"num_key_value_heads": 6, "head_dim": None, "hidden_size": 36, "tie_word_embeddings": True},
    ),
    "llama-stretched": (LlamaForCausalLM, LlamaConfig, {"rope_parameters": STRETCHED}),
    "mistral-window": (MistralForCausalLM, MistralConfig, {"sliding_window": 5}),
    "mistral-whole": (MistralForCausalLM, MistralConfig, {"sliding_window": None}),
    "gemma": (GemmaForCausalLM, GemmaConfig, {"num_key_value_heads": 1, "tie_word_embeddings": True}),
    "gemma-grouped": (
        GemmaForCausalLM,
        GemmaConfig,
        {"tie_word_embeddings": True, "rope_parameters": {"rope_theta": 300.0, "rope_type": "default"}},
    ),
    "gemma-all-key-heads": (
        GemmaForCausalLM,
        GemmaConfig,
        {"num_key_value_heads": 6, "head_dim": 4, "tie_word_embeddings": True, "num_hidden_layers": 1},
    ),
    "gemma-untied": (GemmaForCausalLM, GemmaConfig, {"tie_word_embeddings": False, "head_dim": 12}),
    "qwen2": (Qwen2ForCausalLM, Qwen2Config, {"head_dim": None, "hidden_size": 48}),
    "qwen2-window": (
        Qwen2ForCausalLM,
        Qwen2Config,
        {
            "head_dim": None,
            "hidden_size": 48,
            "use_sliding_window": True,
            "sliding_window": 4,
            "max_window_layers": 0,
        },
    ),
    "qwen3": (
        Qwen3ForCausalLM,
        Qwen3Config,
        {"rope_parameters": {"rope_theta": 1e6, "rope_type": "default"}, "tie_word_embeddings": True},
    ),
}


@pytest.fixture(scope="module")
def backend():
    return byte_level_bpe(LINES, 277, ["<|endoftext|>"])


@pytest.fixture(scope="module", params=KINDS)
def written(request, backend, tmp_path_factory):
    """A random model of a kind, and its folder as the library saves it, with the tokenizer beside."""
    kind, shape, changes = KINDS[request.param]
    sizes = {**SIZES, "vocab_size": backend.get_vocab_size() + 2, **changes}
    config = shape(**{name: value for name, value in sizes.items() if (name, value) != ("head_dim", None)})
    model = redraw(kind(config))
    folder = tmp_path_factory.mktemp("written") / "model"
    model.save_pretrained(folder)
    backend.save(str(folder / "tokenizer.json"))
    return folder, model


def reference(model, ids):
    """Every value of the other implementation under our path names, (..) without the batch axis."""
    body, n = model.model, model.config.num_attention_heads
    with watched() as (found, keep), torch.no_grad():
        keep(body.embed_tokens, "embed.token")
        for i, block in enumerate(body.layers):
            here, attn = f"layer.{i}", block.self_attn
            keep(block, f"{here}.resid_in", before=True)
            keep(block.input_layernorm, f"{here}.norm1.out")
            normed = hasattr(attn, "q_norm")
            q = attn.q_norm if normed else attn.q_proj
            keep(q, f"{here}.self_attn.q_plain", (lambda v: v.transpose(1, 2)) if normed else by_head(n))
            k, groups = (attn.k_norm if normed else attn.k_proj), model.config.num_key_value_heads
            keep(k, f"{here}.self_attn.k_plain", (lambda v: v.transpose(1, 2)) if normed else by_head(groups))
            keep(attn.o_proj, f"{here}.self_attn.heads", by_head(n), before=True)
            keep(attn.o_proj, f"{here}.self_attn.out")
            keep(block.post_attention_layernorm, f"{here}.resid_mid", before=True)
            keep(block.post_attention_layernorm, f"{here}.norm2.out")
            keep(block.mlp.gate_proj, f"{here}.ffn.pre")
            keep(block.mlp.up_proj, f"{here}.ffn.up")
            keep(block.mlp.down_proj, f"{here}.ffn.act", before=True)
            keep(block.mlp.down_proj, f"{here}.ffn.out")
            keep(block, f"{here}.resid_out")
        keep(body.norm, "final_norm.out")
        out = model(torch.tensor([ids]), output_attentions=True, output_hidden_states=True)
    return of_row(found | {"logits": out.logits}, out)


@pytest.mark.quick(5)
def test_every_path_has_the_same_numbers(written):
    folder, model = written
    opened = open_model(folder)
    run = opened.run(TEXT)
    other = reference(model, run.ids)
    assert first_divergence(run, other) is None
    alone = {path.rsplit(".", 1)[1] for path in run.trace.names() if path not in other}
    assert alone == {"out", "q", "k", "v", "scores", "allowed"} and "embed.out" in run.trace.names()
    assert np.abs(run.logits - other["logits"]).max() <= SAME
    assert opened.n_parameters == sum(weight.numel() for weight in model.parameters())


@pytest.mark.quick(2)
def test_a_batch_with_padding_and_each_token_alone_have_the_same_numbers(written):
    folder, model = written
    opened = open_model(folder)
    for run in opened.run_many([TEXT, SHORT]):
        ids = run.ids[: run.side.n_real]
        with torch.no_grad():
            logits = model(torch.tensor([ids])).logits[0].numpy()
        assert np.abs(run.logits[: len(ids)] - logits).max() <= SAME
    ids = list(opened.run(SHORT).ids)
    with torch.no_grad():
        theirs = model.generate(torch.tensor([ids]), max_new_tokens=12, do_sample=False, eos_token_id=None)
    cache, new = opened.network.new_cache(), torch.tensor([ids])
    with torch.inference_mode():
        while len(ids) < theirs.shape[1]:
            hidden = opened.network(Batch(ids=new, real=new >= 0), cache=cache)
            new = opened.network.logits(hidden)[:, -1:].argmax(-1)
            ids.append(int(new))
    assert ids == theirs[0].tolist()


@pytest.mark.quick(2)
def test_what_is_exported_opens_there_and_here(written, tmp_path):
    folder, model = written
    opened = open_model(folder)
    export.export_model(opened, tmp_path / "out")
    again = open_model(tmp_path / "out")
    assert again.config == opened.config
    gap = np.abs(again.run(TEXT).logits - opened.run(TEXT).logits).max()
    assert gap <= (SAME if opened.config.scaled else 0), "a gain less 1 is a rounded number"
    theirs = AutoModelForCausalLM.from_pretrained(tmp_path / "out", attn_implementation="eager")
    whole = type(model) is MistralForCausalLM and model.config.sliding_window is None
    assert type(theirs) is (LlamaForCausalLM if whole else type(model)), "without a window it is a Llama"
    ids = torch.tensor([opened.run(TEXT).ids])
    with torch.no_grad():
        assert (theirs(ids).logits - model(ids).logits).abs().max() <= SAME


@pytest.fixture
def llama(backend, tmp_path):
    config = LlamaConfig(**{**SIZES, "vocab_size": backend.get_vocab_size() + 2})
    folder = tmp_path / "plain"
    redraw(LlamaForCausalLM(config)).save_pretrained(folder)
    backend.save(str(folder / "tokenizer.json"))
    return folder


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"attention_bias": True}, "attention_bias"),
        ({"mlp_bias": True}, "mlp_bias"),
        ({"pretraining_tp": 2}, "pretraining_tp"),
        ({"rope_parameters": {"rope_type": "yarn", "factor": 4.0}}, "kind 'yarn'"),
        ({"rope_parameters": {"rope_type": "llama3", "factor": 4.0}}, "kind 'llama3'"),
        ({"rope_parameters": [1]}, "rope_parameters"),
        ({"rope_parameters": {"rope_type": "default", "rope_theta": "big"}}, "rope_theta="),
        ({"rope_parameters": {"rope_type": "default", "rope_theta": -1.0}}, "rope_theta="),
        ({"num_key_value_heads": 4}, "num_key_value_heads=4 does not divide"),
        ({"num_key_value_heads": 0}, "num_key_value_heads is 0"),
        ({"head_dim": 7}, "head_dim=7 must be even"),
        ({"head_dim": 10}, "has the shape"),
        ({"hidden_act": "relu2"}, "hidden_act is 'relu2'"),
        ({"tie_word_embeddings": True}, "lm_head"),
        ({"model_type": "mistral", "layer_types": ["full_attention", "sliding_attention"]}, "layer_types"),
        ({"model_type": "mistral", "layer_types": 3}, "layer_types"),
        ({"model_type": "mistral", "sliding_window": "wide"}, "sliding_window is 'wide'"),
        ({"model_type": "qwen2", "use_sliding_window": True, "max_window_layers": 2}, "max_window_layers"),
        ({"model_type": "gemma", "hidden_act": "gelu"}, "hidden_act is 'gelu'"),
        ({"model_type": "gemma", "hidden_activation": "relu"}, "hidden_activation is 'relu'"),
        ({"model_type": "gemma", "use_bidirectional_attention": True}, "use_bidirectional_attention"),
        ({"model_type": "gemma4"}, "model_type is 'gemma4'"),
        ({"model_type": "qwen2"}, "missing: layers.0.self_attn.q_proj.bias"),
        ({"model_type": "qwen3"}, "missing: layers.0.self_attn.q_norm.weight"),
    ],
)
def test_what_is_not_computed_is_refused_by_name(llama, tmp_path, change, said):
    with pytest.raises(InputError) as error:
        open_model(variant(llama, tmp_path, config=change))
    assert said in str(error.value)


def test_old_and_new_configs_say_the_same(llama, tmp_path):
    new = open_model(llama)
    old = {"rope_parameters": "absent", "rope_theta": 10000.0, "rope_scaling": None, "torch_dtype": "float32"}
    again = open_model(variant(llama, tmp_path, config={**old, "dtype": "absent"}))
    assert again.config == new.config
    assert np.array_equal(again.run(TEXT).logits, new.run(TEXT).logits)


def test_a_wrong_pairing_of_features_and_a_wrong_group_are_seen(llama, monkeypatch):
    model = LlamaForCausalLM.from_pretrained(llama, attn_implementation="eager").eval()
    opened = open_model(llama)
    other = reference(model, opened.run(TEXT).ids)
    with monkeypatch.context() as patch:
        patch.setattr("core.models.rotary.llama.turned", lambda x, angle: turned(x, angle, interleaved=True))
        assert first_divergence(opened.run(TEXT), other).startswith("layer.0.self_attn.pattern")
    attend = opened.network.layers[0].self_attn
    monkeypatch.setattr(attend, "_shared", lambda each: each.repeat(1, 3, 1, 1))
    assert first_divergence(opened.run(TEXT), other).startswith("layer.0.self_attn.pattern")


def test_stretched_frequencies_are_the_librarys():
    config = LlamaConfig(**{**SIZES, "vocab_size": 300, "rope_parameters": STRETCHED})
    theirs, factor = ROPE_INIT_FUNCTIONS["llama3"](config, torch.device("cpu"))
    ours = rope_frequencies(LLAMA.read(Fields(config.to_dict())))
    assert factor == 1.0
    torch.testing.assert_close(ours.float(), theirs.float(), rtol=1e-6, atol=0)
