"""GPT-2 and GPT-1 folders written by the transformers library give its numbers, path by path, in every form they come in.

Every parameter is redrawn (std 0.3, biases and norms too): with the default initialisation swapped biases would pass.
"""

from __future__ import annotations

import math

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
from torch import nn
from transformers import (
    GPT2Config,
    GPT2LMHeadModel,
    OpenAIGPTConfig,
    OpenAIGPTLMHeadModel,
)

from core.checkpoints import open_model
from core.text.learn import byte_level_bpe

TEXT = "The animal didn't cross the street because it was too tired."

LINES = [
    "The animal didn't cross the street because it was too tired.",
    "She has a white car.",
    "Once upon a time",
]


@pytest.fixture(scope="module")
def backend():
    return byte_level_bpe(LINES * 3, 277, ["<|endoftext|>"])


@pytest.fixture(scope="module")
def gpt2(backend):
    config = GPT2Config(
        n_layer=3,
        n_head=3,
        n_embd=33,
        n_inner=41,
        n_positions=61,
        vocab_size=backend.get_vocab_size() + 2,
        bos_token_id=0,
        eos_token_id=0,
        attn_implementation="eager",
        layer_norm_epsilon=3e-4,
    )
    return redraw(GPT2LMHeadModel(config))


@pytest.fixture(scope="module")
def gpt1(backend):
    config = OpenAIGPTConfig(
        n_layer=2,
        n_head=3,
        n_embd=33,
        n_positions=61,
        vocab_size=backend.get_vocab_size() + 2,
        bos_token_id=0,
        eos_token_id=0,
        attn_implementation="eager",
        layer_norm_epsilon=3e-4,
    )
    return redraw(OpenAIGPTLMHeadModel(config))


@pytest.fixture(scope="module")
def written(gpt2, backend, tmp_path_factory):
    """The folder as the library saves it, with the tokenizer beside."""
    folder = tmp_path_factory.mktemp("written") / "model"
    gpt2.save_pretrained(folder)
    backend.save(str(folder / "tokenizer.json"))
    return folder


def reference(model, ids):
    """Every value of the other implementation under our path names, (..) without the batch axis."""
    body, heads = model.transformer, by_head(model.config.n_head)
    first = body.config.model_type == "openai-gpt"
    with watched() as (found, keep), torch.no_grad():
        keep(body.tokens_embed if first else body.wte, "embed.token")
        keep(
            body.positions_embed if first else body.wpe,
            "embed.position",
            lambda value: value.expand(1, *value.shape[-2:]),
        )
        keep(body.drop, "embed.out")
        for i, block in enumerate(body.h):
            here = f"layer.{i}"
            keep(block, f"{here}.resid_in", before=True)
            keep(block.ln_1, f"{here}.norm1.out")
            for place, name in enumerate("qkv"):
                keep(
                    block.attn.c_attn,
                    f"{here}.self_attn.{name}",
                    lambda value, place=place: heads(value.chunk(3, -1)[place]),
                )
            keep(block.attn.c_proj, f"{here}.self_attn.heads", heads, before=True)
            keep(block.attn.c_proj, f"{here}.self_attn.out")
            keep(block.ln_1 if first else block.ln_2, f"{here}.resid_mid", before=True)
            keep(block.mlp.c_fc, f"{here}.ffn.pre")
            keep(block.mlp.c_proj, f"{here}.ffn.act", before=True)
            keep(block.mlp, f"{here}.ffn.out")
            keep(block.ln_2, f"{here}.norm2.out")
            keep(block, f"{here}.resid_out")
        if not first:
            keep(body.ln_f, "final_norm.out")
        out = model(torch.tensor([ids]), output_attentions=True, output_hidden_states=True)
    return of_row(found | {"logits": out.logits}, out)


def agree(folder, model, tolerance=SAME):
    opened = open_model(folder)
    run = opened.run(TEXT)
    other = reference(model, run.ids)
    alike(run, other, tolerance)
    assert np.abs(run.logits - other["logits"]).max() <= tolerance
    assert (run.attention().allowed == np.tril(np.ones((len(run.ids),) * 2, dtype=bool))).all()
    return opened


def test_gpt2_gives_the_same_numbers_at_every_path(written, gpt2):
    opened = agree(written, gpt2)
    assert (opened.family, opened.config.order, opened.config.eps) == ("gpt", "pre", 3e-4)
    assert opened.tokenizer.start == opened.tokenizer.end == 0


def test_gpt1_gives_the_same_numbers_at_every_path(gpt1, backend, tmp_path):
    gpt1.save_pretrained(tmp_path)
    backend.save(str(tmp_path / "tokenizer.json"))
    assert agree(tmp_path, gpt1).config.order == "post"


def faulty(written, gpt2):
    run = open_model(written).run(TEXT)
    return first_divergence(run, reference(gpt2, run.ids))


