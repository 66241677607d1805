"""config.json files that lie, of the kinds that were read first: GPT-2, BERT and our own."""

from __future__ import annotations

from typing import Any

from crafted.case import Case, folder
from crafted.configs import DEEP, LONG

LIES: dict[str, dict[str, tuple[Any, ...]]] = {
    "gpt2": {
        "0 heads": ({"n_head": 0}, "n_head is 0"),
        "-1 heads": ({"n_head": -1}, "n_head is -1"),
        "heads that do not divide": ({"n_head": 4}, "n_embd=33", "n_head=4"),
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
        "a larger vocabulary than stored": ({"vocab_size": 300}, "wte.weight", "(292, 33)", "(300, 33)"),
        "more layers than stored": ({"n_layer": 500}, "missing", "h.2.ln_1.weight"),
        "fewer layers than stored": ({"n_layer": 1}, "left over", "h.1."),
        "eps 0": ({"layer_norm_epsilon": 0}, "layer_norm_epsilon is 0"),
        "eps that float32 takes for 0": ({"layer_norm_epsilon": 1e-46}, "layer_norm_epsilon is 1e-46"),
        "eps text": ({"layer_norm_epsilon": "1e-5"}, "layer_norm_epsilon"),
        "unknown activation": ({"activation_function": "swish"}, "activation_function is 'swish'"),
        "activation that is a list": ({"activation_function": ["relu"]}, "activation_function"),
        "activation of 20 MB": ({"activation_function": "x" * 900_000}, "activation_function"),
        "scale by layer": (
            {"scale_attn_by_inverse_layer_idx": True},
            "scale_attn_by_inverse_layer_idx is True",
        ),
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
        "another kind": ({"model_type": "xlnet"}, "model_type is 'xlnet'"),
        "no attention": ({"model_type": "mamba"}, "its kind is mamba, which is not read"),
        "no attention, by its class": (
            {"model_type": None, "architectures": ["FalconMambaForCausalLM"]},
            "its kind is falcon_mamba, which is not read",
        ),
        "kind that is a number": ({"model_type": 5}, "model_type is '5'"),
        "kind that is a list": ({"model_type": ["gpt2"]}, "model_type"),
        "a kind that has other tensors": ({"model_type": "bert"}, "num_hidden_layers is missing"),
        "no kind, and no sizes": ({"model_type": None, "n_layer": None}, "model_type is missing"),
        "Whisper by its class": (
            {"model_type": None, "architectures": ["WhisperForConditionalGeneration"]},
            "its kind is whisper, which is not read",
        ),
        "no kind and an unknown class": (
            {"model_type": None, "architectures": ["GPT2000"]},
            "the class is 'GPT2000'",
        ),
        "a name of code": ({"model_type": "__import__('os').mkdir('canary')"}, "model_type"),
        "our family with a wrong name": ({"family": "../gpt"}, "family"),
        "our family with a list": ({"family": ["gpt"]}, "family"),
        "a kind of a million letters": ({"model_type": LONG}, "model_type is 'xxx"),
        "our family of a million letters": ({"family": LONG}, "family 'xxx"),
        "our family, 900 lists deep": ({"family": DEEP}, "family [[["),
        "layers, 900 lists deep": ({"n_layer": DEEP}, "n_layer is [[["),
        "activation, 900 lists deep": ({"activation_function": DEEP}, "activation_function is [[["),
    },
    "bert": {
        "0 heads": ({"num_attention_heads": 0}, "num_attention_heads is 0"),
        "heads that do not divide": ({"num_attention_heads": 4}, "hidden_size=33", "num_attention_heads=4"),
        "layers that are true": ({"num_hidden_layers": True}, "num_hidden_layers is True"),
        "100,000 layers": ({"num_hidden_layers": 100_000}, "num_hidden_layers is 100000"),
        "width 1e12": ({"hidden_size": 10**12}, "hidden_size is 1000000000000"),
        "inner width missing": ({"intermediate_size": None}, "intermediate_size is missing"),
        "no segments": ({"type_vocab_size": 0}, "type_vocab_size is 0"),
        "a million segments": ({"type_vocab_size": 10**6}, "type_vocab_size is 1000000"),
        "another number of segments": ({"type_vocab_size": 3}, "token_type_embeddings", "(2, 33)", "(3, 33)"),
        "more layers than stored": ({"num_hidden_layers": 500}, "missing", "encoder.layer.2."),
        "fewer layers than stored": ({"num_hidden_layers": 1}, "left over", "encoder.layer.1."),
        "eps NaN in words": ({"layer_norm_eps": "NaN"}, "layer_norm_eps is 'NaN'"),
        "unknown activation": ({"hidden_act": "swish"}, "hidden_act is 'swish'"),
        "relative positions": (
            {"position_embedding_type": "relative_key"},
            "position_embedding_type is 'relative_key'",
        ),
        "a decoder": ({"is_decoder": True}, "is_decoder is True"),
        "a decoder, oddly": ({"is_decoder": 1}, "is_decoder is 1"),
        "cross-attention": ({"add_cross_attention": True}, "add_cross_attention"),
        "heads cut out": ({"pruned_heads": {"0": [1]}}, "pruned_heads"),
        "untied": ({"tie_word_embeddings": False}, "tie_word_embeddings"),
    },
}

OWN_LIES: dict[str, tuple[Any, ...]] = {
    "0 heads": ({"n_heads": 0}, "n_heads is 0"),
    "a table of 512 GB": (
        {"family": "transformer", "n_ctx": 2**20, "d_model": 2**16, "n_heads": 4},
        "positions",
    ),
    "order": ({"order": "sideways"}, "order='sideways'"),
    "activation": ({"activation": []}, "activation is []"),
    "dropout": ({"dropout": "lots"}, "dropout is 'lots'"),
    "dropout 1": ({"dropout": 1.0}, "dropout"),
    "ids beyond the table": ({"ids": {"start": 292}}, "start", "292"),
    "ids negative": ({"ids": {"end": -1}}, "end", "-1"),
    "ids of another name": ({"ids": {"begin": 1}}, "ids"),
    "ids a list": ({"ids": [0]}, "ids"),
    "shape": ({"d_ff": 14}, "ffn"),
    "order of a million letters": ({"order": LONG}, "order='xxx"),
    "activation of a million letters": ({"activation": LONG}, "activation='xxx"),
    "order, 900 lists deep": ({"order": DEEP}, "order=[[["),
    "activation, 900 lists deep": ({"activation": DEEP}, "config.json"),
    "dropout, 900 lists deep": ({"dropout": DEEP}, "config.json"),
    "ids, 900 lists deep": ({"ids": DEEP}, "ids"),
    "an id, 900 lists deep": ({"ids": {"end": DEEP}}, "id of 'end' is [[["),
    "an id of a million letters": ({"ids": {LONG: 1}}, "ids"),
}

CASES = [
    *(
        Case(f"{kind}: {name}", folder(kind, config=changes), tuple(words))
        for kind, lies in LIES.items()
        for name, (changes, *words) in lies.items()
    ),
    *(
        Case(f"own: {name}", folder("own", config=changes), tuple(words))
        for name, (changes, *words) in OWN_LIES.items()
    ),
]
