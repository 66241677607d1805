"""T5, Flan-T5 and mT5 folders in Hugging Face format (Raffel et al. 2020, Xue et al. 2021): a table of biases a stack, scores that are not divided."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from core.checkpoints.foreign import REFUSED, Format
from core.checkpoints.safety.config_schema import RANGES, Fields, built
from core.checkpoints.safety.load_plan import Take
from core.checkpoints.task_heads import TWO_STACKS
from core.models.relative.t5 import T5Config

SIZES: Mapping[str, tuple[str, ...]] = {
    "n_layers": ("num_layers", "num_hidden_layers"),
    "n_heads": ("num_heads", "num_attention_heads"),
    "d_model": ("d_model",),
    "d_ff": ("d_ff",),
    "n_vocab": ("vocab_size",),
}
FEED_FORWARD: Mapping[str, tuple[str, bool]] = {
    "relu": ("relu", False),
    "gelu_new": ("gelu_tanh", False),
    "silu": ("silu", False),
    "gelu": ("gelu", False),
    "gated-gelu": ("gelu_tanh", True),
    "gated-gelu_new": ("gelu_tanh", True),
    "gated-silu": ("silu", True),
    "gated-relu": ("relu", True),
}
"""What `feed_forward_proj` names: the activation, and whether there is a gate. With a gate, gelu is its tanh form."""
HEAD = "lm_head.weight"
EQUAL = "Open a T5 whose encoder and decoder have as many layers, as google-t5/t5-small."
WHOLE = "Open the whole model of which this is the encoder, as google-t5/t5-small."
N_CTX = 512
"""Tokens read at once where the config does not say: what the shipped models were trained with; nothing in them ends there."""


def config(fields: Fields, stored: Collection[str]) -> T5Config:
    """The shape, by T5's names. An output layer is its own where one is stored and the config does not tie it."""
    fields.only("is_encoder_decoder", True, "The encoder alone is not read.", WHOLE)
    sizes = fields.sizes(SIZES)
    fields.only("num_decoder_layers", sizes["n_layers"], "Both stacks have as many layers here.", EQUAL)
    activation, gated = fields.one_of("feed_forward_proj", FEED_FORWARD, "relu")
    tied = bool(fields.flag("tie_word_embeddings", True))
    return built(
        T5Config,
        {
            **sizes,
            "d_head": fields.whole("d_kv", largest=RANGES["d_model"], default=64),
            "n_ctx": fields.whole("n_positions", largest=RANGES["n_ctx"], default=N_CTX),
            "n_buckets": fields.whole("relative_attention_num_buckets", largest=2**12, default=32),
            "furthest": fields.whole("relative_attention_max_distance", largest=RANGES["n_ctx"], default=128),
            "activation": activation,
            "gated": gated,
            "eps": fields.small("layer_norm_epsilon", 1e-6),
            "tied": tied or HEAD not in stored,
            "scaled_output": bool(fields.flag("scale_decoder_outputs", tied)),
        },
        tables=False,
    )


def multilingual(fields: Fields, stored: Collection[str]) -> T5Config:
    """The shape of an mT5: a gate where nothing is said, and nothing is divided at the end, tied or not."""
    given = fields if "feed_forward_proj" in fields else fields.having(feed_forward_proj="gated-gelu")
    return replace(config(given, stored), scaled_output=False)


def said_multilingual(cfg: T5Config) -> Mapping[str, Any] | None:
    """Return the fields of the shape in the config.json of an mT5; None for a model that divides its output."""
    said = None if cfg.scaled_output else values(cfg)
    return None if said is None else {**said, "tie_word_embeddings": cfg.tied}


