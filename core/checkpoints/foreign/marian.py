"""Marian folders in Hugging Face format (Junczys-Dowmunt et al. 2018): the translators Opus-MT, post-norm as in the paper of 2017.

The sines of a position stand before its cosines, everything is tied to one table of tokens. The tokenizer is a tokenizer.json, or, as
on the Hub, `source.spm` and `target.spm` with one vocab.json (`core.text.PieceTokenizer`).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

from core.checkpoints.foreign import REFUSED, Format
from core.checkpoints.foreign.bert import linear, norm
from core.checkpoints.foreign.gpt2 import ACTIVATIONS as GELUS
from core.checkpoints.safety.config_schema import RANGES, Fields, built, named
from core.checkpoints.safety.load_plan import Take
from core.models.transformer import TransformerConfig

SIZES: Mapping[str, tuple[str, ...]] = {
    "n_layers": ("encoder_layers", "num_hidden_layers"),
    "n_heads": ("encoder_attention_heads",),
    "d_model": ("d_model",),
    "d_ff": ("encoder_ffn_dim",),
    "n_vocab": ("vocab_size",),
    "n_ctx": ("max_position_embeddings",),
}
ACTIVATIONS = {**GELUS, "silu": "silu", "swish": "silu"}
ALIKE = {
    "decoder_layers": "encoder_layers",
    "decoder_attention_heads": "encoder_attention_heads",
    "decoder_ffn_dim": "encoder_ffn_dim",
}
EQUAL = "Open a model of this kind whose encoder and decoder are alike, as in facebook/bart-base and the Opus-MT translators."
WHOLE = "Open the whole model of which this is a part, saved as ForConditionalGeneration or MTModel."
BIAS = "final_logits_bias"
WITHOUT: Mapping[str, str] = {
    "normalize_before": "Norms before the sub-layers are not implemented for this kind.",
    "add_final_layer_norm": "A norm behind the last layer is not implemented for this kind.",
    "is_decoder": "The decoder alone is not read.",
}
EPS = 1e-5


def config(fields: Fields, stored: Collection[str]) -> TransformerConfig:
    """The shape, by Marian's names."""
    fields.only("share_encoder_decoder_embeddings", True, "Both sides read one table of tokens here.")
    fields.only(
        "normalize_embedding", False, "A norm behind the embeddings is not implemented for this kind."
    )
    fields.only("static_position_embeddings", True, "Positions of this kind are sinusoids.")
    given = shape(fields, stored)
    fields.only("decoder_vocab_size", given["n_vocab"], "Both sides have one vocabulary here.")
    return built(TransformerConfig, {**given, "positions": "halves"})


def shape(fields: Fields, stored: Collection[str]) -> dict[str, Any]:
    """What the configs of Marian and BART have in common."""
    fields.only("is_encoder_decoder", True, "This kind of model has two stacks here.", WHOLE)
    for name, why in WITHOUT.items():
        fields.only(name, False, why)
    given = fields.sizes(SIZES)
    for theirs, ours in ALIKE.items():
        value = next(given[name] for name, names in SIZES.items() if ours in names)
        fields.whole(theirs, largest=RANGES["d_ff"], default=value)
        fields.only(theirs, value, f"Both stacks are of one shape here: the encoder has {value:,}.", EQUAL)
    return {
        **given,
        "activation": fields.one_of("activation_function", ACTIVATIONS, "gelu"),
        "eps": EPS,
        "scaled": bool(fields.flag("scale_embedding", False)),
        "output_bias": BIAS in stored,
    }


def values(cfg: TransformerConfig) -> Mapping[str, Any] | None:
    """What a config.json of this kind says of the shape; None for other positions, norms elsewhere or another eps."""
    if cfg.positions != "halves" or cfg.embed_norm or cfg.first_place:
        return None
    return said(cfg)


def said(cfg: TransformerConfig) -> dict[str, Any] | None:
    """What the configs of Marian and BART say alike; None where neither can."""
    if cfg.order != "post" or cfg.eps != EPS:
        return None
    sizes = {theirs[0]: getattr(cfg, ours) for ours, theirs in SIZES.items()}
    return {
        **sizes,
        **{theirs: sizes[ours] for theirs, ours in ALIKE.items()},
        "activation_function": named(ACTIVATIONS, cfg.activation),
        "scale_embedding": cfg.scaled,
        "is_encoder_decoder": True,
        "dropout": cfg.dropout,
    }


def takes(cfg: TransformerConfig) -> tuple[Take, ...]:
    """Every tensor of a Marian, the body's without the prefix `model.`. Matrices are (out, in), as here."""
    again = ("encoder.embed_tokens.weight", "decoder.embed_tokens.weight", "lm_head.weight")
    found = [Take("shared.weight", (cfg.n_vocab, cfg.d_model), ("embed.token.weight",), again=again)]
    for side in ("encoder", "decoder"):
        for i in range(cfg.n_layers):
            found += block(cfg, side, i)
    if cfg.output_bias:
        found.append(Take(BIAS, (1, cfg.n_vocab), ("logits_bias",)))
    return tuple(found)


def block(cfg: TransformerConfig, side: str, i: int) -> list[Take]:
    """The tensors of layer i of a side."""
    theirs, ours, d, ff = f"{side}.layers.{i}", f"{side}.{i}", cfg.d_model, cfg.d_ff
    attentions = {"self_attn": "self_attn"} | ({"encoder_attn": "cross_attn"} if side == "decoder" else {})
    found: list[Take] = []
    for number, (name, leaf) in enumerate(attentions.items(), 1):
        for part in ("q", "k", "v", "out"):
            found += linear(f"{theirs}.{name}.{part}_proj", f"{ours}.{leaf}.to_{part}", d, d)
        found += norm(d, f"{theirs}.{name}_layer_norm", f"{ours}.norm{number}")
    found += linear(f"{theirs}.fc1", f"{ours}.ffn.to_hidden", d, ff)
    found += linear(f"{theirs}.fc2", f"{ours}.ffn.to_out", ff, d)
    return found + norm(d, f"{theirs}.final_layer_norm", f"{ours}.norm{len(attentions) + 1}")


FORMAT = Format(
    model_type="marian",
    architecture="Marian",
    family="transformer",
    marks={"end": "</s>", "pad": "<pad>"},
    prefix="model.",
    outside=("lm_head.", BIAS),
    passed=re.compile(r"(encoder|decoder)\.(embed_positions\.weight|version)"),
    refused={name: why for name, why in REFUSED.items() if name != "is_encoder_decoder"},
    config=config,
    values=values,
    classes=lambda _: "MarianMTModel",
    takes=takes,
)
