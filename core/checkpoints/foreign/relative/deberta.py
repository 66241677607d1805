"""DeBERTa folders of the second and third version in Hugging Face format (He et al. 2021): the body, and the head for hidden words."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from core.checkpoints.files import shown
from core.checkpoints.foreign import bert
from core.checkpoints.foreign.bert import POOLER, WORDS, linear, norm
from core.checkpoints.foreign.gpt2 import ACTIVATIONS
from core.checkpoints.safety.config_schema import RANGES, Fields, built, named
from core.checkpoints.safety.load_plan import Take
from core.checkpoints.task_heads import CLASSES, POOLED, HeadSpec
from core.errors import InputError
from core.models.relative.deberta import DebertaConfig

SIZES: Mapping[str, tuple[str, ...]] = {
    name: theirs for name, theirs in bert.SIZES.items() if name != "n_segments"
}
PARTS = {"c2p": "to_place", "p2c": "from_place"}
NORMED = {"none": False, "layer_norm": True}
OLD_HEAD = "lm_predictions.lm_head."
"""How the names of the head begin that microsoft's own files have: the same numbers."""


def config(fields: Fields, stored: Collection[str]) -> DebertaConfig:
    """The shape, by BERT's names; which of the three parts a score has, and what distances are told apart."""
    given = fields.sizes(SIZES)
    fields.only(
        "relative_attention", True, "Without relative attention this is a BERT, which is not of this kind."
    )
    fields.only("embedding_size", given["d_model"], "Embeddings are as wide as the layers in this kind here.")
    fields.only("attention_head_size", given["d_model"] // given["n_heads"], "Heads share the width here.")
    fields.only("is_decoder", False, "A model that sees only what came before is not implemented here.")
    fields.only("conv_kernel_size", 0, "The convolution beside the first layer is not implemented.")
    buckets, furthest = (_whole(fields, name) for name in ("position_buckets", "max_relative_positions"))
    own = {
        "n_segments": fields.whole("type_vocab_size", largest=RANGES["n_segments"], default=0, least=0),
        "furthest": furthest or given["n_ctx"],
        "n_buckets": buckets,
        **_parts(fields),
        "shared": bool(fields.flag("share_att_key", False)),
        "places_normed": fields.one_of("norm_rel_ebd", NORMED, "none"),
        "absolute": bool(fields.flag("position_biased_input", True)),
        "activation": fields.one_of("hidden_act", ACTIVATIONS, "gelu"),
        "eps": fields.small("layer_norm_eps", 1e-7),
        "masked_lm": any(name.startswith(WORDS) for name in stored),
    }
    return built(DebertaConfig, {**given, **own})


def _whole(fields: Fields, name: str) -> int:
    """A number of distances; -1 says that there is none."""
    return 0 if fields.raw(name) == -1 else fields.whole(name, largest=RANGES["n_ctx"], default=0)


def _parts(fields: Fields) -> dict[str, bool]:
    said: Any = fields.raw("pos_att_type") or []
    names = [part.strip() for part in said.lower().split("|")] if isinstance(said, str) else said
    if not isinstance(names, list) or any(not isinstance(name, str) or name not in PARTS for name in names):
        raise InputError(
            f"config.json: pos_att_type is {shown(repr(said), 40)}.",
            f"What may be added to a score is {' and '.join(PARTS)}.",
            "Open a model with these.",
        )
    return {ours: theirs in names for theirs, ours in PARTS.items()}


def values(cfg: DebertaConfig) -> Mapping[str, Any]:
    """What a config.json of this kind says of the shape."""
    return {
        **{theirs[0]: getattr(cfg, ours) for ours, theirs in SIZES.items()},
        "type_vocab_size": cfg.n_segments,
        "relative_attention": True,
        "max_relative_positions": cfg.furthest,
        "position_buckets": cfg.n_buckets or -1,
        "pos_att_type": [theirs for theirs, ours in PARTS.items() if getattr(cfg, ours)],
        "share_att_key": cfg.shared,
        "norm_rel_ebd": named(NORMED, cfg.places_normed),
        "position_biased_input": cfg.absolute,
        "hidden_act": named(ACTIVATIONS, cfg.activation),
        "layer_norm_eps": cfg.eps,
        "hidden_dropout_prob": cfg.dropout,
        "attention_probs_dropout_prob": 0.0,
        "legacy": True,
    }


def takes(cfg: DebertaConfig) -> tuple[Take, ...]:
    """Every tensor of a DeBERTa, the body's without the prefix `deberta.`. Matrices are (out, in), as here."""
    d, words = cfg.d_model, (cfg.n_vocab, cfg.d_model)
    again = f"{WORDS}decoder.weight" if cfg.masked_lm else ""
    found = [Take("embeddings.word_embeddings.weight", words, ("embed.token.weight",), again=again)]
    tables = {
        "embeddings.token_type_embeddings": ("embed.segment", cfg.n_segments),
        "embeddings.position_embeddings": ("embed.position", cfg.n_ctx if cfg.absolute else 0),
        "encoder.rel_embeddings": ("distance", 2 * cfg.reach),
    }
    found += [
        Take(f"{theirs}.weight", (rows, d), (f"{ours}.weight",))
        for theirs, (ours, rows) in tables.items()
        if rows
    ]
    found += norm(d, "embeddings.LayerNorm", "embed.norm")
    found += norm(d, "encoder.LayerNorm", "distance_norm") if cfg.places_normed else []
    for i in range(cfg.n_layers):
        found += block(cfg, f"encoder.layer.{i}", f"layers.{i}")
    if cfg.masked_lm:
        found += linear(f"{WORDS}transform.dense", "masked_lm.to_hidden", d, d)
        found += norm(d, f"{WORDS}transform.LayerNorm", "masked_lm.norm")
        found.append(Take(f"{WORDS}bias", (cfg.n_vocab,), ("masked_lm.bias",), again=f"{WORDS}decoder.bias"))
    return tuple(found)


def block(cfg: DebertaConfig, theirs: str, ours: str) -> list[Take]:
    """The tensors of one layer: BERT's, by other names of the maps, and those of the places where they have their own."""
    names = {f"self.{part}.": f"self.{part}_proj." for part in ("query", "key", "value")}
    found = bert.block(cfg, theirs, ours)
    for old, new in names.items():
        found = [replace(take, name=take.name.replace(old, new)) for take in found]
    apart = {"pos_key_proj": ("to_place_k", cfg.to_place), "pos_query_proj": ("to_place_q", cfg.from_place)}
    for name, (to, there) in apart.items() if not cfg.shared else ():
        if there:
            found += linear(
                f"{theirs}.attention.self.{name}", f"{ours}.self_attn.{to}", cfg.d_model, cfg.d_model
            )
    return found


FORMAT = replace(
    bert.FORMAT,
    model_type="deberta-v2",
    architecture="DebertaV2",
    family="deberta",
    prefix="deberta.",
    outside=("cls.", POOLER),
    endings={
        f"{OLD_HEAD}{theirs}.{name}": f"{WORDS}{ours}.{name}"
        for theirs, ours in {"dense": "transform.dense", "LayerNorm": "transform.LayerNorm"}.items()
        for name in ("weight", "bias")
    }
    | {f"{OLD_HEAD}bias": f"{WORDS}bias"}
    | dict(bert.FORMAT.endings),
    telling="pos_att_type",
    heads=re.compile(r"(classifier|qa_outputs|mask_predictions|pooler)\."),
    tasks=POOLED | {CLASSES: HeadSpec("classifier", "first", f"{POOLER}dense", "gelu", "pooler_hidden_act")},
    passed=re.compile(r"embeddings\.position_(ids|embeddings\.weight)|position_embeddings.*"),
    config=config,
    values=values,
    classes=lambda cfg: "DebertaV2ForMaskedLM" if cfg.masked_lm else "DebertaV2Model",
    takes=takes,
)
