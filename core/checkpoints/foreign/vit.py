"""ViT (Dosovitskiy et al. 2021) and DeiT (Touvron et al. 2021), with their heads for classes.

A DeiT has a distillation token after the class token, and may have a head for each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from core.checkpoints.files import printable
from core.checkpoints.foreign import keys, tensors
from core.checkpoints.foreign.bert import DROPS, EPS, FEED_FORWARD, GELU
from core.checkpoints.foreign.keys import Field, Values
from core.checkpoints.foreign.table import Format, kin
from core.checkpoints.safety.config_schema import Fields, wrong_value
from core.data import patches
from core.errors import InputError
from core.layers.config_checks import LONGEST_NAME
from core.models.vit import ViTConfig
from core.wording import mark

UNNAMED = {"0": "LABEL_0", "1": "LABEL_1"}
"""The classes of a config that names none: the library leaves out two of these names."""
MOST_CLASSES = 2**16


def _check_head(fields: Fields, values: Values) -> Values:
    if not values["headed"]:
        raise InputError(
            "This model was saved without its head for classes.",
            "Here the output of such a model is shown by its classes.",
            "Open one with such a head, like google/vit-base-patch16-224.",
        )
    return {}


def _classes(names: Any) -> Sequence[str]:
    """Return the labels in the order of the scores, with the number where a label is long or not the only one."""
    names = UNNAMED if names is None else names
    number = len(names) if isinstance(names, dict) else 0
    labels = [str(names.get(str(i), "")) for i in range(number)] if number <= MOST_CLASSES else []
    if not labels or not all(isinstance(names.get(str(i)), str) for i in range(number)):
        rule = mark("It names the classes 0, 1, 2 and so on, of which there are at most {most:,}.")
        raise wrong_value("id2label", names, rule, most=MOST_CLASSES)
    short = [printable(label.strip(), LONGEST_NAME - 8) for label in labels]
    repeated = {name for name in short if short.count(name) > 1} if len(set(short)) < number else set[str]()
    return tuple(f"{name} {i}" if name in repeated or not name else name for i, name in enumerate(short))


LAYERS = tensors.layers(
    "encoder.layer",
    tensors.attention("attention.{}", "attention.query attention.key attention.value output.dense"),
    FEED_FORWARD,
    prefix="encoder",
    norm1="layernorm_before",
    norm2="layernorm_after",
)
ONE = tensors.make_row("embed.token.class_token", shape=lambda cfg: (1, 1, cfg.d_model))
BODY = {
    "embeddings.cls_token": ONE,
    "embeddings.distillation_token": replace(ONE, into=("embed.token.distillation_token",)),
    "embeddings.position_embeddings": tensors.make_row(
        "embed.position.weight", shape=lambda cfg: (1, cfg.n_ctx, cfg.d_model)
    ),
    "embeddings.patch_embeddings.projection.weight": tensors.make_row(
        "embed.token.project.weight", shape=lambda cfg: (cfg.d_model, cfg.channels, cfg.patch, cfg.patch)
    ),
    "embeddings.patch_embeddings.projection.bias": "embed.token.project.bias",
    **LAYERS,
    "layernorm": "encoder_norm",
    "distillation_classifier": "to_distilled",
}


def _weights(cfg: ViTConfig) -> tensors.Weights:
    return {**BODY, "cls_classifier" if cfg.two_heads else "classifier": "to_classes"}


VIT = Format(
    model_type="vit",
    example="google/vit-base-patch16-224",
    summary="a doodle with larger pixels (from −1 to 1, whatever the folder says of brightness) as patches and a class token; a classification head; sizes that are multiples of 28",
    architecture="ViT",
    config=ViTConfig,
    fields=(
        Field(read=_check_head),
        keys.only(qkv_bias=True),
        *keys.size_fields(
            omit="n_vocab n_ctx", image="image_size", patch="patch_size", channels="num_channels"
        ),
        GELU,
        EPS,
        DROPS,
        Field(
            read=lambda fields, values: {"classes": _classes(fields.raw("id2label"))},
            write=lambda cfg: {
                "id2label": {str(i): name for i, name in enumerate(cfg.classes)},
                "label2id": {name: i for i, name in enumerate(cfg.classes)},
            },
        ),
    ),
    stored={"headed": ("classifier",)},
    weights=_weights,
    prefix="vit.",
    output="",
    outside="classifier.",
    classes=lambda cfg: "ViTForImageClassification",
    tokenizer=lambda cfg: patches.patch_tokenizer(cfg.side),
)
DEIT = kin(
    VIT,
    "deit",
    "facebook/deit-base-distilled-patch16-224",
    "ViT with a distillation token after the class token; the logits of both heads, and their mean",
    architecture="DeiT",
    fixed={"distilled": True},
    stored={"headed": ("classifier", "cls_classifier"), "two_heads": ("distillation_classifier",)},
    prefix="deit.",
    outside=("classifier.", "cls_classifier.", "distillation_classifier."),
    classes=lambda cfg: f"DeiTForImageClassification{'WithTeacher' if cfg.two_heads else ''}",
    tokenizer=lambda cfg: patches.patch_tokenizer(cfg.side, cfg.first),
)
