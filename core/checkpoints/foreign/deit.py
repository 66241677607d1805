"""DeiT folders in Hugging Face format (Touvron et al. 2021): a ViT with a distillation token behind the class token."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from core.checkpoints.foreign import vit
from core.checkpoints.foreign.bert import linear
from core.checkpoints.safety.config_schema import Fields, built
from core.checkpoints.safety.load_plan import Take
from core.data import patches
from core.models.vit import ViTConfig

OWN, TEACHERS = "cls_classifier", "distillation_classifier"
"""The heads of a model that was saved with both."""


def config(fields: Fields, stored: Collection[str]) -> ViTConfig:
    """The shape, by ViT's names, and whether the distillation token has a head of its own."""
    given = vit.shape(fields, stored, "DeiT", "facebook/deit-base-distilled-patch16-224")
    both = any(name.startswith(TEACHERS) for name in stored)
    return built(ViTConfig, {**given, "distilled": True, "two_heads": both})


def values(cfg: ViTConfig) -> Mapping[str, Any] | None:
    """What a config.json of this kind says of the shape; None for a ViT without the second token."""
    return vit.said(cfg) if cfg.distilled else None


def takes(cfg: ViTConfig) -> tuple[Take, ...]:
    """Every tensor of a DeiT, the body's without the prefix `deit.`."""
    d, classes = cfg.d_model, len(cfg.classes)
    token = Take("embeddings.distillation_token", (1, 1, d), ("embed.token.distillation_token",), ours=(d,))
    if not cfg.two_heads:
        return (*vit.body(cfg), token, *linear(vit.HEAD, "to_classes", d, classes))
    heads = (*linear(OWN, "to_classes", d, classes), *linear(TEACHERS, "to_distilled", d, classes))
    return (*vit.body(cfg), token, *heads)


FORMAT = replace(
    vit.FORMAT,
    model_type="deit",
    architecture="DeiT",
    prefix="deit.",
    outside=(f"{vit.HEAD}.", f"{OWN}.", f"{TEACHERS}."),
    config=config,
    values=values,
    classes=lambda cfg: f"DeiTForImageClassification{'WithTeacher' if cfg.two_heads else ''}",
    takes=takes,
    tokenizer=lambda cfg: patches.named(cfg.side, cfg.first),
)
