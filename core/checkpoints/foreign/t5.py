"""T5, Flan-T5 and mT5 folders in Hugging Face format (Raffel et al. 2020, Xue et al. 2021): a table of biases a stack, scores that are not divided."""

from __future__ import annotations

import re
from dataclasses import replace

from core.checkpoints.foreign.table import (
    REFUSED,
    Field,
    Format,
    Row,
    Values,
    decoder_layers,
    dropouts,
    row,
    sizes,
    small,
    under,
    whole_number,
    word,
    written_of,
)
from core.checkpoints.safety.config_schema import Fields
from core.checkpoints.task_heads import TAGGER, TAGS, TWO_STACKS
from core.models.relative.t5 import T5Config
from core.models.relative.t5_encoder import T5EncoderConfig

FEED_FORWARD: dict[str, tuple[str, bool]] = {
    "relu": ("relu", False),
    "gelu_new": ("gelu_tanh", False),
    "silu": ("silu", False),
    "gelu": ("gelu", False),
    "gated-gelu": ("gelu_tanh", True),
    "gated-gelu_new": ("gelu_tanh", True),
    "gated-silu": ("silu", True),
    "gated-relu": ("relu", True),
}
"""The values of `feed_forward_proj`: the activation, and whether there is a gate. With a gate, gelu is its tanh form."""
N_CTX = 512
"""Tokens read at once where the config does not say: what the shipped models were trained with; nothing in them ends there."""


def _tied(fields: Fields, given: Values) -> Values:
    """Read that an output layer is its own where one is stored and the config does not tie it; what is tied is divided at the end."""
    tied = bool(fields.flag("tie_word_embeddings", True))
    scaled = fields.flag("scale_decoder_outputs", tied)
    return {"tied": tied or not given["own_output"], "scaled_output": bool(scaled)}


ALONE = re.compile("M?T5(EncoderModel|ForTokenClassification)")
"""The classes that have an encoder and no decoder."""


def _alone(fields: Fields, given: Values) -> Values:
    """Read whether a folder holds the encoder alone: its class, or the switch, says so."""
    classes = fields.raw("architectures")
    first = str(classes[0]) if isinstance(classes, list) and classes else ""
    return {"alone": fields.flag("is_encoder_decoder", True) is False or bool(ALONE.fullmatch(first))}


def _fields(feed_forward: str) -> tuple[Field, ...]:
    return (
        Field(read=_alone, write=lambda cfg: {"is_encoder_decoder": isinstance(cfg, T5Config)}),
        *sizes(
            n_layers="num_layers num_hidden_layers",
            n_heads="num_heads num_attention_heads",
            d_model="d_model",
            d_ff="d_ff",
            n_vocab="vocab_size",
        ),
        written_of(T5Config, decoder_layers("num_decoder_layers")),
        word("feed_forward_proj", FEED_FORWARD, feed_forward, "activation", "gated"),
        whole_number("d_head", "d_kv", default=64),
        whole_number("n_ctx", "n_positions", default=N_CTX),
        whole_number("n_buckets", "relative_attention_num_buckets", default=32),
        whole_number("furthest", "relative_attention_max_distance", default=128),
        small("layer_norm_epsilon", 1e-6),
        written_of(T5Config, Field(read=_tied, write=lambda cfg: {"tie_word_embeddings": cfg.scaled_output})),
        dropouts("dropout_rate"),
    )


def _weights(cfg: T5Config | T5EncoderConfig) -> dict[str, Row | str]:
    found: dict[str, Row | str] = {
        "shared": row("embed.token", again=("encoder.embed_tokens", "decoder.embed_tokens"))
    }
    inner = {"wi_0": "to_gate", "wi_1": "to_hidden"} if cfg.gated else {"wi": "to_hidden"}
    attention = {"q": "to_q", "k": "to_k", "v": "to_v", "o": "to_out"}
    kinds = {"SelfAttention": "self_attn", "EncDecAttention": "cross_attn"}
    both = isinstance(cfg, T5Config)
    for side, n in ({"encoder": 1, "decoder": 2} if both else {"encoder": 1}).items():
        parts = {
            f"layer.{i}.{kind}.{theirs}": f"{leaf}.{ours}"
            for i, (kind, leaf) in enumerate(list(kinds.items())[:n])
            for theirs, ours in attention.items()
        }
        parts |= {f"layer.{n}.DenseReluDense.{theirs}": f"ffn.{ours}" for theirs, ours in inner.items()}
        parts |= {f"layer.{n}.DenseReluDense.wo": "ffn.to_out"}
        parts |= {f"layer.{i}.layer_norm": f"norm{i + 1}" for i in range(n + 1)}
        found |= under(f"{side}.block.*.", f"{side}.*.", parts)
        found[f"{side}.block.0.layer.0.SelfAttention.relative_attention_bias"] = f"{side}_bias"
        found[f"{side}.final_layer_norm"] = f"{side}_norm" if both else "final_norm"
    return found


T5 = Format(
    model_type="t5",
    like="google-t5/t5-small",
    shows="encoder, decoder and cross-attention; unscaled scores with a relative bias per head and distance, also shown as a table",
    architecture="T5",
    config=lambda given: T5EncoderConfig if given.get("alone") else T5Config,
    tables=False,
    fields=_fields("relu"),
    stored={"own_output": ("lm_head.",)},
    weights=_weights,
    marks={"start": "<pad>", "end": "</s>", "pad": "<pad>"},
    outside=(),
    writer="ForConditionalGeneration",
    bare="EncoderModel",
    passed=r"decoder\.block\.0\.layer\.1\.EncDecAttention\.relative_attention_bias\.weight",
    ties=False,
    tasks=TWO_STACKS | {TAGS: TAGGER},
    wrapped="transformer.",
    refused={name: why for name, why in REFUSED.items() if name != "is_encoder_decoder"},
)
MT5 = replace(
    T5,
    model_type="mt5",
    like="google/mt5-small",
    shows="T5; a gated feed-forward network unless the config says otherwise",
    architecture="MT5",
    telling="model_type",  # its tensors are those of a T5, so it is never guessed
    fields=(
        *_fields("gated-gelu"),
        written_of(
            T5Config,
            Field(
                read=lambda fields, given: {"scaled_output": False},
                write=lambda cfg: {"tie_word_embeddings": cfg.tied},
            ),
        ),
    ),
)
"""A gate where nothing is said, and nothing is divided at the end, tied or not."""
FORMATS = (T5, MT5)
