"""BERT folders in Hugging Face format (Devlin et al. 2019): the body, and the heads that are stored with it."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

from core.checkpoints.foreign import Format
from core.checkpoints.foreign.gpt2 import ACTIVATIONS
from core.checkpoints.safety.config_schema import Fields, built, named
from core.checkpoints.safety.load_plan import Take
from core.checkpoints.task_heads import POOLED
from core.models.bert import BERTConfig

SIZES: Mapping[str, tuple[str, ...]] = {
    "n_layers": ("num_hidden_layers",),
    "n_heads": ("num_attention_heads",),
    "d_model": ("hidden_size",),
    "d_ff": ("intermediate_size",),
    "n_vocab": ("vocab_size",),
    "n_ctx": ("max_position_embeddings",),
    "n_segments": ("type_vocab_size",),
}
WORDS, POOLER, NEXT = "cls.predictions.", "pooler.", "cls.seq_relationship."
"""How the names of each head begin. A head is there if any part of it is; then all of it must be."""


def config(fields: Fields, stored: Collection[str]) -> BERTConfig:
    """The shape, by BERT's names; which heads there are, by what is stored."""
    masked_lm, pooler, next_sentence = (
        any(name.startswith(head) for name in stored) for head in (WORDS, POOLER, NEXT)
    )
    heads = {"masked_lm": masked_lm, "pooler": pooler or next_sentence, "next_sentence": next_sentence}
    return built(BERTConfig, {**shape(fields), **heads})


def shape(fields: Fields) -> dict[str, Any]:
    """What the configs of all kinds with BERT's layers say of their shape."""
    fields.only(
        "position_embedding_type",
        "absolute",
        "Only learned absolute positions are implemented for this kind.",
    )
    fields.only("is_decoder", False, "A model that sees only what came before is not implemented here.")
    return {
        **fields.sizes(SIZES),
        "activation": fields.one_of("hidden_act", ACTIVATIONS, "gelu"),
        "eps": fields.small("layer_norm_eps", 1e-12),
    }


def values(cfg: BERTConfig) -> Mapping[str, Any] | None:
    """What a config.json of this kind says of the shape; None without segments, or with positions from a later row."""
    return said(cfg) if cfg.n_segments and not cfg.first_place else None


def said(cfg: BERTConfig) -> dict[str, Any]:
    """What the configs of all kinds with BERT's layers say alike."""
    return {
        **{theirs[0]: getattr(cfg, ours) for ours, theirs in SIZES.items()},
        "hidden_act": named(ACTIVATIONS, cfg.activation),
        "layer_norm_eps": cfg.eps,
        "hidden_dropout_prob": cfg.dropout,
        "attention_probs_dropout_prob": 0.0,
    }


def classes(cfg: BERTConfig) -> str:
    """The class of the transformers library that has these heads."""
    if cfg.masked_lm:
        return "BertForPreTraining" if cfg.next_sentence else "BertForMaskedLM"
    return "BertForNextSentencePrediction" if cfg.next_sentence else "BertModel"


def takes(cfg: BERTConfig) -> tuple[Take, ...]:
    """Every tensor of a BERT, the body's without the prefix `bert.`. Matrices are (out, in), as here."""
    d, words = cfg.d_model, (cfg.n_vocab, cfg.d_model)
    found = [
        Take(
            "embeddings.word_embeddings.weight",
            words,
            ("embed.token.weight",),
            again=f"{WORDS}decoder.weight" if cfg.masked_lm else "",
        ),
        Take(
            "embeddings.position_embeddings.weight",
            (cfg.first_place + cfg.n_ctx, d),
            ("embed.position.weight",),
        ),
        Take("embeddings.token_type_embeddings.weight", (cfg.n_segments, d), ("embed.segment.weight",)),
        *norm(d, "embeddings.LayerNorm", "embed.norm"),
        *(take for i in range(cfg.n_layers) for take in block(cfg, f"encoder.layer.{i}", f"layers.{i}")),
    ]
    if cfg.masked_lm:
        found += linear(f"{WORDS}transform.dense", "masked_lm.to_hidden", d, d)
        found += norm(d, f"{WORDS}transform.LayerNorm", "masked_lm.norm")
        found.append(Take(f"{WORDS}bias", (cfg.n_vocab,), ("masked_lm.bias",), again=f"{WORDS}decoder.bias"))
    if cfg.pooler:
        found += linear(f"{POOLER}dense", "pooler", d, d)
    if cfg.next_sentence:
        found += linear(NEXT.removesuffix("."), "to_next_sentence", d, 2)
    return tuple(found)


def block(cfg: Any, theirs: str, ours: str) -> list[Take]:
    """The tensors of one layer."""
    d, ff = cfg.d_model, cfg.d_ff
    parts = {"query": "to_q", "key": "to_k", "value": "to_v"}
    return [
        *(
            take
            for part, to in parts.items()
            for take in linear(f"{theirs}.attention.self.{part}", f"{ours}.self_attn.{to}", d, d)
        ),
        *linear(f"{theirs}.attention.output.dense", f"{ours}.self_attn.to_out", d, d),
        *norm(d, f"{theirs}.attention.output.LayerNorm", f"{ours}.norm1"),
        *linear(f"{theirs}.intermediate.dense", f"{ours}.ffn.to_hidden", d, ff),
        *linear(f"{theirs}.output.dense", f"{ours}.ffn.to_out", ff, d),
        *norm(d, f"{theirs}.output.LayerNorm", f"{ours}.norm2"),
    ]


def linear(theirs: str, ours: str, n_in: int, n_out: int) -> list[Take]:
    shapes = {"weight": (n_out, n_in), "bias": (n_out,)}
    return [Take(f"{theirs}.{name}", shape, (f"{ours}.{name}",)) for name, shape in shapes.items()]


def norm(width: int, theirs: str, ours: str) -> list[Take]:
    return [Take(f"{theirs}.{name}", (width,), (f"{ours}.{name}",)) for name in ("weight", "bias")]


FORMAT = Format(
    model_type="bert",
    architecture="Bert",
    family="bert",
    marks={
        "start": "[CLS] or <s>",
        "end": "[SEP] or </s>",
        "pad": "[PAD] or <pad>",
        "mask": "[MASK] or <mask>",
    },
    prefix="bert.",
    outside="cls.",
    endings={"LayerNorm.gamma": "LayerNorm.weight", "LayerNorm.beta": "LayerNorm.bias"},
    passed=re.compile(r"embeddings\.(position_ids|token_type_ids)"),
    heads=re.compile(r"(classifier|qa_outputs)\."),
    tasks=POOLED,
    config=config,
    values=values,
    classes=classes,
    takes=takes,
)
