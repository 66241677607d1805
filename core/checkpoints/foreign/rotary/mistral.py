"""Mistral folders in Hugging Face format (Jiang et al. 2023): Llama's arithmetic through a sliding window."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from core.checkpoints.foreign.rotary import llama
from core.checkpoints.safety.config_schema import Fields
from core.models.rotary.llama import LlamaConfig


def config(fields: Fields, stored: Collection[str] = ()) -> LlamaConfig:
    """The shape; the window is 4,096 tokens where nothing is said, and none where null is."""
    return llama.shaped(
        {**llama.common(fields, stored), "sliding_window": llama.window(fields, default=4096)}
    )


def values(cfg: LlamaConfig) -> Mapping[str, Any] | None:
    """What a config.json of this kind says of the shape, None for one without a window, or with biases or norms of its heads."""
    if not cfg.sliding_window or cfg.qkv_bias or cfg.qk_norm or cfg.scaled:
        return None
    return {**llama.said(cfg), "sliding_window": cfg.sliding_window}


FORMAT = replace(
    llama.FORMAT,
    model_type="mistral",
    architecture="Mistral",
    telling="sliding_window",
    config=config,
    values=values,
    classes=lambda cfg: "MistralModel" if cfg.headless else "MistralForCausalLM",
)
