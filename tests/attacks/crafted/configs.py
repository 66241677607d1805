"""config.json files that lie: sizes, switches and marks of every kind of model."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from crafted.case import CONFIG, Case, folder, good

ROPE: dict[str, Any] = {"rope_type": "default"}
LLAMA3: dict[str, Any] = {
    "rope_type": "llama3",
    "factor": 8,
    "low_freq_factor": 1,
    "high_freq_factor": 4,
    "original_max_position_embeddings": 8,
}
SLIDING = {"use_sliding_window": True, "sliding_window": 3, "max_window_layers": 0}
DEEP = json.loads("[" * 900 + "]" * 900)
LONG = "x" * (10**6 - 4000)
"""As long as a config.json may be."""

SAID: dict[str, dict[str, list[Any]]] = {
    "gpt2": {
        "n_head": [0, -1],
        "n_layer": [0, -1, 100_000, "2", True, [2]],
        "n_embd": [0, 10**12, 33.0],
        "layer_norm_epsilon": [0, 1e-46],  # which float32 takes for 0
        "activation_function": ["swish"],
        "scale_attn_by_inverse_layer_idx": [True],
        "scale_attn_weights": [False, 0],
        "position_embedding_type": ["relative_key"],
        "model_type": ["xlnet"],
    },
    "bert": {
        "num_attention_heads": [0],
        "num_hidden_layers": [True, 100_000],
        "hidden_size": [10**12],
        "type_vocab_size": [0, 10**6],
        "layer_norm_eps": ["NaN"],
        "hidden_act": ["swish"],
        "position_embedding_type": ["relative_key"],
        "is_decoder": [True, 1],
    },
    "own": {"n_heads": [0], "activation": [[]], "dropout": ["lots"]},
    "llama": {
        "num_attention_heads": [0, -6, "6"],
        "num_key_value_heads": [0],
        "head_dim": [10**9],
        "num_hidden_layers": [2.0, [[2]]],
        "rope_scaling": [8],
        "rms_norm_eps": [0],
        "hidden_act": ["relu2"],
        "tie_word_embeddings": ["no"],
        "attention_bias": [True],
        "pretraining_tp": [2],
    },
    "mixtral": {"num_local_experts": [0], "num_experts_per_tok": [-1]},
    "qwen3_moe": {"mlp_only_layers": [[0]]},
    "olmoe": {"clip_qkv": [8.0]},
    "starcoder2": {"use_bias": [False]},
    "opt": {"do_layer_norm_before": [False], "word_embed_proj_dim": [8]},
    "mbart": {"normalize_before": [False]},
    "pegasus": {"add_final_layer_norm": [False]},
    "m2m_100": {"pad_token_id": [-1, 10**6]},
    "smollm3": {"no_rope_layers": [[1, 0, 1]], "use_sliding_window": [True]},
    "olmo2": {"attention_bias": [True]},
    "granite": {
        "residual_multiplier": [0],
        "logits_scaling": [-8.0],
        "attention_multiplier": [1e-300],
        "embedding_multiplier": ["12"],
    },
    "stablelm": {"qk_layernorm": [True], "use_parallel_residual": ["yes"]},
    "cohere": {"use_qk_norm": [True], "logit_scale": ["1"]},
    "falcon": {"num_ln_in_parallel_attn": [3]},
    "mistral": {"sliding_window": [0, -3, "wide"]},
    "gemma2": {
        "attn_logit_softcapping": [-50.0],
        "final_logit_softcapping": [0.0],
        "query_pre_attn_scalar": [0],
    },
    "gemma3_text": {"rope_parameters": ["default"], "use_bidirectional_attention": ["sometimes"]},
    "gpt_neo": {"window_size": [0]},
    "roberta": {"max_position_embeddings": [1e30], "is_decoder": [True]},
    "distilbert": {"hidden_dim": [0]},
    "electra": {"embedding_size": [0]},
    "albert": {"num_hidden_groups": [0], "embedding_size": [0], "num_hidden_layers": [100_000]},
    "t5": {"relative_attention_num_buckets": [0], "feed_forward_proj": ["gated-swish2"], "d_kv": [0]},
    "marian": {"normalize_before": [True], "decoder_vocab_size": [5]},
    "deberta-v2": {"relative_attention": [False], "conv_kernel_size": [3], "position_buckets": [-7]},
    "modernbert": {"layer_types": ["sliding"]},
    "big_bird": {"block_size": [0], "num_random_blocks": [-1]},
    "vit": {"image_size": [10**6], "num_channels": [-3]},
}
"""Values that are refused by the name and the value: “n_head is 0”."""
NAMED: dict[str, dict[str, list[Any]]] = {
    "gpt2": {
        "vocab_size": [10**9],
        "n_positions": [10**9],
        "layer_norm_epsilon": ["1e-5"],
        "activation_function": [["relu"], "x" * 900_000],
        "reorder_and_upcast_attn": [True],
        "add_cross_attention": [True],
        "is_encoder_decoder": [True],
        "quantization_config": [{"bits": 4}],
        "pruned_heads": [{"0": [1]}],
        "tie_word_embeddings": [False],  # without a head
        "model_type": [["gpt2"], "__import__('os').mkdir('canary')"],
        "family": ["../gpt", ["gpt"]],
    },
    "bert": {"add_cross_attention": [True], "pruned_heads": [{"0": [1]}], "tie_word_embeddings": [False]},
    "own": {"dropout": [1.0], "ids": [{"begin": 1}, [0], DEEP, {LONG: 1}]},
    "llama": {"quantization_config": [{"bits": 4}]},
    "qwen3_moe": {"decoder_sparse_step": [DEEP]},
    "gemma2": {"layer_types": [["full_attention"] * 3]},
    "gpt_neox": {"rotary_pct": [1.5, -0.25, "a quarter"]},
    "gpt_neo": {"attention_types": [[[["global", "local"], 10**9]], [[[1, 2], 1]]]},
    "roberta": {"max_position_embeddings": [2], "position_embedding_type": ["relative_key_query"]},
    "marian": {"share_encoder_decoder_embeddings": [False]},
    "mpnet": {"relative_attention_num_buckets": [0]},
    "deberta-v2": {"pos_att_type": [["c2p", "p2p"], DEEP]},
    "modernbert": {"local_attention": [0]},
    "big_bird": {"num_random_blocks": [10**6]},
    "vit": {
        "id2label": [
            ["red", "green"],
            {"0": "red", "2": "blue"},
            {str(i): "" for i in range(70_000)},
            {str(i): i for i in range(5)},
        ]
    },
}
"""Values that are refused by the name."""
LIES: dict[str, dict[str, tuple[Any, ...]]] = {
    "gpt2": {
        "heads that do not divide": ({"n_head": 4}, "n_embd=33", "n_head=4"),
        "layers missing": ({"n_layer": None}, "n_layer is missing"),
        "positions times width": ({"n_positions": 2**20, "n_embd": 3 * 2**10}, "positions"),
        "two widths": ({"hidden_size": 66}, "n_embd is 33", "hidden_size is 66"),
        "a larger vocabulary than stored": ({"vocab_size": 300}, "wte.weight", "(292, 33)", "(300, 33)"),
        "more layers than stored": ({"n_layer": 500}, "missing", "h.2.ln_1.weight"),
        "fewer layers than stored": ({"n_layer": 1}, "left over", "h.1."),
        "no attention": ({"model_type": "mamba"}, "its kind is mamba, which is not read"),
        "no attention, by its class": (
            {"model_type": None, "architectures": ["FalconMambaForCausalLM"]},
            "its kind is falcon_mamba, which is not read",
        ),
        "kind that is a number": ({"model_type": 5}, "model_type is '5'"),
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
        "a kind of a million letters": ({"model_type": LONG}, "model_type is 'xxx"),
        "our family of a million letters": ({"family": LONG}, "family 'xxx"),
        "our family, 900 lists deep": ({"family": DEEP}, "family [[["),
        "layers, 900 lists deep": ({"n_layer": DEEP}, "n_layer is [[["),
        "activation, 900 lists deep": ({"activation_function": DEEP}, "activation_function is [[["),
    },
    "bert": {
        "heads that do not divide": ({"num_attention_heads": 4}, "hidden_size=33", "num_attention_heads=4"),
        "inner width missing": ({"intermediate_size": None}, "intermediate_size is missing"),
        "another number of segments": ({"type_vocab_size": 3}, "token_type_embeddings", "(2, 33)", "(3, 33)"),
        "more layers than stored": ({"num_hidden_layers": 500}, "missing", "encoder.layer.2."),
        "fewer layers than stored": ({"num_hidden_layers": 1}, "left over", "encoder.layer.1."),
    },
    "own": {
        "a table of 512 GB": (
            {"family": "transformer", "n_ctx": 2**20, "d_model": 2**16, "n_heads": 4},
            "positions",
        ),
        "order": ({"order": "sideways"}, "order='sideways'"),
        "ids beyond the table": ({"ids": {"start": 292}}, "start", "292"),
        "ids negative": ({"ids": {"end": -1}}, "end", "-1"),
        "shape": ({"d_ff": 14}, "ffn"),
        "order of a million letters": ({"order": LONG}, "order='xxx"),
        "activation of a million letters": ({"activation": LONG}, "activation='xxx"),
        "order, 900 lists deep": ({"order": DEEP}, "order=[[["),
        "activation, 900 lists deep": ({"activation": DEEP}, "config.json"),
        "dropout, 900 lists deep": ({"dropout": DEEP}, "config.json"),
        "an id, 900 lists deep": ({"ids": {"end": DEEP}}, "id of 'end' is [[["),
    },
    "llama": {
        "more heads that answer than ask": (
            {"num_key_value_heads": 12},
            "num_key_value_heads=12",
            "num_attention_heads=6",
        ),
        "heads that answer do not divide": ({"num_key_value_heads": 4}, "num_key_value_heads=4"),
        "an odd width of a head": ({"head_dim": 7}, "head_dim=7"),
        "another width of a head": ({"head_dim": 10}, "self_attn.q_proj.weight", "(48, 30)", "(60, 30)"),
        "layers, 900 lists deep": ({"num_hidden_layers": DEEP}, "num_hidden_layers is [[["),
        "a larger table of words": ({"vocab_size": 2**20}, "embed_tokens.weight", "(1048576, 30)"),
        "stretched by an unknown rule": ({"rope_scaling": {"type": "yarn", "factor": 4.0}}, "kind 'yarn'"),
        "stretched by a rule of a million letters": ({"rope_scaling": {"type": LONG}}, "kind 'xxx"),
        "stretched by a list": ({"rope_scaling": [ROPE]}, "rope_scaling is ["),
        "stretched halfway": (
            {"rope_scaling": {"rope_type": "llama3", "factor": 8.0}},
            "'llama3', with factor",
        ),
        **{
            f"a base of {base!r}": ({"rope_theta": base}, "rope_theta=")
            for base in ("10000", [10000.0], -1.0, True)
        },
        "a base of 1e308": ({"rope_theta": 1e308},),
        "a factor of nothing": ({"rope_scaling": LLAMA3 | {"factor": 0}}, "factor=0"),
        "a factor that is text": ({"rope_scaling": LLAMA3 | {"factor": "8"}}, "factor='8'"),
        "frequencies the wrong way round": (
            {"rope_scaling": LLAMA3 | {"low_freq_factor": 4}},
            "low_freq_factor=4",
        ),
        "a mark outside the table": ({"eos_token_id": 10**9, "bos_token_id": -1, "pad_token_id": [2**70]},),
        "marks that are nested": ({"eos_token_id": [[0]], "bos_token_id": {"a": 1}, "pad_token_id": "0"},),
        "code that it names": ({"auto_map": {"AutoModel": "evil.Evil"}, "torch_dtype": "os"},),
        "an output layer that is not tied": (
            {"tie_word_embeddings": True},
            "differs from 'embed_tokens.weight'",
        ),
    },
    "mixtral": {
        "more chosen than there are": ({"num_experts_per_tok": 4}, "num_experts_per_tok=4"),
        "4,096 experts": ({"num_local_experts": 4096}, "experts.3.w1.weight"),
    },
    "helium": {"an odd width of a head": ({"head_dim": 7}, "head_dim=7")},
    "opt": {"fewer positions than rows": ({"max_position_embeddings": 19}, "(19, 33)", "(21, 33)")},
    "smollm3": {
        "turns of a thousand lists": ({"no_rope_layers": [DEEP, 1]}, "no_rope_layers is [[["),
        "no turns at all": (
            {"no_rope_layers": None, "no_rope_layer_interval": 0},
            "no_rope_layer_interval is 0",
        ),
    },
    "granite": {"a factor of 0.22, which opens": ({"residual_multiplier": 0.22},)},
    "phi3": {
        "turned by more than all": ({"partial_rotary_factor": 1.5}, "partial_rotary_factor, is 1.5"),
        "positions for long texts": (
            {"rope_scaling": {"type": "longrope", "long_factor": [1.0], "short_factor": [1.0]}},
            "short_factor is [1.0]",
        ),
        "more heads that answer than are packed": ({"num_key_value_heads": 6}, "qkv_proj.weight"),
    },
    "stablelm": {"a norm too many": ({"use_parallel_residual": True}, "left over")},
    "phi": {"an odd share": ({"partial_rotary_factor": 0.4}, "must be an even number up to head_dim")},
    "gptj": {
        "turned by more than a head": ({"rotary_dim": 64}, "rotary_dim=64"),
        "an odd turn": ({"rotary_dim": 3}, "rotary_dim=3"),
    },
    "falcon": {
        "a bias of distance": ({"alibi": True}, "new_decoder_architecture is True"),
        "key heads that do not divide": ({"num_kv_heads": 4}, "num_kv_heads=4"),
        "other norms": ({"num_ln_in_parallel_attn": 2}, "missing", "ln_attn"),
    },
    "qwen3": {
        "layers of two sorts": (
            {**SLIDING, "layer_types": ["full_attention", "sliding_attention"]},
            "layer_types is ['full_attention', 'sliding_attention']",
        ),
        "a sort of layer in a list": (
            {**SLIDING, "layer_types": [["full_attention"], 2]},
            "layer_types is",
        ),
    },
    "gemma3_text": {
        "a rotation of an unknown sort": (
            {"rope_parameters": {"half_attention": ROPE}},
            "rope_parameters names",
        ),
        "a factor of nothing": (
            {"rope_parameters": {"full_attention": {"rope_type": "linear", "factor": 0}}},
            "factor=0",
        ),
    },
    "gpt_neo": {
        "sorts of layers, 900 lists deep": (
            {"attention_types": DEEP, "attention_layers": None},
            "attention_types",
        ),
    },
    "roberta": {
        "the blank outside the table": ({"pad_token_id": 10**6}, "max_position_embeddings is 19"),
        "the blank elsewhere": ({"pad_token_id": 0},),
        "heads that do not divide": ({"num_attention_heads": 4}, "num_attention_heads=4", "hidden_size=33"),
    },
    "distilbert": {
        "positions that no file holds": (
            {"sinusoidal_pos_embds": True, "max_position_embeddings": 10**6},
            "embeddings.position_embeddings.weight",
        ),
        "two widths": ({"dim": 33, "hidden_size": 30}, "dim is 33", "hidden_size is 30"),
    },
    "albert": {
        "two groups": ({"num_hidden_groups": 2}, "Weights missing", "albert_layer_groups.1"),
        "48 layers of the same weights": ({"num_hidden_layers": 48},),
    },
    "t5": {
        "two depths": ({"num_decoder_layers": 3}, "Weights missing", "decoder.block.2"),
        "more buckets than distances": (
            {"relative_attention_max_distance": 1},
            "relative_attention_max_distance=1",
        ),
        "the encoder alone": ({"is_encoder_decoder": False}, "Weights left over", "decoder.block"),
        "two names of one size": ({"num_hidden_layers": 3}, "num_layers is 2", "num_hidden_layers is 3"),
    },
    "marian": {
        "two depths": ({"decoder_layers": 6}, "Weights missing", "decoder.layers"),
        "positions of half a gigabyte": (
            {
                "max_position_embeddings": 2**20,
                "d_model": 2**14,
                "encoder_attention_heads": 4,
                "decoder_attention_heads": 4,
            },
            "positions",
        ),
    },
    "bart": {"learned positions too many": ({"max_position_embeddings": 1000}, "embed_positions.weight")},
    "deberta-v2": {
        "more buckets than are stored": ({"position_buckets": 256}, "position_buckets=256"),
    },
    "modernbert": {
        "an odd window": ({"local_attention": 3},),
        "a base that is a list": (
            {
                "rope_parameters": {
                    "full_attention": {"rope_type": "default", "rope_theta": [1]},
                    "sliding_attention": ROPE,
                }
            },
            "rope_theta=",
        ),
    },
    "vit": {
        "patches that do not divide": ({"patch_size": 5}, "patch"),
        "patches larger than the picture": ({"patch_size": 56}, "patch"),
        "classes of markup": (
            {"id2label": {str(i): f"<img src=x onerror=alert({i})>" for i in range(5)}, "label2id": None},
        ),
    },
}
TEXTS: dict[str, tuple[Any, ...]] = {
    "empty": (b"", "cannot be read"),
    "a list": (b"[1]", "holds no JSON object"),
    "null": (b"null", "holds no JSON object"),
    "not UTF-8": (b'{"a": "\xff"}', "not UTF-8"),
    "UTF-16": ('{"a": 1}'.encode("utf-16"), "cannot be read"),
    "a mark of byte order": (b"\xef\xbb\xbf{}", "cannot be read"),
    "NaN": (b'{"rms_norm_eps": NaN}', "NaN is not a number"),
    "Infinity": (b'{"rope_theta": Infinity}', "Infinity is not a number"),
    "an overflow": (good("llama")[CONFIG].replace(b"1e-05", b"1e999"), "rms_norm_eps is inf"),
    "200,000 lists deep": (b"[" * 200_000, "nested too deeply"),
    "a key twice": (b'{"model_type": "llama", "model_type": "t5"}', "'model_type' occurs twice"),
    "a number of 5,000 digits": (b'{"vocab_size": ' + b"9" * 5000 + b"}", "too many digits"),
    "2 MB": (b'{"x": "' + b"y" * 2**21 + b'"}', "2,097,161 bytes"),
    "a script": (b"import os; os.mkdir('canary')", "cannot be read"),
    "a web page": (b"<!doctype html><html></html>", "cannot be read"),
    "only a name": (b'{"model_type": "llama"}', "num_hidden_layers is missing"),
    "nothing in it": (b"{}", "model_type is missing"),
    "an unknown kind": (b'{"model_type": "xlnet"}', "model_type is 'xlnet'"),
    "a kind of markup": (b'{"model_type": "<script>alert(1)</script>"}', "model_type is '<script>"),
    "a kind that turns the text round": (
        '{"model_type": "\u202ellama"}'.encode(),
        "model_type is '\\u202ellama'",
    ),
    "a kind that is a list": (b'{"model_type": ["llama"]}', "model_type is '['llama']'"),
    "an unknown class": (b'{"architectures": ["Llama9"]}', "the class is 'Llama9'"),
    "a kind of a million letters": (json.dumps({"model_type": LONG}).encode(), "model_type is 'xxx"),
    "our family by a path": (b'{"family": "../gpt"}', "family '../gpt'"),
    "our family, 900 lists deep": (json.dumps({"family": DEEP}).encode(), "family [[["),
    "the kind of another's tensors": (b'{"model_type": "bert"}', "num_hidden_layers is missing"),
}


def values() -> Iterator[Case]:
    """The values of `SAID` and `NAMED`, each in a folder of its own."""
    for table, says in ((SAID, "{} is {!r}"), (NAMED, "{}")):
        for kind, names in table.items():
            for name, given in names.items():
                for at, value in enumerate(given):
                    case = f"{kind}: {name}, {at}: {value!r:.40}"
                    yield Case(case, folder(kind, config={name: value}), (says.format(name, value),))


CASES = [
    *values(),
    *(
        Case(f"{kind}: {name}", folder(kind, config=changes), tuple(words), "that is not tied" in name)
        for kind, lies in LIES.items()
        for name, (changes, *words) in lies.items()
    ),
    *(
        Case(f"config.json: {name}", folder("llama", config=data, files={CONFIG: data}), tuple(words))
        for name, (data, *words) in TEXTS.items()
    ),
]
