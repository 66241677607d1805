"""ELECTRA folders in Hugging Face format (Clark et al. 2020): BERT's layers, with embeddings that may be narrower.

Where they are as wide as the layers it is a BERT, otherwise an ALBERT that shares nothing, and written as these. The head that
tells replaced tokens from others is stored with a discriminator and not read.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from core.checkpoints.foreign import bert
from core.checkpoints.foreign.bert import linear, norm
from core.checkpoints.safety.config_schema import RANGES, Fields, built
from core.checkpoints.safety.load_plan import Take
from core.checkpoints.task_heads import two_maps
from core.models.albert import ALBERTConfig
from core.models.bert import BERTConfig

WORDS, TABLE = "generator_predictions.", "generator_lm_head."


def config(fields: Fields, stored: Collection[str]) -> BERTConfig | ALBERTConfig:
    """The shape, by BERT's names and the width of the embeddings; whether there is a head for hidden words, by what is stored."""
    given = bert.shape(fields)
    narrow = fields.whole("embedding_size", largest=RANGES["d_embed"], default=given["d_model"])
    masked_lm = any(name.startswith((WORDS, TABLE)) for name in stored)
    if masked_lm:
        fields.only("hidden_act", "gelu", "The head for hidden words of this kind has the exact GELU.")
    heads = {"masked_lm": masked_lm, "pooler": False}
    if narrow == given["d_model"]:
        return built(BERTConfig, {**given, **heads, "next_sentence": False})
    own = {"d_embed": narrow, "shared": "none", "sentence_order": False}
    return built(ALBERTConfig, {**given, **heads, **own})


def values(cfg: BERTConfig | ALBERTConfig) -> Mapping[str, Any] | None:
    """Nothing: such a model is written as the BERT or the ALBERT that it is."""
    return None


def takes(cfg: BERTConfig | ALBERTConfig) -> tuple[Take, ...]:
    """Every tensor of an ELECTRA, the body's without the prefix `electra.`. Matrices are (out, in), as here."""
    d, e = cfg.d_model, getattr(cfg, "d_embed", cfg.d_model)
    again = f"{TABLE}weight" if cfg.masked_lm else ""
    found = [
        Take("embeddings.word_embeddings.weight", (cfg.n_vocab, e), ("embed.token.weight",), again=again),
        Take("embeddings.position_embeddings.weight", (cfg.n_ctx, e), ("embed.position.weight",)),
        Take("embeddings.token_type_embeddings.weight", (cfg.n_segments, e), ("embed.segment.weight",)),
        *norm(e, "embeddings.LayerNorm", "embed.norm"),
    ]
    if e != d:
        found += linear("embeddings_project", "embed.to_model", e, d)
    for i in range(cfg.n_layers):
        found += bert.block(cfg, f"encoder.layer.{i}", f"layers.{i}")
    if cfg.masked_lm:
        found += linear(f"{WORDS}dense", "masked_lm.to_hidden", d, e)
        found += norm(e, f"{WORDS}LayerNorm", "masked_lm.norm")
        found.append(Take(f"{TABLE}bias", (cfg.n_vocab,), ("masked_lm.bias",)))
    return tuple(found)


FORMAT = replace(
    bert.FORMAT,
    model_type="electra",
    architecture="Electra",
    telling="embedding_size",
    prefix="electra.",
    outside=(WORDS, TABLE, "discriminator_predictions."),
    endings={},
    heads=re.compile(r"(discriminator_predictions|classifier|qa_outputs|sequence_summary)\."),
    tasks=two_maps("gelu"),
    config=config,
    values=values,
    classes=lambda cfg: "ElectraForMaskedLM" if cfg.masked_lm else "ElectraModel",
    takes=takes,
)
