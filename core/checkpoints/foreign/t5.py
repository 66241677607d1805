"""T5, Flan-T5 and mT5 (Raffel et al. 2020, Xue et al. 2021): a table of biases a stack, scores that are not divided."""

from __future__ import annotations

import re

from core.checkpoints.foreign.table import (
    REFUSED,
    Field,
    Format,
    Row,
    Values,
    Weights,
    attention,
    decoder_layers,
    dropouts,
    feed_forward,
    first_class,
    kin,
    layers,
    row,
    sizes,
    small,
    whole_number,
    word,
    written_of,
)
from core.checkpoints.safety.config_schema import Fields
from core.checkpoints.task_heads import TAGGER, TAGS, TWO_STACKS
from core.models.t5 import T5Config
from core.models.t5_encoder import T5EncoderConfig

PLAIN = {"relu": "relu", "gelu": "gelu", "gelu_new": "gelu_tanh", "silu": "silu"}
FEED_FORWARD: dict[str, tuple[str, bool]] = {
    **{name: (ours, False) for name, ours in PLAIN.items()},
    **{f"gated-{name}": (ours, True) for name, ours in {**PLAIN, "gelu": "gelu_tanh"}.items()},
}
"""The values of `feed_forward_proj`: the activation, and whether there is a gate. With a gate, gelu is its tanh form."""
N_CTX = 512
"""The length of the training, where the config does not say; nothing in the model ends there."""


def _read_tied(fields: Fields, values: Values) -> Values:
    """Read whether there is an output layer of its own; what is tied is divided at the end."""
    tied = bool(fields.flag("tie_word_embeddings", True))
    scaled = fields.flag("scale_decoder_outputs", tied)
    return {"tied": tied or not values["own_output"], "scaled_output": bool(scaled)}


ENCODER_CLASS = re.compile("M?T5(EncoderModel|ForTokenClassification)")


def _read_encoder_alone(fields: Fields, values: Values) -> Values:
    named = ENCODER_CLASS.fullmatch(first_class(fields.raw("architectures")))
    return {"alone": fields.flag("is_encoder_decoder", True) is False or bool(named)}


def _fields(feed_forward: str) -> tuple[Field, ...]:
    return (
        Field(read=_read_encoder_alone, write=lambda cfg: {"is_encoder_decoder": isinstance(cfg, T5Config)}),
        *sizes(omit="n_ctx", n_layers="num_layers", n_heads="num_heads", d_model="d_model", d_ff="d_ff"),
        written_of(T5Config, decoder_layers("num_decoder_layers")),
        word("feed_forward_proj", FEED_FORWARD, feed_forward, "activation", "gated"),
        whole_number("d_head", "d_kv", default=64),
        whole_number("n_ctx", "n_positions", default=N_CTX),
        whole_number("n_buckets", "relative_attention_num_buckets", default=32),
        whole_number("furthest", "relative_attention_max_distance", default=128),
        small("layer_norm_epsilon", 1e-6),
        written_of(
            T5Config,
            Field(read=_read_tied, write=lambda cfg: {"tie_word_embeddings": cfg.scaled_output}),
        ),
        dropouts("dropout_rate"),
    )


def _weights(cfg: T5Config | T5EncoderConfig) -> Weights:
    both = isinstance(cfg, T5Config)
    copies = ("encoder.embed_tokens", "decoder.embed_tokens")
    rows: dict[str, str | Row] = {"shared": row("embed.token", copies=copies)}
    for side, modules in {"encoder": ["self_attn"], "decoder": ["self_attn", "cross_attn"]}.items():
        if side == "decoder" and not both:
            continue
        n = len(modules)
        inner = f"layer.{n}.DenseReluDense."
        hidden, gate = (f"{inner}wi_1", f"{inner}wi_0") if cfg.gated else (f"{inner}wi", "")
        tables = [
            attention(f"layer.{i}.{kind}.{{}}", "q k v o", module)
            for i, (kind, module) in enumerate(
                zip(("SelfAttention", "EncDecAttention"), modules, strict=False)
            )
        ]
        norms = {f"norm{i + 1}": f"layer.{i}.layer_norm" for i in range(n + 1)}
        rows |= layers(
            f"{side}.block", *tables, feed_forward(hidden, f"{inner}wo", gate), prefix=side, **norms
        )
        rows[f"{side}.block.0.layer.0.SelfAttention.relative_attention_bias"] = f"{side}_bias"
        rows[f"{side}.final_layer_norm"] = f"{side}_norm" if both else "final_norm"
    return rows


T5 = Format(
    model_type="t5",
    like="google-t5/t5-small",
    shows="encoder, decoder and cross-attention; unscaled scores with a relative bias per head and distance, also shown as a table",
    architecture="T5",
    config=lambda values: T5EncoderConfig if values.get("alone") else T5Config,
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
    refused=REFUSED - {"is_encoder_decoder"},
)
MT5 = kin(
    T5,
    "mt5",
    "google/mt5-small",
    "T5; a gated feed-forward network unless the config says otherwise",
    architecture="MT5",
    telling="model_type",  # its tensors are those of a T5, so it is never guessed
    fields=(
        *_fields("gated-gelu"),
        written_of(
            T5Config,
            Field(
                read=lambda fields, values: {"scaled_output": False},
                write=lambda cfg: {"tie_word_embeddings": cfg.tied},
            ),
        ),
    ),
)
