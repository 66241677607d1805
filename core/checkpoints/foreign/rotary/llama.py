"""Llama folders in Hugging Face format (Touvron et al. 2023): also SmolLM2, TinyLlama and others of this arithmetic."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

from core.checkpoints.files import shown
from core.checkpoints.foreign import Format, headless
from core.checkpoints.foreign.rotary import SLIDING, WHOLE
from core.checkpoints.safety.config_schema import RANGES, Fields, built, named
from core.checkpoints.safety.load_plan import Take
from core.checkpoints.task_heads import of_decoder
from core.errors import InputError
from core.models.rotary.llama import LlamaConfig

SIZES: Mapping[str, tuple[str, ...]] = {
    "n_layers": ("num_hidden_layers",),
    "n_heads": ("num_attention_heads",),
    "d_model": ("hidden_size",),
    "d_ff": ("intermediate_size",),
    "n_vocab": ("vocab_size",),
    "n_ctx": ("max_position_embeddings",),
}
HEAD = "lm_head.weight"
ACTIVATIONS = {"silu": "silu", "swish": "silu", "gelu_pytorch_tanh": "gelu_tanh", "gelu_new": "gelu_tanh"}
STRETCHED = {
    "factor": "rope_factor",
    "low_freq_factor": "rope_low",
    "high_freq_factor": "rope_high",
    "original_max_position_embeddings": "rope_original",
}
"""What the rope type llama3 names, and what it is here."""


def config(fields: Fields, stored: Collection[str] = ()) -> LlamaConfig:
    """The shape, by Llama's names."""
    fields.only(
        "attention_bias", False, "Biases on queries, keys, values and the output are not implemented."
    )
    fields.only("pretraining_tp", 1, "Products cut into slices, as in the pretraining, are not implemented.")
    return shaped(common(fields, stored))


def shaped(given: Mapping[str, Any]) -> LlamaConfig:
    """The config of these values; positions are turned, there is no table of them."""
    return built(LlamaConfig, given, tables=False)


def common(fields: Fields, stored: Collection[str], *, base: float = 10000.0) -> dict[str, Any]:
    """What the configs of all kinds of this family have in common."""
    return {**shape(fields, stored), **rope(fields, base)}


