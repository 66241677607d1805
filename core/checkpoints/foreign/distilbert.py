"""DistilBERT folders in Hugging Face format (Sanh et al. 2019): BERT's arithmetic without segments and without a pooler."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from core.checkpoints.foreign import bert
from core.checkpoints.foreign.bert import linear, norm
from core.checkpoints.foreign.gpt2 import ACTIVATIONS
from core.checkpoints.safety.config_schema import Fields, built, named
from core.checkpoints.safety.load_plan import Take
from core.checkpoints.task_heads import CLASSES, POOLED, HeadSpec
from core.models.bert import BERTConfig

SIZES: Mapping[str, tuple[str, ...]] = {
    "n_layers": ("n_layers", "num_hidden_layers"),
    "n_heads": ("n_heads", "num_attention_heads"),
    "d_model": ("dim", "hidden_size"),
    "d_ff": ("hidden_dim", "intermediate_size"),
    "n_vocab": ("vocab_size",),
    "n_ctx": ("max_position_embeddings",),
}
"""What this kind calls the sizes: the name that is written, then others that are read. `hidden_dim` is the feed-forward's."""
WORDS, EPS = "vocab_", 1e-12


def config(fields: Fields, stored: Collection[str]) -> BERTConfig:
    """The shape, by DistilBERT's names; the eps of its norms stands in no config."""
    given = {"activation": fields.one_of("activation", ACTIVATIONS, "gelu"), "eps": EPS, "n_segments": 0}
    heads = {"masked_lm": any(name.startswith(WORDS) for name in stored), "pooler": False}
    return built(BERTConfig, {**fields.sizes(SIZES), **given, **heads, "next_sentence": False})


def values(cfg: BERTConfig) -> Mapping[str, Any] | None:
    """What a config.json of this kind says of the shape; None for what DistilBERT does not have."""
    if cfg.n_segments or cfg.pooler or cfg.first_place or cfg.eps != EPS:
        return None
    return {
        **{theirs[0]: getattr(cfg, ours) for ours, theirs in SIZES.items()},
        "activation": named(ACTIVATIONS, cfg.activation),
        "dropout": cfg.dropout,
        "attention_dropout": 0.0,
    }


def takes(cfg: BERTConfig) -> tuple[Take, ...]:
    """Every tensor of a DistilBERT, the body's without the prefix `distilbert.`. Matrices are (out, in), as here."""
    d, table = cfg.d_model, (cfg.n_vocab, cfg.d_model)
    again = f"{WORDS}projector.weight" if cfg.masked_lm else ""
    found = [
        Take("embeddings.word_embeddings.weight", table, ("embed.token.weight",), again=again),
        Take("embeddings.position_embeddings.weight", (cfg.n_ctx, d), ("embed.position.weight",)),
        *norm(d, "embeddings.LayerNorm", "embed.norm"),
        *(take for i in range(cfg.n_layers) for take in block(cfg, f"transformer.layer.{i}", f"layers.{i}")),
    ]
    if cfg.masked_lm:
        found += linear(f"{WORDS}transform", "masked_lm.to_hidden", d, d)
        found += norm(d, f"{WORDS}layer_norm", "masked_lm.norm")
        found.append(Take(f"{WORDS}projector.bias", (cfg.n_vocab,), ("masked_lm.bias",)))
    return tuple(found)


def block(cfg: BERTConfig, theirs: str, ours: str) -> list[Take]:
    """The tensors of one layer."""
    d, ff = cfg.d_model, cfg.d_ff
    return [
        *(
            take
            for part in ("q", "k", "v", "out")
            for take in linear(f"{theirs}.attention.{part}_lin", f"{ours}.self_attn.to_{part}", d, d)
        ),
        *norm(d, f"{theirs}.sa_layer_norm", f"{ours}.norm1"),
        *linear(f"{theirs}.ffn.lin1", f"{ours}.ffn.to_hidden", d, ff),
        *linear(f"{theirs}.ffn.lin2", f"{ours}.ffn.to_out", ff, d),
        *norm(d, f"{theirs}.output_layer_norm", f"{ours}.norm2"),
    ]


FORMAT = replace(
    bert.FORMAT,
    model_type="distilbert",
    architecture="DistilBert",
    prefix="distilbert.",
    outside=WORDS,
    endings={},
    heads=re.compile(r"(pre_classifier|classifier|qa_outputs)\."),
    tasks=POOLED | {CLASSES: HeadSpec("classifier", "first", "pre_classifier", "relu")},
    config=config,
    values=values,
    classes=lambda cfg: "DistilBertForMaskedLM" if cfg.masked_lm else "DistilBertModel",
    takes=takes,
)
