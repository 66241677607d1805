"""Gemma folders in Hugging Face format (Gemma Team 2024): Llama's arithmetic with scaled embeddings; norms store their gain less 1."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any

from core.checkpoints.foreign.rotary import llama
from core.checkpoints.safety.config_schema import Fields
from core.checkpoints.safety.load_plan import Take
from core.models.rotary.llama import LlamaConfig

GELU = "gelu_pytorch_tanh"


def config(fields: Fields, stored: Collection[str] = ()) -> LlamaConfig:
    """The shape. What `hidden_activation` says of newer files goes before `hidden_act`; both are the tanh form of GELU."""
    check(fields)
    tied = fields.flag("tie_word_embeddings", True)
    given = llama.common(fields.without("hidden_act"), stored)
    return llama.shaped({**given, "activation": "gelu_tanh", "tied": tied, "scaled": True})


def check(fields: Fields) -> None:
    """What no Gemma here computes otherwise."""
    fields.only(
        "attention_bias", False, "Biases on queries, keys, values and the output are not implemented."
    )
    fields.only(
        "use_bidirectional_attention", False, "A Gemma that looks at what comes after is not implemented."
    )
    fields.only("hidden_activation", GELU, "The feed-forward network of this kind has the tanh form of GELU.")
    if "hidden_activation" not in fields:
        fields.only("hidden_act", GELU, "The feed-forward network of this kind has the tanh form of GELU.")


def values(cfg: LlamaConfig) -> Mapping[str, Any] | None:
    """What a config.json of this kind says of the shape, None for another activation, a window, biases or norms of its heads."""
    if not cfg.scaled or cfg.activation != "gelu_tanh" or cfg.sliding_window or cfg.qkv_bias or cfg.qk_norm:
        return None
    return {**llama.said(cfg), "hidden_act": GELU, "hidden_activation": GELU}


def takes(cfg: LlamaConfig) -> tuple[Take, ...]:
    """Llama's tensors; to the gain of each norm 1 is added."""
    return gains(llama.takes(cfg))


def gains(found: Iterable[Take]) -> tuple[Take, ...]:
    """The same with 1 added to the gain of each norm."""
    return tuple(replace(take, plus=1.0) if take.name.endswith("norm.weight") else take for take in found)


FORMAT = replace(
    llama.FORMAT,
    model_type="gemma",
    architecture="Gemma",
    telling="hidden_activation",
    config=config,
    values=values,
    classes=lambda cfg: "GemmaModel" if cfg.headless else "GemmaForCausalLM",
    takes=takes,
)