def values(cfg: T5Config) -> Mapping[str, Any] | None:
    """What a config.json of this kind says of the shape: that it is not tied means that nothing is divided at the end."""
    named = next((name for name, meant in FEED_FORWARD.items() if meant == (cfg.activation, cfg.gated)), None)
    if named is None or (cfg.scaled_output and not cfg.tied):
        return None
    return {
        **{theirs[0]: getattr(cfg, ours) for ours, theirs in SIZES.items()},
        "num_decoder_layers": cfg.n_layers,
        "d_kv": cfg.d_head,
        "n_positions": cfg.n_ctx,
        "relative_attention_num_buckets": cfg.n_buckets,
        "relative_attention_max_distance": cfg.furthest,
        "feed_forward_proj": named,
        "layer_norm_epsilon": cfg.eps,
        "dropout_rate": cfg.dropout,
        "is_encoder_decoder": True,
        "tie_word_embeddings": cfg.scaled_output,
    }


def takes(cfg: T5Config) -> tuple[Take, ...]:
    """Every tensor of a T5. Matrices are (out, in), as here."""
    table = (cfg.n_vocab, cfg.d_model)
    again = ("encoder.embed_tokens.weight", "decoder.embed_tokens.weight", *((HEAD,) if cfg.tied else ()))
    found = [Take("shared.weight", table, ("embed.token.weight",), again=again)]
    for side in ("encoder", "decoder"):
        bias = f"{side}.block.0.layer.0.SelfAttention.relative_attention_bias.weight"
        found.append(Take(bias, (cfg.n_buckets, cfg.n_heads), (f"{side}_bias.weight",)))
        for i in range(cfg.n_layers):
            found += block(cfg, side, i)
        found.append(Take(f"{side}.final_layer_norm.weight", (cfg.d_model,), (f"{side}_norm.weight",)))
    return tuple(found) + (() if cfg.tied else (Take(HEAD, table, ("to_logits.weight",)),))


def block(cfg: T5Config, side: str, i: int) -> list[Take]:
    """The tensors of layer i of a side."""
    theirs, ours, d, ff = f"{side}.block.{i}.layer", f"{side}.{i}", cfg.d_model, cfg.d_ff
    wide = cfg.n_heads * cfg.d_head
    attentions = {"SelfAttention": "self_attn"} | (
        {"EncDecAttention": "cross_attn"} if side == "decoder" else {}
    )
    inner = {"wi_0": "to_gate", "wi_1": "to_hidden"} if cfg.gated else {"wi": "to_hidden"}
    found: list[Take] = []
    for at, (name, leaf) in enumerate(attentions.items()):
        for part, to in {"q": "to_q", "k": "to_k", "v": "to_v", "o": "to_out"}.items():
            shape = (d, wide) if part == "o" else (wide, d)
            found.append(Take(f"{theirs}.{at}.{name}.{part}.weight", shape, (f"{ours}.{leaf}.{to}.weight",)))
    last = len(attentions)
    for name, to in inner.items():
        found.append(
            Take(f"{theirs}.{last}.DenseReluDense.{name}.weight", (ff, d), (f"{ours}.ffn.{to}.weight",))
        )
    found.append(Take(f"{theirs}.{last}.DenseReluDense.wo.weight", (d, ff), (f"{ours}.ffn.to_out.weight",)))
    norms = range(last + 1)
    return found + [
        Take(f"{theirs}.{at}.layer_norm.weight", (d,), (f"{ours}.norm{at + 1}.weight",)) for at in norms
    ]


FORMAT = Format(
    model_type="t5",
    architecture="T5",
    family="t5",
    marks={"start": "<pad>", "end": "</s>", "pad": "<pad>"},
    prefix="",
    outside=(),
    passed=re.compile(r"decoder\.block\.0\.layer\.1\.EncDecAttention\.relative_attention_bias\.weight"),
    ties=False,
    heads=re.compile(r"(classification_head|qa_outputs)\."),
    tasks=TWO_STACKS,
    wrapped="transformer.",
    refused={name: why for name, why in REFUSED.items() if name != "is_encoder_decoder"},
    config=config,
    values=values,
    classes=lambda _: "T5ForConditionalGeneration",
    takes=takes,
)
MT5 = replace(
    FORMAT,
    model_type="mt5",
    architecture="MT5",
    telling="model_type",  # its tensors are those of a T5, so it is never guessed
    config=multilingual,
    values=said_multilingual,
    classes=lambda _: "MT5ForConditionalGeneration",
)
FORMATS = (FORMAT, MT5)
