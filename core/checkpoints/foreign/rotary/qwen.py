"""Qwen2, Qwen2.5 and Qwen3 folders in Hugging Face format (Yang et al. 2024, 2025): Llama's arithmetic with biases on queries, keys and
values, or from Qwen3 on with a norm on each head's queries and keys."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from core.checkpoints.foreign.rotary import llama
from core.checkpoints.safety.config_schema import Fields
from core.models.rotary.llama import LlamaConfig


def with_biases(fields: Fields, stored: Collection[str] = ()) -> LlamaConfig:
    """The shape of a Qwen2; a window only where the config asks for one."""
    return llama.shaped({**llama.common(fields, stored), "sliding_window": sliding(fields), "qkv_bias": True})


def sliding(fields: Fields) -> int:
    """The window, 0 where none is asked for; in old configs the layers from `max_window_layers` on have it."""
    if not fields.flag("use_sliding_window", False):
        return 0
    if "layer_types" not in fields:
        fields.only(
            "max_window_layers", 0, "All layers look alike here, so the window is for all or for none."
        )
    return llama.window(fields)


def said_with_biases(cfg: LlamaConfig) -> Mapping[str, Any] | None:
    """What a config.json of this kind says of the shape, None for one without those biases."""
    if not cfg.qkv_bias or cfg.qk_norm or cfg.scaled:
        return None
    return said(cfg)


def said(cfg: LlamaConfig) -> dict[str, Any]:
    """What the configs of both kinds of Qwen say: Llama's, and whether all layers have a window."""
    slides = cfg.sliding_window > 0
    window = {
        "use_sliding_window": slides,
        "sliding_window": cfg.sliding_window or None,
        "layer_types": [llama.SLIDING if slides else llama.WHOLE] * cfg.n_layers,
    }
    return {**llama.said(cfg), **window}


def with_norms(fields: Fields, stored: Collection[str] = ()) -> LlamaConfig:
    """The shape of a Qwen3; heads may be wider or narrower than their share of the width."""
    fields.only(
        "attention_bias", False, "Biases on queries, keys, values and the output are not implemented."
    )
    return llama.shaped({**llama.common(fields, stored), "sliding_window": sliding(fields), "qk_norm": True})


def said_with_norms(cfg: LlamaConfig) -> Mapping[str, Any] | None:
    """What a config.json of this kind says of the shape, None for one without those norms."""
    if not cfg.qk_norm or cfg.qkv_bias or cfg.scaled:
        return None
    return said(cfg)


QWEN2 = replace(
    llama.FORMAT,
    model_type="qwen2",
    architecture="Qwen2",
    config=with_biases,
    values=said_with_biases,
    classes=lambda cfg: "Qwen2Model" if cfg.headless else "Qwen2ForCausalLM",
)
QWEN3 = replace(
    llama.FORMAT,
    model_type="qwen3",
    architecture="Qwen3",
    config=with_norms,
    values=said_with_norms,
    classes=lambda cfg: "Qwen3Model" if cfg.headless else "Qwen3ForCausalLM",
)
FORMATS = (QWEN2, QWEN3)
