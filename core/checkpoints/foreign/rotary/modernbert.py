"""ModernBERT folders in Hugging Face format (Warner et al. 2024): the body, and the head for hidden words where it is stored."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from core.checkpoints.foreign import Format
from core.checkpoints.foreign.bert import FORMAT as BERT
from core.checkpoints.foreign.gpt2 import ACTIVATIONS
from core.checkpoints.foreign.rotary import layer_types, local_layers, two_turns, unread
from core.checkpoints.safety.config_schema import RANGES, Fields, built, named
from core.checkpoints.safety.load_plan import Take
from core.checkpoints.task_heads import ANSWER, CLASSES, TAGS, HeadSpec
from core.models.rotary.modernbert import ModernBERTConfig

SIZES: Mapping[str, tuple[str, ...]] = {
    "n_layers": ("num_hidden_layers",),
    "n_heads": ("num_attention_heads",),
    "d_model": ("hidden_size",),
    "d_ff": ("intermediate_size",),
    "n_vocab": ("vocab_size",),
    "n_ctx": ("max_position_embeddings",),
}
WITHOUT = ("attention_bias", "mlp_bias", "norm_bias", "classifier_bias")
HEAD, WORDS = "head.", "decoder."
BASES = 160000.0, 10000.0


def config(fields: Fields, stored: Collection[str]) -> ModernBERTConfig:
    """The shape; which layers look everywhere: those that `layer_types` names, in old configs every third, from the first on."""
    for name in WITHOUT:
        fields.only(name, False, "Only the words' own biases are implemented for this kind.")
    fields.only("decoder_bias", True, "A head for hidden words without a bias a word is not implemented.")
    given = fields.sizes(SIZES)
    activation = fields.one_of("hidden_activation", ACTIVATIONS, "gelu")
    masked_lm = any(name.startswith(WORDS) for name in stored)
    if masked_lm and fields.one_of("classifier_activation", ACTIVATIONS, "gelu") != activation:
        fields.only("classifier_activation", "", "The head has the activation of the layers here.")
    every = fields.whole("global_attn_every_n_layers", largest=RANGES["n_layers"], default=3)
    turns = two_turns(fields, ("global_rope_theta", "local_rope_theta"), BASES)
    if turns.pop("rope_factor") != 1.0:
        raise unread("its rotary positions are stretched", stretched=False)
    own = {
        "local": local_layers(fields, given["n_layers"], [i for i in range(given["n_layers"]) if i % every]),
        "reach": fields.whole("local_attention", largest=RANGES["n_ctx"], default=128, least=2) // 2,
        "activation": activation,
        "eps": fields.small("norm_eps", 1e-5),
        "masked_lm": masked_lm,
    }
    return built(ModernBERTConfig, {**given, **turns, **own}, tables=False)


def values(cfg: ModernBERTConfig) -> Mapping[str, Any]:
    """What a config.json of this kind says of the shape."""
    bases = {"full_attention": cfg.rope_base, "sliding_attention": cfg.rope_local_base}
    return {
        **{theirs[0]: getattr(cfg, ours) for ours, theirs in SIZES.items()},
        "local_attention": 2 * cfg.reach,
        "layer_types": layer_types(cfg.n_layers, cfg.local),
        "rope_parameters": {
            name: {"rope_type": "default", "rope_theta": base} for name, base in bases.items()
        },
        "hidden_activation": named(ACTIVATIONS, cfg.activation),
        "classifier_activation": named(ACTIVATIONS, cfg.activation),
        "norm_eps": cfg.eps,
    }


def takes(cfg: ModernBERTConfig) -> tuple[Take, ...]:
    """Every tensor of a ModernBERT, the body's without the prefix `model.`. Matrices are (out, in), as here."""
    d, table = cfg.d_model, (cfg.n_vocab, cfg.d_model)
    again = f"{WORDS}weight" if cfg.masked_lm else ""
    found = [
        Take("embeddings.tok_embeddings.weight", table, ("embed.token.weight",), again=again),
        _gain(d, "embeddings.norm", "embed.norm"),
        *(take for i in range(cfg.n_layers) for take in block(cfg, i)),
        _gain(d, "final_norm", "final_norm"),
    ]
    if cfg.masked_lm:
        found.append(Take(f"{HEAD}dense.weight", (d, d), ("masked_lm.to_hidden.weight",)))
        found.append(_gain(d, f"{HEAD}norm", "masked_lm.norm"))
        found.append(Take(f"{WORDS}bias", (cfg.n_vocab,), ("masked_lm.bias",)))
    return tuple(found)


def block(cfg: ModernBERTConfig, i: int) -> list[Take]:
    """The tensors of layer i: what is packed has its parts below each other."""
    here, d, ff = f"layers.{i}", cfg.d_model, cfg.d_ff
    qkv, gated = ([f"{here}.{part}.weight" for part in parts] for parts in PACKED)
    return [
        *([_gain(d, f"{here}.attn_norm", f"{here}.norm1")] if i else []),
        Take(f"{here}.attn.Wqkv.weight", (3 * d, d), tuple(qkv), heads=1),
        Take(f"{here}.attn.Wo.weight", (d, d), (f"{here}.self_attn.to_out.weight",)),
        _gain(d, f"{here}.mlp_norm", f"{here}.norm2"),
        Take(f"{here}.mlp.Wi.weight", (2 * ff, d), tuple(gated), heads=1),
        Take(f"{here}.mlp.Wo.weight", (d, ff), (f"{here}.ffn.to_out.weight",)),
    ]


PACKED = ("self_attn.to_q", "self_attn.to_k", "self_attn.to_v"), ("ffn.to_gate", "ffn.to_hidden")


def _gain(width: int, theirs: str, ours: str) -> Take:
    return Take(f"{theirs}.weight", (width,), (f"{ours}.weight",))


TUNED = HeadSpec(
    "classifier",
    dense=f"{HEAD}dense",
    activation="gelu",
    activation_field="classifier_activation",
    norm=f"{HEAD}norm",
    eps_field="norm_eps",
    plain=(f"{HEAD}dense", f"{HEAD}norm"),
)
FORMAT = Format(
    model_type="modernbert",
    architecture="ModernBert",
    family="modernbert",
    marks=BERT.marks,
    prefix="model.",
    outside=(HEAD, WORDS, "classifier."),
    heads=re.compile(r"(classifier|head)\."),
    tasks={CLASSES: replace(TUNED, pool_field="classifier_pooling"), TAGS: TUNED, ANSWER: TUNED},
    config=config,
    values=values,
    classes=lambda cfg: "ModernBertForMaskedLM" if cfg.masked_lm else "ModernBertModel",
    takes=takes,
)
