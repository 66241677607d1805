"""A tiny config of every kind of Hugging Face folder."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch

from core.checkpoints.foreign import formats
from core.models import families

LATER = {"n_segments": 1, "first_place": 2, "next_sentence": False}
PARALLEL = {"norm": "layer", "block": "one norm", "gated": False, "activation": "gelu_tanh"}
BIASED = {"qkv_bias": True, "out_bias": True, "ffn_bias": True}
EVERYWHERE = {"local": (), "reach": 64}
BEHIND = {**EVERYWHERE, "block": "behind", "n_segments": 2, "pooler": True}
MOE = {"n_experts": 3, "n_active": 2}
SHAPES: dict[str, dict[str, Any]] = {
    "starcoder2": {**PARALLEL, **BIASED, "block": "before", "d_model": 48, "tied": True},
    "opt": {"first_place": 2, "activation": "relu"},
    "mbart": {"order": "pre", "positions": "learned", "first_place": 2, "embed_norm": True},
    "pegasus": {"order": "pre", "positions": "halves", "output_bias": True},
    "m2m_100": {"order": "pre", "positions": "spread", "first_place": 2, "d_model": 36},
    "smollm3": {"unturned": (1,), "tied": True},
    "olmo2": {"block": "behind", "wide_norm": True},
    "granite": {"embed_scale": 3.0, "output_scale": 0.25, "scale": 25.0},
    "phi3": {"d_rotary": 4},
    "stablelm": {"norm": "layer", "d_rotary": 4, "d_model": 48},
    "cohere": {"norm": "layer, unbiased", "block": "one norm", "output_scale": 0.25, "tied": True},
    "phi": {**PARALLEL, **BIASED, "logits_bias": True, "d_rotary": 4},
    "gptj": {
        **PARALLEL,
        "ffn_bias": True,
        "logits_bias": True,
        "d_rotary": 4,
        "d_model": 48,
        "n_kv_heads": 6,
    },
    "falcon": {**PARALLEL, "activation": "gelu", "n_kv_heads": 1, "d_model": 48, "tied": True},
    "gpt2": {"order": "pre"},
    "openai-gpt": {"order": "post", "d_ff": 132, "activation": "gelu_tanh"},
    "mistral": {"sliding_window": 3, "tied": True},
    "gemma": {"scaled": True, "activation": "gelu_tanh", "tied": True},
    "gemma3_text": {
        "qk_norm": True,
        "score_cap": 0.0,
        "logit_cap": 0.0,
        "rope_base": 1e6,
        "rope_factor": 8.0,
    },
    "deberta-v2": {"n_segments": 2, "absolute": True},
    "qwen2": {"qkv_bias": True},
    "qwen3": {"qk_norm": True},
    "mixtral": MOE,
    "qwen3_moe": {**MOE, "qk_norm": True},
    "olmoe": {**MOE, "wide_norm": True, "among_chosen": False, "d_model": 48},
    "roberta": LATER,
    "xlm-roberta": LATER,
    "camembert": LATER,
    "big_bird": {"window": 3, "n_global": 2, "draw": "first", "block": 2, "n_random": 1, "full_up_to": 14},
    "marian": {"positions": "halves", "output_bias": True},
    "bart": {"positions": "learned", "first_place": 2, "embed_norm": True},
    "gpt_neox": {"tied": False},
    "bloom": {"d_ff": 132},
    "mpt": {"d_ff": 132, "bias": False, "embed_norm": False, "activation": "gelu"},
    "mpnet": {"n_buckets": 32, "furthest": 128},
    "electra": {"pooler": False, "next_sentence": False},
    "deit": {"distilled": True, "two_heads": True},
    "mt5": {"gated": True, "tied": False, "scaled_output": False, "activation": "gelu_tanh"},
    "t5": {"gated": True, "tied": False, "scaled_output": False, "activation": "gelu_tanh"},
    "nomic_bert": {**BEHIND, "biases": "norms", "activation": "silu"},
    "jina_bert": {**BEHIND, "biases": "all", "places": "alibi", "rope_base": 160000.0},
    "esm": {
        **EVERYWHERE,
        "first_place": 1,
        "first_norm": True,
        "embed_norm": False,
        "gated": False,
        "biases": "all",
        "blank": 4,
    },
    "distilbert": {"n_segments": 0, "pooler": False, "next_sentence": False},
}
"""What a tiny config of a kind has that others of its family have not."""


def tiny(name: str) -> Any:
    spec = families()[formats()[name].family]
    return replace(spec.config.tiny(), **SHAPES.get(name, {}))


def random_network(spec: Any, config: Any, seed: int) -> torch.nn.Module:
    """Return a network of a family whose weights are all random, in the same way again."""
    torch.manual_seed(seed)
    network = spec.network(config)
    for weight in network.parameters():
        torch.nn.init.normal_(weight, std=0.3)
    return network