def test_a_wrong_scaling_is_seen(written, gpt2, monkeypatch):
    monkeypatch.setattr("core.layers.attention.math.sqrt", lambda value: value)
    assert faulty(written, gpt2).startswith("layer.0.self_attn.pattern")


def test_a_wrong_mask_is_seen(written, gpt2, monkeypatch):
    monkeypatch.setattr("core.masks.causal", lambda n, past=0: torch.ones(n, n, dtype=torch.bool).tril(1))
    assert faulty(written, gpt2).startswith("layer.0.self_attn.pattern")


@pytest.mark.quick(2)
@pytest.mark.parametrize(
    ("path", "names"), [*SWAPS.items(), ("final_norm.out", ("final_norm.weight", "final_norm.bias"))]
)
def test_swapped_parameters_are_seen_where_they_act(written, gpt2, path, names):
    run = swapped(open_model(written), *names).run(TEXT)
    assert first_divergence(run, reference(gpt2, run.ids)).startswith(path + ":")


def test_a_matrix_that_is_not_turned_is_seen(written, gpt2):
    opened = open_model(written)
    square = opened.network.layers[0].self_attn.to_out
    square.weight = torch.nn.Parameter(square.weight.T.contiguous(), requires_grad=False)
    run = opened.run(TEXT)
    assert first_divergence(run, reference(gpt2, run.ids)).startswith("layer.0.self_attn.out")


def test_the_other_gelu_is_seen(written, gpt2, tmp_path):
    folder = variant(written, tmp_path, config={"activation_function": "gelu"})
    run = open_model(folder).run(TEXT)
    assert first_divergence(run, reference(gpt2, run.ids)).startswith("layer.0.ffn.act")


def without_prefix(state):
    return {name.removeprefix("transformer."): value for name, value in state.items()}


def with_head(state):
    return state | {
        "lm_head.weight": next(value for name, value in state.items() if name.endswith("wte.weight"))
    }


def with_old_buffers(state):
    mask = torch.ones(61, 61, dtype=torch.uint8).tril().view(1, 1, 61, 61)
    old = {f"transformer.h.{i}.attn.bias": mask for i in range(3)}
    return state | old | {f"transformer.h.{i}.attn.masked_bias": torch.tensor(-1e4) for i in range(3)}


def with_bare_old_buffers(state):
    return without_prefix(with_old_buffers(state)) | {
        f"h.{i}.attn.bias": torch.ones(1, 1, 61, 61).tril() for i in range(3)
    }


@pytest.mark.quick(2)
@pytest.mark.parametrize(
    "change",
    [
        without_prefix,
        with_head,
        with_old_buffers,
        with_bare_old_buffers,
        lambda state: with_head(without_prefix(state)),
    ],
    ids=["no prefix", "head repeated", "old buffers", "no prefix, old buffers", "no prefix, head repeated"],
)
def test_names_vary(written, gpt2, tmp_path, change):
    agree(variant(written, tmp_path, change), gpt2)


@pytest.mark.quick(1)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_number_formats_vary(written, gpt2, tmp_path, dtype):
    agree(*narrowed(written, tmp_path, gpt2, dtype))


@pytest.mark.quick(2)
@pytest.mark.parametrize(
    "config",
    [
        {"n_layer": "absent", "num_hidden_layers": 3, "n_head": "absent", "num_attention_heads": 3},
        {
            "n_embd": "absent",
            "hidden_size": 33,
            "n_positions": "absent",
            "max_position_embeddings": 61,
            "n_ctx": 61,
        },
        {"model_type": "absent"},
        {
            "activation_function": "gelu_pytorch_tanh",
            "auto_map": {"AutoModel": "evil.py"},
            "_attn_implementation": "evil/kernel",
        },
        {
            "activation_function": None,
            "tie_word_embeddings": "absent",
            "torch_dtype": "float7",
            "anything": [1],
        },
    ],
)
def test_configs_vary(written, gpt2, tmp_path, config):
    agree(variant(written, tmp_path, config=config), gpt2)


def test_shards(gpt2, backend, tmp_path):
    gpt2.save_pretrained(tmp_path, max_shard_size="40KB")
    backend.save(str(tmp_path / "tokenizer.json"))
    assert not (tmp_path / "model.safetensors").exists()
    assert len(list(tmp_path.glob("*.safetensors"))) > 2
    agree(tmp_path, gpt2)


def test_float32_weights_are_taken_over_bit_by_bit(written, gpt2):
    network = open_model(written).network
    assert torch.equal(network.embed["token"].weight, gpt2.transformer.wte.weight)
    query = gpt2.transformer.h[1].attn.c_attn.weight[:, :33].T
    assert torch.equal(network.layers[1].self_attn.to_q.weight, query)
    assert all(weight.dtype == torch.float32 and not weight.requires_grad for weight in network.parameters())
    assert isinstance(network, nn.Module)
    assert not network.training
    assert math.isclose(network.layers[0].norm1.eps, 3e-4)
