"""BART folders in Hugging Face format (Lewis et al. 2020): post-norm, learned positions from a later row, embeddings normed."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from core.checkpoints.foreign import marian
from core.checkpoints.foreign.bert import norm
from core.checkpoints.safety.config_schema import Fields, built
from core.checkpoints.safety.load_plan import Take
from core.checkpoints.task_heads import TWO_STACKS
from core.models.transformer import TransformerConfig

FIRST = 2
"""The row of the position tables that the first token reads, whatever the number of the padding is."""


def config(fields: Fields, stored: Collection[str]) -> TransformerConfig:
    """The shape, by BART's names, which are Marian's."""
    fields.only("normalize_embedding", True, "The embeddings of this kind are normed.")
    fields.only("static_position_embeddings", False, "Positions of this kind are learned.")
    own = {"positions": "learned", "first_place": FIRST, "embed_norm": True}
    return built(TransformerConfig, {**marian.shape(fields, stored), **own})


def values(cfg: TransformerConfig) -> Mapping[str, Any] | None:
    """What a config.json of this kind says of the shape; None for what BART does not have."""
    if cfg.positions != "learned" or not cfg.embed_norm or cfg.first_place != FIRST:
        return None
    return marian.said(cfg)


def takes(cfg: TransformerConfig) -> tuple[Take, ...]:
    """Marian's tensors, and of each side a table of positions and a norm."""
    table = (FIRST + cfg.n_ctx, cfg.d_model)
    found = list(marian.takes(cfg))
    for side, ours in (("encoder", "source_embed"), ("decoder", "embed")):
        found.append(Take(f"{side}.embed_positions.weight", table, (f"{ours}.position.weight",)))
        found += norm(cfg.d_model, f"{side}.layernorm_embedding", f"{ours}.norm")
    return tuple(found)


FORMAT = replace(
    marian.FORMAT,
    model_type="bart",
    architecture="Bart",
    passed=re.compile(r"(encoder|decoder)\.version"),
    heads=re.compile(r"(classification_head|qa_outputs)\."),
    tasks=TWO_STACKS,
    config=config,
    values=values,
    classes=lambda _: "BartForConditionalGeneration",
    takes=takes,
)
