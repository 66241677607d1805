"""MPNet folders in Hugging Face format (Song et al. 2020): BERT's layers and one table of biases for all of them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from core.checkpoints.foreign import bert, roberta
from core.checkpoints.foreign.bert import POOLER, linear, norm
from core.checkpoints.foreign.gpt2 import ACTIVATIONS
from core.checkpoints.foreign.roberta import WORDS
from core.checkpoints.safety.config_schema import Fields, built, named
from core.checkpoints.safety.load_plan import Take
from core.models.relative.mpnet import MPNetConfig

SIZES: Mapping[str, tuple[str, ...]] = {
    name: theirs for name, theirs in bert.SIZES.items() if name != "n_segments"
}
BUCKETS, FURTHEST, PADDING = 32, 128, 1
"""What is the same in all of them: buckets, the distance from where on all share one, the padding's row of the position table."""


def config(fields: Fields, stored: Collection[str]) -> MPNetConfig:
    """The shape, by BERT's names; which heads there are, by what is stored."""
    fields.only("pad_token_id", PADDING, "The row of padding is the second one in this kind.")
    fields.only("relative_attention_num_buckets", BUCKETS, "Distances fall into 32 buckets in this kind.")
    given = roberta.later(fields.sizes(SIZES), fields)
    masked_lm, pooler = (any(name.startswith(head) for name in stored) for head in (WORDS, POOLER))
    if masked_lm:
        fields.only("hidden_act", "gelu", "The head for hidden words of this kind has the exact GELU.")
    own = {
        "n_buckets": BUCKETS,
        "furthest": FURTHEST,
        "activation": fields.one_of("hidden_act", ACTIVATIONS, "gelu"),
        "eps": fields.small("layer_norm_eps", 1e-12),
        "masked_lm": masked_lm,
        "pooler": pooler,
    }
    return built(MPNetConfig, {**given, **own})


def values(cfg: MPNetConfig) -> Mapping[str, Any] | None:
    """What a config.json of this kind says of the shape; None for what MPNet cannot say."""
    if (cfg.n_buckets, cfg.furthest) != (BUCKETS, FURTHEST) or cfg.first_place != PADDING + 1:
        return None
    if cfg.masked_lm and cfg.activation != "gelu":
        return None
    return {
        **{theirs[0]: getattr(cfg, ours) for ours, theirs in SIZES.items()},
        "max_position_embeddings": cfg.first_place + cfg.n_ctx,
        "relative_attention_num_buckets": cfg.n_buckets,
        "hidden_act": named(ACTIVATIONS, cfg.activation),
        "layer_norm_eps": cfg.eps,
        "hidden_dropout_prob": cfg.dropout,
        "attention_probs_dropout_prob": 0.0,
        "pad_token_id": PADDING,
    }


def takes(cfg: MPNetConfig) -> tuple[Take, ...]:
    """Every tensor of an MPNet, the body's without the prefix `mpnet.`. Matrices are (out, in), as here."""
    d, words, rows = cfg.d_model, (cfg.n_vocab, cfg.d_model), (cfg.first_place + cfg.n_ctx, cfg.d_model)
    again = f"{WORDS}decoder.weight" if cfg.masked_lm else ""
    found = [
        Take("embeddings.word_embeddings.weight", words, ("embed.token.weight",), again=again),
        Take("embeddings.position_embeddings.weight", rows, ("embed.position.weight",)),
        *norm(d, "embeddings.LayerNorm", "embed.norm"),
        Take("encoder.relative_attention_bias.weight", (cfg.n_buckets, cfg.n_heads), ("bias.weight",)),
    ]
    for i in range(cfg.n_layers):
        found += block(cfg, f"encoder.layer.{i}", f"layers.{i}")
    if cfg.masked_lm:
        found += linear(f"{WORDS}dense", "masked_lm.to_hidden", d, d)
        found += norm(d, f"{WORDS}layer_norm", "masked_lm.norm")
        found.append(Take(f"{WORDS}bias", (cfg.n_vocab,), ("masked_lm.bias",), again=f"{WORDS}decoder.bias"))
    return tuple(found) + (tuple(linear(f"{POOLER}dense", "pooler", d, d)) if cfg.pooler else ())


def block(cfg: MPNetConfig, theirs: str, ours: str) -> list[Take]:
    """The tensors of one layer."""
    d, ff = cfg.d_model, cfg.d_ff
    parts = {"q": "to_q", "k": "to_k", "v": "to_v", "o": "to_out"}
    found: list[Take] = []
    for part, to in parts.items():
        found += linear(f"{theirs}.attention.attn.{part}", f"{ours}.self_attn.{to}", d, d)
    found += norm(d, f"{theirs}.attention.LayerNorm", f"{ours}.norm1")
    found += linear(f"{theirs}.intermediate.dense", f"{ours}.ffn.to_hidden", d, ff)
    found += linear(f"{theirs}.output.dense", f"{ours}.ffn.to_out", ff, d)
    return found + norm(d, f"{theirs}.output.LayerNorm", f"{ours}.norm2")


FORMAT = replace(
    roberta.FORMAT,
    model_type="mpnet",
    architecture="MPNet",
    family="mpnet",
    alike={},
    prefix="mpnet.",
    config=config,
    values=values,
    classes=lambda cfg: "MPNetForMaskedLM" if cfg.masked_lm else "MPNetModel",
    takes=takes,
)
