"""ALBERT folders in Hugging Face format (Lan et al. 2020): the body, and the heads that are stored with it."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

from core.checkpoints.foreign import Format
from core.checkpoints.foreign.bert import SIZES, linear, norm
from core.checkpoints.foreign.gpt2 import ACTIVATIONS
from core.checkpoints.safety.config_schema import Fields, built, named
from core.checkpoints.safety.load_plan import Take
from core.checkpoints.task_heads import POOLED
from core.models.albert import ALBERTConfig

OWN: Mapping[str, tuple[str, ...]] = {**SIZES, "d_embed": ("embedding_size",)}
WORDS, POOLER, ORDER = "predictions.", "pooler", "sop_classifier.classifier"
"""How the names of each head begin. A head is there if any part of it is; then all of it must be."""


def config(fields: Fields, stored: Collection[str]) -> ALBERTConfig:
    """The shape, by ALBERT's names; which heads there are, by what is stored.

    One group of layers shares all its weights, as many groups as layers share none; what lies between is refused.
    """
    fields.only(
        "position_embedding_type",
        "absolute",
        "Only learned absolute positions are implemented for this kind.",
    )
    fields.only("inner_group_num", 1, "A group of several layers that are different is not implemented.")
    sizes = fields.sizes(OWN)
    groups = fields.whole("num_hidden_groups", largest=sizes["n_layers"], default=1)
    if groups not in (1, sizes["n_layers"]):
        fields.only("num_hidden_groups", 1, "All layers share their weights here, or none does.")
    masked_lm, pooler, order = (
        any(name.startswith(head) for name in stored) for head in (WORDS, POOLER, ORDER)
    )
    return built(
        ALBERTConfig,
        {
            **sizes,
            "shared": "all" if groups == 1 else "none",
            "activation": fields.one_of("hidden_act", ACTIVATIONS, "gelu_new"),
            "eps": fields.small("layer_norm_eps", 1e-12),
            "masked_lm": masked_lm,
            "pooler": pooler or order,
            "sentence_order": order,
        },
    )


def values(cfg: ALBERTConfig) -> Mapping[str, Any] | None:
    """What a config.json of this kind says of the shape; it cannot say that only one sub-layer is shared."""
    if cfg.shared not in ("all", "none"):
        return None
    return {
        **{theirs[0]: getattr(cfg, ours) for ours, theirs in OWN.items()},
        "num_hidden_groups": _groups(cfg),
        "inner_group_num": 1,
        "hidden_act": named(ACTIVATIONS, cfg.activation),
        "layer_norm_eps": cfg.eps,
        "hidden_dropout_prob": cfg.dropout,
        "attention_probs_dropout_prob": 0.0,
    }


def classes(cfg: ALBERTConfig) -> str:
    """The class of the transformers library that has these heads."""
    if cfg.masked_lm:
        return "AlbertForPreTraining" if cfg.sentence_order else "AlbertForMaskedLM"
    return "AlbertModel"


def takes(cfg: ALBERTConfig) -> tuple[Take, ...]:
    """Every tensor of an ALBERT, the body's without the prefix `albert.`. Matrices are (out, in), as here."""
    d, e = cfg.d_model, cfg.d_embed
    words = Take(
        "embeddings.word_embeddings.weight",
        (cfg.n_vocab, e),
        ("embed.token.weight",),
        again=f"{WORDS}decoder.weight" if cfg.masked_lm else "",
    )
    found = [
        words,
        Take("embeddings.position_embeddings.weight", (cfg.n_ctx, e), ("embed.position.weight",)),
        Take("embeddings.token_type_embeddings.weight", (cfg.n_segments, e), ("embed.segment.weight",)),
        *norm(e, "embeddings.LayerNorm", "embed.norm"),
        *linear("encoder.embedding_hidden_mapping_in", "embed.to_model", e, d),
        *(take for group in range(_groups(cfg)) for take in layer(cfg, group)),
    ]
    if cfg.masked_lm:
        found += linear(f"{WORDS}dense", "masked_lm.to_hidden", d, e)
        found += norm(e, f"{WORDS}LayerNorm", "masked_lm.norm")
        found.append(Take(f"{WORDS}bias", (cfg.n_vocab,), ("masked_lm.bias",), again=f"{WORDS}decoder.bias"))
    if cfg.pooler:
        found += linear(POOLER, "pooler", d, d)
    if cfg.sentence_order:
        found += linear(ORDER, "to_sentence_order", d, 2)
    return tuple(found)


def layer(cfg: ALBERTConfig, group: int) -> list[Take]:
    """The tensors of one group of layers, which are one layer's."""
    theirs, ours = f"encoder.albert_layer_groups.{group}.albert_layers.0", f"layers.{group}"
    d, ff = cfg.d_model, cfg.d_ff
    parts = {"query": "to_q", "key": "to_k", "value": "to_v", "dense": "to_out"}
    return [
        *(
            take
            for part, to in parts.items()
            for take in linear(f"{theirs}.attention.{part}", f"{ours}.self_attn.{to}", d, d)
        ),
        *norm(d, f"{theirs}.attention.LayerNorm", f"{ours}.norm1"),
        *linear(f"{theirs}.ffn", f"{ours}.ffn.to_hidden", d, ff),
        *linear(f"{theirs}.ffn_output", f"{ours}.ffn.to_out", ff, d),
        *norm(d, f"{theirs}.full_layer_layer_norm", f"{ours}.norm2"),
    ]


def _groups(cfg: ALBERTConfig) -> int:
    return 1 if cfg.shared == "all" else cfg.n_layers


FORMAT = Format(
    model_type="albert",
    architecture="Albert",
    family="albert",
    marks={"start": "[CLS]", "end": "[SEP]", "pad": "<pad> or [PAD]", "mask": "[MASK]"},
    prefix="albert.",
    outside=(WORDS, "sop_classifier."),
    passed=re.compile(r"embeddings\.(position_ids|token_type_ids)"),
    heads=re.compile(r"(classifier|qa_outputs)\."),
    tasks=POOLED,
    config=config,
    values=values,
    classes=classes,
    takes=takes,
)
