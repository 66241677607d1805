"""GPT-1 folders in Hugging Face format (Radford et al. 2018): post-norm, tied output layer, no norm at the end."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

from core.checkpoints.foreign import Format
from core.checkpoints.foreign.gpt2 import block, common, output_layer, sizes
from core.checkpoints.safety.config_schema import Fields, named
from core.checkpoints.safety.load_plan import Take
from core.checkpoints.task_heads import of_decoder
from core.models.gpt import GPTConfig

ACTIVATIONS = {"gelu": "gelu_tanh", "relu": "relu"}
"""What this kind calls gelu is the tanh form."""


def config(fields: Fields, stored: Collection[str] = ()) -> GPTConfig:
    fields.absent(
        "n_inner", "The feed-forward network of this kind is always four times as wide as the model."
    )
    return sizes(fields, fields.one_of("afn", ACTIVATIONS, "gelu"), stored, order="post")


def values(cfg: GPTConfig) -> Mapping[str, Any] | None:
    """What a config.json of this kind says of the shape, None for one that it cannot say."""
    if cfg.order != "post" or cfg.d_ff != 4 * cfg.d_model or cfg.activation not in ACTIVATIONS.values():
        return None
    return {**common(cfg), "afn": named(ACTIVATIONS, cfg.activation)}


def takes(cfg: GPTConfig) -> tuple[Take, ...]:
    """Every tensor of a GPT-1, without the prefix `transformer.`."""
    return (
        Take(
            "tokens_embed.weight",
            (cfg.n_vocab, cfg.d_model),
            ("embed.token.weight",),
            again=output_layer(cfg),
        ),
        Take("positions_embed.weight", (cfg.n_ctx, cfg.d_model), ("embed.position.weight",)),
        *(take for i in range(cfg.n_layers) for take in block(cfg, i)),
    )


FORMAT = Format(
    model_type="openai-gpt",
    architecture="OpenAIGPT",
    family="gpt",
    config=config,
    values=values,
    classes=lambda cfg: "OpenAIGPTModel" if cfg.headless else "OpenAIGPTLMHeadModel",
    takes=takes,
    prefix="transformer.",
    passed=re.compile(r"h\.\d+\.attn\.bias|position_ids"),
    heads=re.compile(r"(score|multiple_choice_head)\."),
    tasks=of_decoder("classifier"),
)
