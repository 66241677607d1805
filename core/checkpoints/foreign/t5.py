"""T5, Flan-T5 and mT5 (Raffel et al. 2020, Xue et al. 2021): a table of biases a stack, scores that are not divided."""

from __future__ import annotations

import re

from core.checkpoints.foreign import keys, tensors
from core.checkpoints.foreign.keys import Field, Values
from core.checkpoints.foreign.table import REFUSED, Format, first_class, kin
from core.checkpoints.foreign.tensors import Row, Weights
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


def _tied(divided: bool) -> Field:
    """Map whether the output layer has weights of its own; in some kinds the output of a tied one is `divided`."""

    def read(fields: Fields, values: Values) -> Values:
        tied = bool(fields.flag("tie_word_embeddings", True))
        scaled = divided and fields.flag("scale_decoder_outputs", tied)
        return {"tied": tied or not values["own_output"], "scaled_output": bool(scaled)}

    return Field(
        read=read, write=lambda cfg: {"tie_word_embeddings": cfg.scaled_output if divided else cfg.tied}
    )


ENCODER_CLASS = re.compile("M?T5(EncoderModel|ForTokenClassification)")


def _read_encoder_alone(fields: Fields, values: Values) -> Values:
    named = ENCODER_CLASS.fullmatch(first_class(fields.raw("architectures")))
    return {"alone": fields.flag("is_encoder_decoder", True) is False or bool(named)}


def _fields(feed_forward: str, *, divided: bool) -> tuple[Field, ...]:
    return (
        Field(read=_read_encoder_alone, write=lambda cfg: {"is_encoder_decoder": isinstance(cfg, T5Config)}),
        *keys.size_fields(
            omit="n_ctx", n_layers="num_layers", n_heads="num_heads", d_model="d_model", d_ff="d_ff"
        ),
        keys.written_of(T5Config, keys.decoder_layers("num_decoder_layers")),
        keys.word("feed_forward_proj", FEED_FORWARD, feed_forward, "activation", "gated"),
        keys.whole_number("d_head", "d_kv", default=64),
        keys.whole_number("n_ctx", "n_positions", default=N_CTX),
        keys.whole_number("n_buckets", "relative_attention_num_buckets", default=32),
        keys.whole_number("furthest", "relative_attention_max_distance", default=128),
        keys.small("layer_norm_epsilon", 1e-6),
        keys.written_of(T5Config, _tied(divided)),
        keys.dropouts("dropout_rate"),
    )


SELF = tensors.attention("layer.0.SelfAttention.{}", "q k v o")
CROSS = tensors.attention("layer.1.EncDecAttention.{}", "q k v o", "cross_attn")
TABLE = tensors.make_row("embed.token", copies=("encoder.embed_tokens", "decoder.embed_tokens"))


def _stack(side: str, norm: str, gated: bool, *attentions: Weights) -> dict[str, Row]:
    n = len(attentions)
    parts = ("wi_1 wo wi_0" if gated else "wi wo").split()
    maps = tensors.feed_forward(*(f"layer.{n}.DenseReluDense.{part}" for part in parts))
    norms = {f"norm{i + 1}": f"layer.{i}.layer_norm" for i in range(n + 1)}
    return tensors.layers(f"{side}.block", *attentions, maps, prefix=side, **norms) | {
        f"{side}.block.0.layer.0.SelfAttention.relative_attention_bias": tensors.make_row(f"{side}_bias"),
        f"{side}.final_layer_norm": tensors.make_row(norm),
    }


def _weights(cfg: T5Config | T5EncoderConfig) -> Weights:
    if isinstance(cfg, T5EncoderConfig):
        return {"shared": TABLE, **_stack("encoder", "final_norm", cfg.gated, SELF)}
    both = _stack("encoder", "encoder_norm", cfg.gated, SELF)
    return {"shared": TABLE, **both, **_stack("decoder", "decoder_norm", cfg.gated, SELF, CROSS)}


T5 = Format(
    model_type="t5",
    example="google-t5/t5-small",
    summary="encoder, decoder and cross-attention; unscaled scores with a relative bias per head and distance, also shown as a table",
    architecture="T5",
    config=lambda values: T5EncoderConfig if values.get("alone") else T5Config,
    tables=False,
    fields=_fields("relu", divided=True),
    stored={"own_output": ("lm_head.",)},
    weights=_weights,
    special_tokens={"start": "<pad>", "end": "</s>", "pad": "<pad>"},
    outside=(),
    output_suffix="ForConditionalGeneration",
    body_suffix="EncoderModel",
    ignored_tensors=r"decoder\.block\.0\.layer\.1\.EncDecAttention\.relative_attention_bias\.weight",
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
    guess_key="model_type",  # its tensors are those of a T5, so it is never guessed
    fields=_fields("gated-gelu", divided=False),
)
