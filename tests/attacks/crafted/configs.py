"""config.json files that lie: sizes, switches and marks of every kind of model."""

from __future__ import annotations

import json
from typing import Any

from crafted.case import CONFIG, Case, folder, good

ROPE: dict[str, Any] = {"rope_type": "default"}
DEEP = json.loads("[" * 900 + "]" * 900)
LONG = "x" * (10**6 - 4000)
"""As long as a config.json may be."""

LIES: dict[str, dict[str, tuple[Any, ...]]] = {
    "llama": {
        "no heads": ({"num_attention_heads": 0}, "num_attention_heads is 0"),
        "heads below zero": ({"num_attention_heads": -6}, "num_attention_heads is -6"),
        "more heads that answer than ask": (
            {"num_key_value_heads": 12},
            "num_key_value_heads=12",
            "num_attention_heads=6",
        ),
        "heads that answer do not divide": ({"num_key_value_heads": 4}, "num_key_value_heads=4"),
        "no heads that answer": ({"num_key_value_heads": 0}, "num_key_value_heads is 0"),
        "an odd width of a head": ({"head_dim": 7}, "head_dim=7"),
        "another width of a head": ({"head_dim": 10}, "self_attn.q_proj.weight", "(48, 30)", "(60, 30)"),
        "a huge width of a head": ({"head_dim": 10**9}, "head_dim is 1000000000"),
        "heads that are text": ({"num_attention_heads": "6"}, "num_attention_heads is '6'"),
        "layers that are a fraction": ({"num_hidden_layers": 2.0}, "num_hidden_layers is 2.0"),
        "layers in a list": ({"num_hidden_layers": [[2]]}, "num_hidden_layers is [[2]]"),
        "layers, 900 lists deep": ({"num_hidden_layers": DEEP}, "num_hidden_layers is [[["),
        "a larger table of words": ({"vocab_size": 2**20}, "embed_tokens.weight", "(1048576, 30)"),
        "stretched by an unknown rule": ({"rope_scaling": {"type": "yarn", "factor": 4.0}}, "kind 'yarn'"),
        "stretched by a rule of a million letters": ({"rope_scaling": {"type": LONG}}, "kind 'xxx"),
        "stretched by a number": ({"rope_scaling": 8}, "rope_scaling is 8"),
        "stretched by a list": ({"rope_scaling": [ROPE]}, "rope_scaling is ["),
        "stretched halfway": (
            {"rope_scaling": {"rope_type": "llama3", "factor": 8.0}},
            "'llama3', with factor",
        ),
        "a base that is text": ({"rope_theta": "10000"}, "rope_theta="),
        "a base that is a list": ({"rope_theta": [10000.0]}, "rope_theta="),
        "a base below zero": ({"rope_theta": -1.0}, "rope_theta="),
        "a base of 1e308": ({"rope_theta": 1e308},),
        "a base that is true": ({"rope_theta": True}, "rope_theta="),
        "a factor of nothing": (
            {
                "rope_scaling": {
                    "rope_type": "llama3",
                    "factor": 0,
                    "low_freq_factor": 1,
                    "high_freq_factor": 4,
                    "original_max_position_embeddings": 8,
                }
            },
            "factor=0",
        ),
        "a factor that is text": (
            {
                "rope_scaling": {
                    "rope_type": "llama3",
                    "factor": "8",
                    "low_freq_factor": 1,
                    "high_freq_factor": 4,
                    "original_max_position_embeddings": 8,
                }
            },
            "factor='8'",
        ),
        "frequencies the wrong way round": (
            {
                "rope_scaling": {
                    "rope_type": "llama3",
                    "factor": 8,
                    "low_freq_factor": 4,
                    "high_freq_factor": 4,
                    "original_max_position_embeddings": 8,
                }
            },
            "low_freq_factor=4",
        ),
        "eps of nothing": ({"rms_norm_eps": 0}, "rms_norm_eps is 0"),
        "an unknown activation": ({"hidden_act": "relu2"}, "hidden_act is 'relu2'"),
        "tied in words": ({"tie_word_embeddings": "no"}, "tie_word_embeddings is 'no'"),
        "biases": ({"attention_bias": True}, "attention_bias is True"),
        "in slices": ({"pretraining_tp": 2}, "pretraining_tp is 2"),
        "four bits": ({"quantization_config": {"bits": 4}}, "quantization_config"),
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
        "no expert": ({"num_local_experts": 0}, "num_local_experts is 0"),
        "4,096 experts": ({"num_local_experts": 4096}, "experts.3.w1.weight"),
        "experts below zero": ({"num_experts_per_tok": -1}, "num_experts_per_tok is -1"),
    },
    "qwen3_moe": {
        "layers without experts": ({"mlp_only_layers": [0]}, "mlp_only_layers is [0]"),
        "a step of a list": ({"decoder_sparse_step": DEEP}, "decoder_sparse_step is"),
    },
    "olmoe": {"queries cut off": ({"clip_qkv": 8.0}, "clip_qkv is 8.0")},
    "helium": {"an odd width of a head": ({"head_dim": 7}, "head_dim=7")},
    "starcoder2": {"no biases": ({"use_bias": False}, "use_bias is False")},
    "opt": {
        "norms behind": ({"do_layer_norm_before": False}, "do_layer_norm_before is False"),
        "narrow embeddings": ({"word_embed_proj_dim": 8}, "word_embed_proj_dim is 8"),
        "fewer positions than rows": ({"max_position_embeddings": 19}, "(19, 33)", "(21, 33)"),
    },
    "mbart": {"norms behind": ({"normalize_before": False}, "normalize_before is False")},
    "pegasus": {"no norm at the end": ({"add_final_layer_norm": False}, "add_final_layer_norm is False")},
    "m2m_100": {
        "a padding below zero": ({"pad_token_id": -1}, "pad_token_id is -1"),
        "a padding of a million": ({"pad_token_id": 10**6}, "pad_token_id is 1000000"),
    },
    "smollm3": {
        "turns of three layers": ({"no_rope_layers": [1, 0, 1]}, "no_rope_layers is [1, 0, 1]"),
        "turns of a thousand lists": ({"no_rope_layers": [DEEP, 1]}, "no_rope_layers is [[["),
        "no turns at all": (
            {"no_rope_layers": None, "no_rope_layer_interval": 0},
            "no_rope_layer_interval is 0",
        ),
        "a window": ({"use_sliding_window": True}, "use_sliding_window is True"),
    },
    "olmo2": {"biases": ({"attention_bias": True}, "attention_bias is True")},
    "granite": {
        "a factor of nothing": ({"residual_multiplier": 0}, "residual_multiplier is 0"),
        "a factor below zero": ({"logits_scaling": -8.0}, "logits_scaling is -8.0"),
        "a factor of 1e-300": ({"attention_multiplier": 1e-300}, "attention_multiplier is 1e-300"),
        "a factor of text": ({"embedding_multiplier": "12"}, "embedding_multiplier is '12'"),
        "a factor of 0.22, which opens": ({"residual_multiplier": 0.22},),
    },
    "phi3": {
        "turned by more than all": ({"partial_rotary_factor": 1.5}, "partial_rotary_factor, is 1.5"),
        "positions for long texts": (
            {"rope_scaling": {"type": "longrope", "long_factor": [1.0], "short_factor": [1.0]}},
            "short_factor is [1.0]",
        ),
        "more heads that answer than are packed": ({"num_key_value_heads": 6}, "qkv_proj.weight"),
    },
    "stablelm": {
        "norms of heads": ({"qk_layernorm": True}, "qk_layernorm is True"),
        "both at once in words": ({"use_parallel_residual": "yes"}, "use_parallel_residual is 'yes'"),
        "a norm too many": ({"use_parallel_residual": True}, "left over"),
    },
    "cohere": {
        "norms of heads": ({"use_qk_norm": True}, "use_qk_norm is True"),
        "scores of words times text": ({"logit_scale": "1"}, "logit_scale is '1'"),
    },
    "phi": {"an odd share": ({"partial_rotary_factor": 0.4}, "must be an even number up to head_dim")},
    "gptj": {
        "turned by more than a head": ({"rotary_dim": 64}, "rotary_dim=64"),
        "an odd turn": ({"rotary_dim": 3}, "rotary_dim=3"),
    },
    "falcon": {
        "a bias of distance": ({"alibi": True}, "new_decoder_architecture is True"),
        "key heads that do not divide": ({"num_kv_heads": 4}, "num_kv_heads=4"),
        "three norms": ({"num_ln_in_parallel_attn": 3}, "num_ln_in_parallel_attn is 3"),
        "other norms": ({"num_ln_in_parallel_attn": 2}, "missing", "ln_attn"),
    },
    "mistral": {
        "a window of nothing": ({"sliding_window": 0}, "sliding_window is 0"),
        "a window below zero": ({"sliding_window": -3}, "sliding_window is -3"),
        "a window of text": ({"sliding_window": "wide"}, "sliding_window is 'wide'"),
    },
    "qwen3": {
        "layers of two sorts": (
            {
                "use_sliding_window": True,
                "sliding_window": 3,
                "max_window_layers": 0,
                "layer_types": ["full_attention", "sliding_attention"],
            },
            "layer_types is ['full_attention', 'sliding_attention']",
        ),
        "a sort of layer in a list": (
            {
                "use_sliding_window": True,
                "sliding_window": 3,
                "max_window_layers": 0,
                "layer_types": [["full_attention"], 2],
            },
            "layer_types is",
        ),
    },
    "gemma2": {
        "a cap below zero": ({"attn_logit_softcapping": -50.0}, "attn_logit_softcapping is -50.0"),
        "a cap of nothing": ({"final_logit_softcapping": 0.0}, "final_logit_softcapping is 0.0"),
        "scaled by nothing": ({"query_pre_attn_scalar": 0}, "query_pre_attn_scalar is 0"),
        "sorts of three layers": ({"layer_types": ["full_attention"] * 3}, "layer_types is"),
    },
    "gemma3_text": {
        "a rotation of an unknown sort": (
            {"rope_parameters": {"half_attention": ROPE}},
            "rope_parameters names",
        ),
        "a rotation that is text": ({"rope_parameters": "default"}, "rope_parameters is 'default'"),
        "a factor of nothing": (
            {"rope_parameters": {"full_attention": {"rope_type": "linear", "factor": 0}}},
            "factor=0",
        ),
        "both ways in words": (
            {"use_bidirectional_attention": "sometimes"},
            "use_bidirectional_attention is 'sometimes'",
        ),
    },
    "gpt_neox": {
        "turned by more than all": ({"rotary_pct": 1.5}, "rotary_pct"),
        "turned below zero": ({"rotary_pct": -0.25}, "rotary_pct"),
        "turned by words": ({"rotary_pct": "a quarter"}, "rotary_pct"),
    },
    "gpt_neo": {
        "a window of nothing": ({"window_size": 0}, "window_size is 0"),
        "a million layers in a line": (
            {"attention_types": [[["global", "local"], 10**9]]},
            "attention_types",
        ),
        "sorts of layers that are numbers": ({"attention_types": [[[1, 2], 1]]}, "attention_types"),
        "sorts of layers, 900 lists deep": (
            {"attention_types": DEEP, "attention_layers": None},
            "attention_types",
        ),
    },
    "roberta": {
        "the blank outside the table": ({"pad_token_id": 10**6}, "max_position_embeddings is 19"),
        "the blank elsewhere": ({"pad_token_id": 0},),
        "no rows for positions": ({"max_position_embeddings": 2}, "max_position_embeddings"),
        "positions that are none": (
            {"max_position_embeddings": float("1e30")},
            "max_position_embeddings is 1e+30",
        ),
        "heads that do not divide": ({"num_attention_heads": 4}, "num_attention_heads=4", "hidden_size=33"),
        "relative positions": ({"position_embedding_type": "relative_key_query"}, "position_embedding_type"),
        "a decoder": ({"is_decoder": True}, "is_decoder is True"),
    },
    "distilbert": {
        "positions that no file holds": (
            {"sinusoidal_pos_embds": True, "max_position_embeddings": 10**6},
            "embeddings.position_embeddings.weight",
        ),
        "two widths": ({"dim": 33, "hidden_size": 30}, "dim is 33", "hidden_size is 30"),
        "an inner width of nothing": ({"hidden_dim": 0}, "hidden_dim is 0"),
    },
    "electra": {"embeddings of no width": ({"embedding_size": 0}, "embedding_size is 0")},
    "albert": {
        "no groups": ({"num_hidden_groups": 0}, "num_hidden_groups is 0"),
        "two groups": ({"num_hidden_groups": 2}, "Weights missing", "albert_layer_groups.1"),
        "no embeddings": ({"embedding_size": 0}, "embedding_size is 0"),
        "48 layers of the same weights": ({"num_hidden_layers": 48},),
        "100,000 layers of the same weights": ({"num_hidden_layers": 100_000}, "num_hidden_layers is 100000"),
    },
    "t5": {
        "two depths": ({"num_decoder_layers": 3}, "Weights missing", "decoder.block.2"),
        "no buckets": ({"relative_attention_num_buckets": 0}, "relative_attention_num_buckets is 0"),
        "more buckets than distances": (
            {"relative_attention_max_distance": 1},
            "relative_attention_max_distance=1",
        ),
        "a gate that is unknown": (
            {"feed_forward_proj": "gated-swish2"},
            "feed_forward_proj is 'gated-swish2'",
        ),
        "the encoder alone": ({"is_encoder_decoder": False}, "Weights left over", "decoder.block"),
        "two names of one size": ({"num_hidden_layers": 3}, "num_layers is 2", "num_hidden_layers is 3"),
        "heads of no width": ({"d_kv": 0}, "d_kv is 0"),
    },
    "marian": {
        "norms before": ({"normalize_before": True}, "normalize_before is True"),
        "tables that are apart": (
            {"share_encoder_decoder_embeddings": False},
            "share_encoder_decoder_embeddings",
        ),
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
        "a second vocabulary": ({"decoder_vocab_size": 5}, "decoder_vocab_size is 5"),
    },
    "bart": {"learned positions too many": ({"max_position_embeddings": 1000}, "embed_positions.weight")},
    "mpnet": {"no buckets": ({"relative_attention_num_buckets": 0}, "relative_attention_num_buckets")},
    "deberta-v2": {
        "a third part of a score": ({"pos_att_type": ["c2p", "p2p"]}, "pos_att_type is"),
        "parts of a score, 900 lists deep": ({"pos_att_type": DEEP}, "pos_att_type is"),
        "no relative positions": ({"relative_attention": False}, "relative_attention is False"),
        "a convolution": ({"conv_kernel_size": 3}, "conv_kernel_size is 3"),
        "more buckets than are stored": ({"position_buckets": 256}, "position_buckets=256"),
        "buckets below zero": ({"position_buckets": -7}, "position_buckets is -7"),
    },
    "modernbert": {
        "a window of nothing": ({"local_attention": 0}, "local_attention"),
        "an odd window": ({"local_attention": 3},),
        "sorts of layers that are none": ({"layer_types": "sliding"}, "layer_types is 'sliding'"),
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
    "big_bird": {
        "blocks of nothing": ({"block_size": 0}, "block_size is 0"),
        "random blocks below zero": ({"num_random_blocks": -1}, "num_random_blocks is -1"),
        "a million random blocks": ({"num_random_blocks": 10**6}, "num_random_blocks"),
    },
    "vit": {
        "patches that do not divide": ({"patch_size": 5}, "patch"),
        "patches larger than the picture": ({"patch_size": 56}, "patch"),
        "a picture of a million": ({"image_size": 10**6}, "image_size is 1000000"),
        "channels below zero": ({"num_channels": -3}, "num_channels is -3"),
        "classes in a list": ({"id2label": ["red", "green"]}, "id2label"),
        "classes that skip one": ({"id2label": {"0": "red", "2": "blue"}}, "id2label"),
        "classes of markup": (
            {"id2label": {str(i): f"<img src=x onerror=alert({i})>" for i in range(5)}, "label2id": None},
        ),
        "a million classes": ({"id2label": {str(i): "" for i in range(70_000)}}, "id2label"),
        "classes that are numbers": ({"id2label": {str(i): i for i in range(5)}}, "id2label"),
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

CASES = [
    *(
        Case(
            f"{kind}: {name}",
            folder(kind, config=changes),
            tuple(words),
            late=name == "an output layer that is not tied",
        )
        for kind, lies in LIES.items()
        for name, (changes, *words) in lies.items()
    ),
    *(
        Case(f"config.json: {name}", folder("llama", config=data, files={CONFIG: data}), tuple(words))
        for name, (data, *words) in TEXTS.items()
    ),
]
