"""Crafted config.json files: refused by name and range before anything is allocated."""

from __future__ import annotations

import json
import os

import pytest
from crafting import CONFIG, good_folder, good_weights
from safetensors.torch import save_file

from core.checkpoints import open_model

MILLION = 10**6 - 1000  # as long as a config.json may be
DEEP = json.loads("[" * 900 + "]" * 900)

FIELDS = {
    "0 heads": ({"n_head": 0}, "n_head is 0"),
    "-1 heads": ({"n_head": -1}, "n_head is -1"),
    "heads that do not divide": ({"n_head": 4}, "d_model=33", "n_heads=4"),
    "0 layers": ({"n_layer": 0}, "n_layer is 0"),
    "-1 layers": ({"n_layer": -1}, "n_layer is -1"),
    "100,000 layers": ({"n_layer": 100_000}, "n_layer is 100000"),
    "layers that are text": ({"n_layer": "2"}, "n_layer is '2'"),
    "layers that are true": ({"n_layer": True}, "n_layer is True"),
    "layers that are a list": ({"n_layer": [2]}, "n_layer is [2]"),
    "layers missing": ({"n_layer": None}, "n_layer is missing"),
    "width 0": ({"n_embd": 0}, "n_embd is 0"),
    "width 1e12": ({"n_embd": 10**12}, "n_embd is 1000000000000"),
    "width 33.0": ({"n_embd": 33.0}, "n_embd is 33.0"),
    "vocabulary of a billion": ({"vocab_size": 10**9}, "vocab_size"),
    "a billion positions": ({"n_positions": 10**9}, "n_positions"),
    "positions times width": ({"n_positions": 2**20, "n_embd": 3 * 2**10}, "positions"),
    "two widths": ({"hidden_size": 66}, "n_embd is 33", "hidden_size is 66"),
    "a larger vocabulary than stored": ({"vocab_size": 300}, "wte.weight", "(277, 33)", "(300, 33)"),
    "more layers than stored": ({"n_layer": 500}, "missing", "h.2.ln_1.weight"),
    "fewer layers than stored": ({"n_layer": 1}, "left over", "h.1."),
    "eps 0": ({"layer_norm_epsilon": 0}, "layer_norm_epsilon is 0"),
    "eps that float32 takes for 0": ({"layer_norm_epsilon": 1e-46}, "layer_norm_epsilon is 1e-46"),
    "eps text": ({"layer_norm_epsilon": "1e-5"}, "layer_norm_epsilon"),
    "unknown activation": ({"activation_function": "swish"}, "activation_function is 'swish'"),
    "activation that is a list": ({"activation_function": ["relu"]}, "activation_function"),
    "activation of 20 MB": ({"activation_function": "x" * 900_000}, "activation_function"),
    "scale by layer": ({"scale_attn_by_inverse_layer_idx": True}, "scale_attn_by_inverse_layer_idx is True"),
    "no scaling": ({"scale_attn_weights": False}, "scale_attn_weights is False"),
    "scaling 0": ({"scale_attn_weights": 0}, "scale_attn_weights is 0"),
    "reordered": ({"reorder_and_upcast_attn": True}, "reorder_and_upcast_attn"),
    "cross-attention": ({"add_cross_attention": True}, "add_cross_attention"),
    "encoder-decoder": ({"is_encoder_decoder": True}, "is_encoder_decoder"),
    "relative positions": (
        {"position_embedding_type": "relative_key"},
        "position_embedding_type is 'relative_key'",
    ),
    "quantised": ({"quantization_config": {"bits": 4}}, "quantization_config"),
    "heads cut out": ({"pruned_heads": {"0": [1]}}, "pruned_heads"),
    "untied without a head": ({"tie_word_embeddings": False}, "tie_word_embeddings"),
    "another kind": ({"model_type": "mamba"}, "model_type is 'mamba'"),
    "kind that is a number": ({"model_type": 5}, "model_type is '5'"),
    "kind that is a list": ({"model_type": ["gpt2"]}, "model_type"),
    "a kind that has other tensors": ({"model_type": "bert"}, "num_hidden_layers is missing"),
    "no kind, and no sizes": ({"model_type": None, "n_layer": None}, "model_type is missing"),
    "Whisper by its class": (
        {"model_type": None, "architectures": ["WhisperForConditionalGeneration"]},
        "this is a whisper, which is not read",
    ),
    "a class that is unknown": ({"model_type": None, "architectures": ["GPT2000"]}, "the class is 'GPT2000'"),
    "a name of code": ({"model_type": "__import__('os').mkdir('canary')"}, "model_type"),
    "our family with a wrong name": ({"family": "../gpt"}, "family"),
    "our family with a list": ({"family": ["gpt"]}, "family"),
    "a kind of a million letters": ({"model_type": "x" * MILLION}, "model_type is 'xxx"),
    "our family of a million letters": ({"family": "x" * MILLION}, "family 'xxx"),
    "our family, 900 lists deep": ({"family": DEEP}, "family [[["),
    "layers, 900 lists deep": ({"n_layer": DEEP}, "n_layer is [[["),
    "activation, 900 lists deep": ({"activation_function": DEEP}, "activation_function is [[["),
}


