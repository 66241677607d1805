"""Folders of GPT-NeoX and Pythia give the numbers of the transformers library, path by path."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from parity import SAME, by_head, first_divergence, of_row, redraw, variant, watched
from transformers import AutoModelForCausalLM, GPTNeoXConfig, GPTNeoXForCausalLM

from core.checkpoints import open_model
from core.checkpoints.safety.load_plan import Take
from core.decoding import decode
from core.errors import InputError
from core.text.learn import byte_level_bpe
from core.tools import export

TEXT, SHORT = "The animal didn't cross the street because it was too tired.", "She has a white car."
SIZES = {
    "num_hidden_layers": 3,
    "num_attention_heads": 3,
    "hidden_size": 48,
    "intermediate_size": 41,
    "max_position_embeddings": 61,
    "layer_norm_eps": 3e-4,
    "bos_token_id": 0,
    "eos_token_id": 0,
    "attn_implementation": "eager",
}
KINDS = {
    "pythia": {},
    "one-after-the-other": {"use_parallel_residual": False, "hidden_act": "gelu_new"},
    "tied-without-biases": {"attention_bias": False, "tie_word_embeddings": True},
    "all-turned": {
        "rope_parameters": {"rope_theta": 500.0, "rope_type": "default", "partial_rotary_factor": 1.0}
    },
    "half-turned": {"rotary_pct": 0.5, "rotary_emb_base": 300, "num_attention_heads": 1},
}


@pytest.fixture(scope="module")
def backend():
    return byte_level_bpe([TEXT, SHORT, "Once upon a time"] * 3, 277, ["<|endoftext|>"])


def saved(folder, backend, changes):
    config = GPTNeoXConfig(**{**SIZES, "vocab_size": backend.get_vocab_size() + 2, **changes})
    model = redraw(GPTNeoXForCausalLM(config))
    model.save_pretrained(folder)
    backend.save(str(folder / "tokenizer.json"))
    return folder, model


@pytest.fixture(scope="module", params=KINDS)
def written(request, backend, tmp_path_factory):
    return saved(tmp_path_factory.mktemp("written") / "model", backend, KINDS[request.param])


def reference(model, ids):
    """Every value of the other implementation under our path names, (..) without the batch axis."""
    body, n = model.gpt_neox, model.config.num_attention_heads
    with watched() as (found, keep), torch.no_grad():
        keep(body.embed_in, "embed.token")
        for i, block in enumerate(body.layers):
            here, attn = f"layer.{i}", block.attention
            keep(block, f"{here}.resid_in", before=True)
            keep(block.input_layernorm, f"{here}.norm1.out")
            for at, name in enumerate(("q_plain", "k_plain", "v")):

                def part(value, at=at):
                    return value.unflatten(-1, (n, 3, -1))[..., at, :].transpose(1, 2)

                keep(attn.query_key_value, f"{here}.self_attn.{name}", part)
            keep(attn.dense, f"{here}.self_attn.heads", by_head(n), before=True)
            keep(attn.dense, f"{here}.self_attn.out")
            keep(block.post_attention_layernorm, f"{here}.norm2.out")
            keep(block.mlp.dense_h_to_4h, f"{here}.ffn.pre")
            keep(block.mlp.dense_4h_to_h, f"{here}.ffn.act", before=True)
            keep(block.mlp.dense_4h_to_h, f"{here}.ffn.out")
            keep(block, f"{here}.resid_out")
        keep(body.final_layer_norm, "final_norm.out")
        out = model(torch.tensor([ids]), output_attentions=True, output_hidden_states=True)
    return of_row(found | {"logits": out.logits}, out)


def test_every_path_has_the_same_numbers(written):
    folder, model = written
    opened = open_model(folder)
    run = opened.run(TEXT)
    other = reference(model, run.ids)
    assert first_divergence(run, other) is None
    alone = {path.rsplit(".", 1)[1] for path in run.trace.names() if path not in other}
    assert alone == {"out", "q", "k", "scores", "allowed", "resid_mid"} and "embed.out" in run.trace.names()
    assert np.abs(run.logits - other["logits"]).max() <= SAME
    assert opened.n_parameters == sum(weight.numel() for weight in model.parameters())


@pytest.mark.quick(2)
def test_a_batch_with_padding_and_each_token_alone_have_the_same_numbers(written):
    folder, model = written
    opened = open_model(folder)
    for run in opened.run_many([TEXT, SHORT]):
        ids = run.ids[: run.side.n_real]
        with torch.no_grad():
            assert np.abs(run.logits[: len(ids)] - model(torch.tensor([ids])).logits[0].numpy()).max() <= SAME
    ids = torch.tensor([opened.run(SHORT).ids])
    with torch.no_grad():
        theirs = model.generate(ids, max_new_tokens=8, do_sample=False, eos_token_id=None)
    ours = [step.id for step in decode(opened, SHORT, max_new_tokens=8)]
    assert ours == theirs[0, ids.shape[1] :].tolist()[: len(ours)] and len(ours) > 2


@pytest.mark.quick(2)
def test_what_is_exported_opens_there_and_here(written, tmp_path):
    folder, model = written
    opened = open_model(folder)
    export.export_model(opened, tmp_path / "out")
    again = open_model(tmp_path / "out")
    assert again.config == opened.config
    assert np.array_equal(again.run(TEXT).logits, opened.run(TEXT).logits)
    theirs = AutoModelForCausalLM.from_pretrained(tmp_path / "out", attn_implementation="eager")
    ids = torch.tensor([opened.run(TEXT).ids])
    with torch.no_grad():
        assert (theirs(ids).logits - model(ids).logits).abs().max() <= SAME


@pytest.fixture(scope="module")
def pythia(backend, tmp_path_factory):
    return saved(tmp_path_factory.mktemp("pythia") / "model", backend, {})


def test_heads_that_are_cut_in_thirds_are_seen(pythia, monkeypatch):
    folder, model = pythia
    monkeypatch.setattr(
        Take, "into_parts", lambda self, value: zip(self.into, value.chunk(len(self.into)), strict=True)
    )
    opened = open_model(folder)
    run = opened.run(TEXT)
    assert first_divergence(run, reference(model, run.ids)).startswith("layer.0.self_attn.q_plain")


def test_old_names_say_the_same(pythia, tmp_path):
    folder, _ = pythia
    wanted = open_model(folder)
    old = {"rope_parameters": "absent", "rotary_pct": 0.25, "rotary_emb_base": 10000, "dtype": "absent"}

    def named(state):
        return {name.replace("lm_head", "embed_out"): value for name, value in state.items()}

    again = open_model(variant(folder, tmp_path, weights=named, config=old))
    assert again.config == wanted.config
    assert np.array_equal(again.run(TEXT).logits, wanted.run(TEXT).logits)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"rope_parameters": {"rope_type": "yarn", "factor": 4.0}}, "kind 'yarn'"),
        ({"rope_parameters": [1]}, "rope_parameters"),
        ({"rope_scaling": {"type": "linear", "factor": 2.0}}, "kind 'linear'"),
        ({"rope_parameters": {"partial_rotary_factor": 2}}, "partial_rotary_factor, is 2"),
        ({"rope_parameters": {"partial_rotary_factor": "all"}}, "partial_rotary_factor, is 'all'"),
        ({"rope_parameters": {"partial_rotary_factor": 0.2}}, "d_rotary=3 must be an even number"),
        ({"rope_parameters": {"rope_theta": -1.0}}, "=-1.0 must be a positive number"),
        ({"hidden_act": "relu2"}, "hidden_act is 'relu2'"),
        ({"use_parallel_residual": "yes"}, "use_parallel_residual is 'yes'"),
        ({"attention_bias": False}, "left over"),
        ({"tie_word_embeddings": True}, "embed_out.weight"),
        ({"num_attention_heads": 5}, "num_attention_heads=5"),
        ({"num_hidden_layers": 10**9}, "num_hidden_layers"),
        ({"add_cross_attention": True}, "add_cross_attention"),
    ],
)
def test_what_is_not_computed_is_refused_by_name(pythia, tmp_path, change, said):
    with pytest.raises(InputError) as error:
        open_model(variant(pythia[0], tmp_path, config=change))
    assert said in str(error.value)