def shape(fields: Fields, stored: Collection[str]) -> dict[str, Any]:
    """The same without the rotary positions."""
    fields.only("mlp_bias", False, "Biases of the feed-forward network are not implemented.")
    given = fields.sizes(SIZES)
    heads, largest = given["n_heads"], RANGES["n_heads"]
    return {
        **given,
        "n_kv_heads": fields.whole("num_key_value_heads", largest=largest, default=heads),
        "d_head": fields.whole("head_dim", largest=RANGES["d_model"], default=given["d_model"] // heads),
        "activation": fields.one_of("hidden_act", ACTIVATIONS, "silu"),
        "eps": fields.small("rms_norm_eps", 1e-6),
        "tied": bool(fields.flag("tie_word_embeddings", False)),
        "headless": headless(fields, stored),
    }


def rope(fields: Fields, base: float) -> dict[str, Any]:
    """The rotary positions: `rope_parameters` of new configs, `rope_theta` and `rope_scaling` of old ones."""
    said: dict[str, Any] = {}
    for name in ("rope_scaling", "rope_parameters"):
        part = fields.raw(name)
        if part is not None and not isinstance(part, dict):
            raise _unread(f"{name} is {shown(repr(part), 40)}")
        said |= part or {}
    found: dict[str, Any] = {"rope_base": said.pop("rope_theta", fields.raw("rope_theta") or base)}
    kind = said.pop("rope_type", said.pop("type", "default"))
    said = {name: value for name, value in said.items() if value is not None}
    if kind == "llama3" and set(said) == set(STRETCHED):
        found |= {STRETCHED[name]: value for name, value in said.items()}
    elif kind != "default" or said:
        more = f", with {shown(', '.join(sorted(map(str, said))), 80)}" if said else ""
        raise _unread(f"its rotary positions are of the kind '{shown(str(kind), 40)}'{more}")
    return found


def _unread(wrong: str) -> InputError:
    return InputError(
        f"config.json: {wrong}.",
        "Rotary positions are read as they are (default), or stretched as in Llama 3.1 (llama3, with "
        + ", ".join(STRETCHED)
        + ").",
        "Open a model with one of these.",
    )


def window(fields: Fields, default: int = 0) -> int:
    """How many tokens a query sees where all layers see as many; 0 for all before it."""
    kinds = fields.raw("layer_types")
    if kinds and not (isinstance(kinds, list) and set(map(str, kinds)) in ({WHOLE}, {SLIDING})):
        raise InputError(
            f"config.json: layer_types is {shown(repr(kinds), 60)}.",
            "Here all layers must have the same mask: the whole past, or one window.",
            "Open a model with such layers.",
        )
    if (kinds and kinds[0] == WHOLE) or (fields.says("sliding_window") and "sliding_window" not in fields):
        return 0
    return fields.whole("sliding_window", largest=RANGES["n_ctx"], default=default, least=min(default, 1))


def values(cfg: LlamaConfig) -> Mapping[str, Any] | None:
    """What a config.json of this kind says of the shape, None for a window, biases, norms of its heads or scaled embeddings."""
    return None if cfg.sliding_window or cfg.qkv_bias or cfg.qk_norm or cfg.scaled else said(cfg)


def said(cfg: LlamaConfig) -> dict[str, Any]:
    """What the configs of all kinds of this family say alike; exported weights are tied or not as the model's are."""
    stretched = {
        "rope_type": "llama3",
        **{theirs: getattr(cfg, ours) for theirs, ours in STRETCHED.items()},
    }
    return {
        **said_shape(cfg),
        "rope_theta": cfg.rope_base,
        "rope_scaling": stretched if cfg.rope_original else None,
    }


def said_shape(cfg: Any) -> dict[str, Any]:
    """The same without the rotary positions."""
    return {
        **{theirs[0]: getattr(cfg, ours) for ours, theirs in SIZES.items()},
        "num_key_value_heads": cfg.n_kv_heads,
        "head_dim": cfg.d_head,
        "hidden_act": named(ACTIVATIONS, cfg.activation),
        "rms_norm_eps": cfg.eps,
        "tie_word_embeddings": cfg.tied,
    }


def takes(cfg: Any) -> tuple[Take, ...]:
    """Every tensor of a model of this family, the body's without the prefix `model.`. Matrices are (out, in), as here."""
    table, tied = (cfg.n_vocab, cfg.d_model), cfg.tied and not cfg.headless
    return (
        Take("embed_tokens.weight", table, ("embed.token.weight",), again=HEAD if tied else ""),
        *(take for i in range(cfg.n_layers) for take in block(cfg, i)),
        Take("norm.weight", (cfg.d_model,), ("final_norm.weight",)),
        *(() if cfg.tied or cfg.headless else (Take(HEAD, table, ("to_logits.weight",)),)),
    )


def block(cfg: Any, i: int) -> tuple[Take, ...]:
    """The tensors of layer i."""
    theirs, ours, d, ff = f"layers.{i}", f"layers.{i}", cfg.d_model, cfg.d_ff
    wide = {"q": cfg.n_heads * cfg.d_head, "k": cfg.n_kv_heads * cfg.d_head, "v": cfg.n_kv_heads * cfg.d_head}
    maps = {
        **{f"self_attn.{part}_proj": (f"self_attn.to_{part}", (n, d)) for part, n in wide.items()},
        "self_attn.o_proj": ("self_attn.to_out", (d, wide["q"])),
        "mlp.gate_proj": ("ffn.to_gate", (ff, d)),
        "mlp.up_proj": ("ffn.to_hidden", (ff, d)),
        "mlp.down_proj": ("ffn.to_out", (d, ff)),
    }
    norms = {"input_layernorm": ("norm1", d), "post_attention_layernorm": ("norm2", d)}
    if cfg.qk_norm:
        norms |= {f"self_attn.{part}_norm": (f"self_attn.{part}_norm", cfg.d_head) for part in "qk"}
    biases = wide.items() if getattr(cfg, "qkv_bias", False) else ()
    return (
        *(Take(f"{theirs}.{a}.weight", shape, (f"{ours}.{b}.weight",)) for a, (b, shape) in maps.items()),
        *(Take(f"{theirs}.{a}.weight", (n,), (f"{ours}.{b}.weight",)) for a, (b, n) in norms.items()),
        *(
            Take(f"{theirs}.self_attn.{part}_proj.bias", (n,), (f"{ours}.self_attn.to_{part}.bias",))
            for part, n in biases
        ),
    )


FORMAT = Format(
    model_type="llama",
    architecture="Llama",
    family="llama",
    config=config,
    values=values,
    classes=lambda cfg: "LlamaModel" if cfg.headless else "LlamaForCausalLM",
    takes=takes,
    prefix="model.",
    passed=re.compile(r"layers\.\d+\.self_attn\.rotary_emb\.inv_freq|rotary_emb\.inv_freq"),
    heads=re.compile(r"(score|classifier|qa_outputs)\."),
    tasks=of_decoder("score"),
    wrapped="transformer.",
)