@pytest.mark.parametrize("case", FIELDS)
def test_a_crafted_field_is_refused(refused, tmp_path, case):
    changes, *words = FIELDS[case]
    refused(good_folder(tmp_path / "model", config=CONFIG | changes), *words)
    assert not os.path.exists("canary")


TEXTS = {
    "empty": (b"", "cannot be read"),
    "not JSON": (b"n_layer = 2", "cannot be read"),
    "a list": (b"[]", "object"),
    "not UTF-8": (b'{"n_layer": "\xff"}', "UTF-8"),
    "deep": (b"[" * 200_000, "nested"),
    "NaN": (b'{"layer_norm_epsilon": NaN}', "NaN"),
    "Infinity": (b'{"layer_norm_epsilon": Infinity}', "Infinity"),
    "a key twice": (b'{"n_layer": 2, "n_layer": 3}', "twice"),
    "a number of 5,000 digits": (b'{"n_layer": ' + b"9" * 5000 + b"}", "digits"),
    "2 MB": (b'{"x": "' + b"y" * 2**21 + b'"}', "2,097,"),
}


@pytest.mark.parametrize("case", TEXTS)
def test_a_crafted_text_is_refused(refused, tmp_path, case):
    folder = good_folder(tmp_path / "model")
    data, *words = TEXTS[case]
    (folder / "config.json").write_bytes(data)
    refused(folder, "config.json", *words)


def test_a_missing_config_is_named(refused, tmp_path):
    folder = good_folder(tmp_path / "model")
    (folder / "config.json").unlink()
    refused(folder, "config.json is missing")


OWN = {"family": "gpt", "n_layers": 2, "n_heads": 3, "d_model": 33, "d_ff": 13, "n_vocab": 277, "n_ctx": 17}
OWN_FIELDS = {
    "0 heads": ({"n_heads": 0}, "n_heads is 0"),
    "a table of 512 GB": (
        {"family": "transformer", "n_ctx": 2**20, "d_model": 2**16, "n_heads": 4},
        "positions",
    ),
    "order": ({"order": "sideways"}, "order='sideways'"),
    "activation": ({"activation": []}, "config.json"),
    "dropout": ({"dropout": "lots"}, "config.json"),
    "dropout 1": ({"dropout": 1.0}, "dropout"),
    "ids beyond the table": ({"ids": {"start": 277}}, "start", "277"),
    "ids negative": ({"ids": {"end": -1}}, "end", "-1"),
    "ids of another name": ({"ids": {"begin": 1}}, "ids"),
    "ids a list": ({"ids": [0]}, "ids"),
    "shape": ({"d_ff": 14}, "ffn"),
    "order of a million letters": ({"order": "x" * MILLION}, "order='xxx"),
    "activation of a million letters": ({"activation": "x" * MILLION}, "activation='xxx"),
    "order, 900 lists deep": ({"order": DEEP}, "order=[[["),
    "activation, 900 lists deep": ({"activation": DEEP}, "config.json"),
    "dropout, 900 lists deep": ({"dropout": DEEP}, "config.json"),
    "ids, 900 lists deep": ({"ids": DEEP}, "ids"),
    "an id, 900 lists deep": ({"ids": {"end": DEEP}}, "id of 'end' is [[["),
    "an id of a million letters": ({"ids": {"x" * MILLION: 1}}, "ids"),
}


@pytest.mark.parametrize("case", OWN_FIELDS)
def test_our_own_format_is_no_way_around(refused, tmp_path, case):
    from core.models.gpt import GPT, GPTConfig

    changes, *words = OWN_FIELDS[case]
    folder = good_folder(tmp_path / "model", config=OWN | changes, weights=False)
    shape = GPTConfig(**{name: value for name, value in OWN.items() if name != "family"})
    save_file(GPT(shape).state_dict(), folder / "model.safetensors")
    refused(folder, *words)


def test_code_that_a_config_names_never_runs(tmp_path):
    folder = good_folder(
        tmp_path / "model",
        config=CONFIG
        | {
            "auto_map": {"AutoModelForCausalLM": "evil.Evil"},
            "_attn_implementation": "evil/kernel",
            "torch_dtype": "os",
        },
    )
    (folder / "evil.py").write_text("import os; os.mkdir('canary')\nclass Evil: pass\n")
    (folder / "__init__.py").write_text("import os; os.mkdir('canary')\n")
    (folder / "tokenizers.py").write_text("import os; os.mkdir('canary')\n")
    model = open_model(folder)
    assert model.config.n_heads == 3
    assert not os.path.exists("canary")
    assert not (folder / "canary").exists()


def test_the_good_config_is_really_good(tmp_path):
    folder = good_folder(tmp_path / "model")
    assert json.loads((folder / "config.json").read_text()) == CONFIG
    assert open_model(folder).n_parameters == sum(value.numel() for value in good_weights().values())
