"""Qwen3 folders in Hugging Face format (Yang et al. 2025): Llama's arithmetic with a norm on each head's queries and keys."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from core.checkpoints.foreign import llama, qwen2
from core.checkpoints.safety.config_schema import Fields
from core.models.llama import LlamaConfig


def config(fields: Fields, stored: Collection[str] = ()) -> LlamaConfig:
    """The shape; heads may be wider or narrower than their share of the width."""
    fields.only(
        "attention_bias", False, "Biases on queries, keys, values and the output are not implemented."
    )
    return llama.shaped({**llama.common(fields), "sliding_window": qwen2.sliding(fields), "qk_norm": True})


def values(cfg: LlamaConfig) -> Mapping[str, Any] | None:
    """What a config.json of this kind says of the shape, None for one without those norms."""
    if not cfg.qk_norm or cfg.qkv_bias or cfg.scaled:
        return None
    return qwen2.said(cfg)


FORMAT = replace(
    llama.FORMAT,
    model_type="qwen3",
    architecture="Qwen3",
    config=config,
    values=values,
    classes=lambda _: "Qwen3ForCausalLM",
)
