"""Bloom (Le Scao et al. 2022) and MPT (MosaicML 2023): both with ALiBi."""

from __future__ import annotations

from core.checkpoints.foreign.gpt import EPS, FOUR_TIMES
from core.checkpoints.foreign.neox import FEED_FORWARD, NORMS, PACKED
from core.checkpoints.foreign.table import (
    QKV,
    Field,
    Format,
    Values,
    feed_forward,
    layers,
    only,
    sizes,
    stacked,
    whole_number,
    wrong,
)
from core.checkpoints.safety.config_schema import Fields
from core.checkpoints.task_heads import of_decoder
from core.models.bloom import BloomConfig

BLOOM = Format(
    model_type="bloom",
    like="bigscience/bloom-560m",
    shows="ALiBi (scores fall with the distance), also shown as a table; a norm after the embeddings",
    config=BloomConfig,
    tables=False,
    fields=(
        only(apply_residual_connection_post_layernorm=False, slow_but_exact=False),
        *sizes(omit="d_ff n_ctx", n_layers="n_layer", n_heads="n_head", d_model="hidden_size n_embed"),
        whole_number("n_ctx", "seq_length", default=2048),
        FOUR_TIMES,
        EPS,
    ),
    weights={
        "word_embeddings": "embed.token",
        "word_embeddings_layernorm": "embed.norm",
        **layers(
            "h",
            {"self_attention.query_key_value": PACKED, "self_attention.dense": "self_attn.to_out"},
            FEED_FORWARD,
            **NORMS,
        ),
        "ln_f": "final_norm",
    },
    prefix="transformer.",
    tasks=of_decoder("score"),
)
ATTENTION = only(
    alibi=True,
    alibi_bias_max=8,
    attn_type="multihead_attention",
    prefix_lm=False,
    qk_ln=False,
    clip_qkv=None,
    softmax_scale=None,
    attn_uses_sequence_id=False,
)


def _check_attention(fields: Fields, values: Values) -> Values:
    parts = fields.raw("attn_config") or {}
    if not isinstance(parts, dict):
        raise wrong("attn_config", parts, "It is an object.")
    return ATTENTION.read(Fields(parts, "config.json, attn_config"), values)


MPT = Format(
    model_type="mpt",
    like="mosaicml/mpt-7b",
    shows="ALiBi (scores fall with the distance), also shown as a table",
    config=BloomConfig,
    tables=False,
    fields=(
        *sizes(omit="d_ff n_ctx", n_layers="n_layers", n_heads="n_heads", d_model="d_model"),
        whole_number("n_ctx", "max_seq_len", default=2048),
        only(expansion_ratio=4, no_bias=True, logit_scale=None),
        Field(read=_check_attention),
        FOUR_TIMES,
        EPS,
    ),
    fixed={"bias": False, "embed_norm": False, "activation": "gelu"},
    weights={
        "wte": "embed.token",
        **layers(
            "blocks",
            {"attn.Wqkv": stacked(*QKV), "attn.out_proj": "self_attn.to_out"},
            feed_forward("ffn.up_proj", "ffn.down_proj"),
            norm1="norm_1",
            norm2="norm_2",
        ),
        "norm_f": "final_norm",
    },
    prefix="transformer.",
    tasks=of_decoder("score"),
)
