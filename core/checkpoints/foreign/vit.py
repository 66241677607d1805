"""ViT folders in Hugging Face format (Dosovitskiy et al. 2021), with the head that tells classes: google/vit-base-patch16-224."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from core.checkpoints.files import shown
from core.checkpoints.foreign import Format
from core.checkpoints.foreign.bert import linear, norm
from core.checkpoints.foreign.gpt2 import ACTIVATIONS
from core.checkpoints.safety.config_schema import Fields, built, named
from core.checkpoints.safety.load_plan import Take
from core.data import patches
from core.errors import InputError
from core.layers.config_checks import LONGEST_NAME
from core.models.vit import ViTConfig

SIZES: Mapping[str, tuple[str, ...]] = {
    "n_layers": ("num_hidden_layers",),
    "n_heads": ("num_attention_heads",),
    "d_model": ("hidden_size",),
    "d_ff": ("intermediate_size",),
    "image": ("image_size",),
    "patch": ("patch_size",),
    "channels": ("num_channels",),
}
HEAD = "classifier"
UNNAMED = {"0": "LABEL_0", "1": "LABEL_1"}
"""The classes of a config that names none: the library leaves out two of these names."""
MOST_CLASSES = 2**16


def config(fields: Fields, stored: Collection[str]) -> ViTConfig:
    """The shape, and the names of the classes."""
    return built(ViTConfig, shape(fields, stored, "ViT", "google/vit-base-patch16-224"))


def shape(fields: Fields, stored: Collection[str], called: str, like: str) -> dict[str, Any]:
    """What the configs of ViT and DeiT have in common."""
    fields.only(
        "qkv_bias", True, "Queries, keys and values without a bias are not implemented for this kind."
    )
    if not any(HEAD in name for name in stored):
        raise InputError(
            f"This {called} was saved without its head for classes.",
            "Here the output of such a model is shown by its classes.",
            f"Open one with such a head, like {like}.",
        )
    return {
        **fields.sizes(SIZES),
        "activation": fields.one_of("hidden_act", ACTIVATIONS, "gelu"),
        "eps": fields.small("layer_norm_eps", 1e-12),
        "classes": _classes(fields.raw("id2label") if "id2label" in fields else UNNAMED),
    }


def _classes(given: Any) -> Sequence[str]:
    """The labels in the order of the scores; the number is added where a label is long, or stands there twice."""
    number = len(given) if isinstance(given, dict) else 0
    labels = [str(given.get(str(i), "")) for i in range(number)] if number <= MOST_CLASSES else []
    if not labels or not all(isinstance(given.get(str(i)), str) for i in range(number)):
        raise InputError(
            "config.json: id2label does not name the classes 0, 1, 2 and so on.",
            f"It gives each class a name, and there are at most {MOST_CLASSES:,}.",
            "Correct it, or download the model again.",
        )
    short = [shown(label.strip(), LONGEST_NAME - 8) for label in labels]
    again = {name for name in short if short.count(name) > 1} if len(set(short)) < number else set[str]()
    return tuple(f"{name} {i}" if name in again or not name else name for i, name in enumerate(short))


def values(cfg: ViTConfig) -> Mapping[str, Any] | None:
    """What a config.json of this kind says of the shape; None for DeiT's second token."""
    return None if cfg.distilled else said(cfg)


def said(cfg: ViTConfig) -> dict[str, Any]:
    """What the configs of ViT and DeiT say alike."""
    return {
        **{theirs[0]: getattr(cfg, ours) for ours, theirs in SIZES.items()},
        "hidden_act": named(ACTIVATIONS, cfg.activation),
        "layer_norm_eps": cfg.eps,
        "hidden_dropout_prob": cfg.dropout,
        "attention_probs_dropout_prob": 0.0,
        "qkv_bias": True,
        "id2label": {str(i): name for i, name in enumerate(cfg.classes)},
        "label2id": {name: i for i, name in enumerate(cfg.classes)},
    }


def takes(cfg: ViTConfig) -> tuple[Take, ...]:
    """Every tensor of a ViT, the body's without the prefix `vit.`."""
    return (*body(cfg), *linear(HEAD, "to_classes", cfg.d_model, len(cfg.classes)))


def body(cfg: ViTConfig) -> tuple[Take, ...]:
    """Every tensor but those of the head: that of the patches is a convolution's."""
    d = cfg.d_model
    found = [
        Take("embeddings.cls_token", (1, 1, d), ("embed.token.class_token",), ours=(d,)),
        Take(
            "embeddings.position_embeddings",
            (1, cfg.n_ctx, d),
            ("embed.position.weight",),
            ours=(cfg.n_ctx, d),
        ),
        Take(
            "embeddings.patch_embeddings.projection.weight",
            (d, cfg.channels, cfg.patch, cfg.patch),
            ("embed.token.project.weight",),
            ours=(d, cfg.n_numbers),
        ),
        Take("embeddings.patch_embeddings.projection.bias", (d,), ("embed.token.project.bias",)),
        *(take for i in range(cfg.n_layers) for take in block(cfg, f"encoder.layer.{i}", f"encoder.{i}")),
        *norm(d, "layernorm", "encoder_norm"),
    ]
    return tuple(found)


def block(cfg: Any, theirs: str, ours: str) -> list[Take]:
    """The tensors of one layer."""
    d, ff = cfg.d_model, cfg.d_ff
    parts = {"query": "to_q", "key": "to_k", "value": "to_v"}
    return [
        *(
            take
            for part, to in parts.items()
            for take in linear(f"{theirs}.attention.attention.{part}", f"{ours}.self_attn.{to}", d, d)
        ),
        *linear(f"{theirs}.attention.output.dense", f"{ours}.self_attn.to_out", d, d),
        *norm(d, f"{theirs}.layernorm_before", f"{ours}.norm1"),
        *linear(f"{theirs}.intermediate.dense", f"{ours}.ffn.to_hidden", d, ff),
        *linear(f"{theirs}.output.dense", f"{ours}.ffn.to_out", ff, d),
        *norm(d, f"{theirs}.layernorm_after", f"{ours}.norm2"),
    ]


FORMAT = Format(
    model_type="vit",
    architecture="ViT",
    family="vit",
    prefix="vit.",
    outside=f"{HEAD}.",
    heads=re.compile(r"pooler\."),
    config=config,
    values=values,
    classes=lambda cfg: "ViTForImageClassification",
    takes=takes,
    tokenizer=lambda cfg: patches.named(cfg.side),
)
