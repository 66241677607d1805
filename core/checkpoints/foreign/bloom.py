"""Bloom (Le Scao et al. 2022) and MPT (MosaicML 2023) in Hugging Face format: both with ALiBi."""

from __future__ import annotations

import re
from typing import Any

from core.checkpoints.files import shown
from core.checkpoints.foreign.neox import LAYER
from core.checkpoints.foreign.table import (
    Field,
    Format,
    Values,
    dropouts,
    only,
    row,
    sizes,
    small,
    under,
    whole_number,
)
from core.checkpoints.safety.config_schema import ELSEWHERE, Fields
from core.checkpoints.task_heads import of_decoder
from core.errors import InputError
from core.models.relative.bloom import BloomConfig

WIDE = Field(read=lambda fields, given: {"d_ff": 4 * given["d_model"]})
EPS = small("layer_norm_epsilon", 1e-5)
BLOOM = Format(
    model_type="bloom",
    architecture="Bloom",
    like="bigscience/bloom-560m",
    shows="ALiBi (scores fall with the distance), also shown as a table; a norm after the embeddings",
    config=BloomConfig,
    tables=False,
    fields=(
        only(
            "apply_residual_connection_post_layernorm",
            False,
            "Here each sub-layer is added to what its norm read.",
        ),
        only(
            "slow_but_exact", False, "Products cut into slices, as in the pretraining, are not implemented."
        ),
        *sizes(
            n_layers="n_layer num_hidden_layers",
            n_heads="n_head num_attention_heads",
            d_model="hidden_size n_embed",
            n_vocab="vocab_size",
        ),
        whole_number("n_ctx", "seq_length", default=2048),
        WIDE,
        EPS,
        dropouts("hidden_dropout", zero="attention_dropout"),
    ),
    weights={
        "word_embeddings": "embed.token",
        "word_embeddings_layernorm": "embed.norm",
        **under(
            "h.*.", "layers.*.", {re.sub("^attention", "self_attention", name): LAYER[name] for name in LAYER}
        ),
        "ln_f": "final_norm",
    },
    prefix="transformer.",
    tasks=of_decoder("score"),
)
PARTS: Values = {
    "alibi": True,
    "alibi_bias_max": 8,
    "attn_type": "multihead_attention",
    "prefix_lm": False,
    "qk_ln": False,
    "clip_qkv": None,
    "softmax_scale": None,
    "attn_uses_sequence_id": False,
}
"""The values that MPT's attn_config must have where it has them."""


def _attention(fields: Fields, given: Values) -> Values:
    said: Any = fields.raw("attn_config") or {}
    wrong = [f"attn_config is {shown(repr(said), 40)}"] if not isinstance(said, dict) else []
    wrong = wrong or [
        f"attn_config has {name} = {shown(repr(said[name]), 40)}"
        for name, right in PARTS.items()
        if name in said and (said[name] != right or type(said[name]) is not type(right))
    ]
    if wrong:
        why = "Of MPT the attention with ALiBi and nothing else is computed here."
        raise InputError(f"config.json: {wrong[0]}.", why, ELSEWHERE)
    return {}


MPT = Format(
    model_type="mpt",
    architecture="Mpt",
    like="mosaicml/mpt-7b",
    shows="ALiBi (scores fall with the distance), also shown as a table",
    config=BloomConfig,
    tables=False,
    fields=(
        *sizes(
            n_layers="n_layers num_hidden_layers",
            n_heads="n_heads num_attention_heads",
            d_model="d_model hidden_size",
            n_vocab="vocab_size",
        ),
        whole_number("n_ctx", "max_seq_len", default=2048),
        only(
            "expansion_ratio",
            4,
            "The feed-forward network of this kind is always four times as wide as the model.",
        ),
        only("no_bias", True, "Biases of the maps are not implemented for this kind."),
        only("logit_scale", None, "Scaled logits are not implemented."),
        Field(read=_attention, write=lambda cfg: {"attn_config": {"alibi": True}}),
        WIDE,
        EPS,
        dropouts("resid_pdrop", zero="emb_pdrop"),
    ),
    fixed={"bias": False, "embed_norm": False, "activation": "gelu"},
    weights={
        "wte": "embed.token",
        **under(
            "blocks.*.",
            "layers.*.",
            {
                "norm_1": "norm1",
                "attn.Wqkv": row(*(f"self_attn.to_{part}" for part in "qkv"), heads=lambda _: 1),
                "attn.out_proj": "self_attn.to_out",
                "norm_2": "norm2",
                "ffn.up_proj": "ffn.to_hidden",
                "ffn.down_proj": "ffn.to_out",
            },
        ),
        "norm_f": "final_norm",
    },
    prefix="transformer.",
    tasks=of_decoder("score"),
)
FORMATS = (BLOOM, MPT)
