"""Bloom (Le Scao et al. 2022), MPT (MosaicML 2023) and Falcon (Almazrouei et al. 2023): ALiBi, in the older ones of Falcon too."""

from __future__ import annotations

from core.checkpoints.foreign import keys, llama, tensors
from core.checkpoints.foreign.gpt import EPS, FOUR_TIMES, four_times
from core.checkpoints.foreign.keys import Field, Values
from core.checkpoints.foreign.neox import FEED_FORWARD, NORMS, PACKED
from core.checkpoints.foreign.rope import rope_field
from core.checkpoints.foreign.table import Format, kin
from core.checkpoints.foreign.tensors import QKV, Row, Weights
from core.checkpoints.safety.config_schema import RANGES, Fields, wrong_value
from core.checkpoints.task_heads import of_decoder
from core.models.bloom import BloomConfig
from core.models.llama import LlamaConfig


def _weights(packed: Row, **norms: str) -> dict[str, Row]:
    """Map the tensors of a Bloom or Falcon: queries, keys and values packed, and its norms."""
    tables = {"self_attention.query_key_value": packed, "self_attention.dense": "self_attn.to_out"}
    ends = tensors.as_rows({"word_embeddings": "embed.token", "ln_f": "final_norm"})
    return ends | tensors.layers("h", tables, FEED_FORWARD, **norms)


BLOOM = Format(
    model_type="bloom",
    example="bigscience/bloom-560m",
    summary="ALiBi (scores fall with the distance), also shown as a table; a norm after the embeddings",
    config=BloomConfig,
    tables=False,
    fields=(
        keys.only(apply_residual_connection_post_layernorm=False, slow_but_exact=False),
        *keys.size_fields(
            omit="d_ff n_ctx", n_layers="n_layer", n_heads="n_head", d_model="hidden_size n_embed"
        ),
        keys.whole_number("n_ctx", "seq_length", default=2048),
        FOUR_TIMES,
        EPS,
    ),
    weights={"word_embeddings_layernorm": "embed.norm", **_weights(PACKED, **NORMS)},
    prefix="transformer.",
    tasks=of_decoder("score"),
)
ATTENTION = (
    keys.only(alibi=True, alibi_bias_max=8, attn_type="multihead_attention"),
    keys.only(clip_qkv=None, softmax_scale=None),
    keys.off("prefix_lm qk_ln attn_uses_sequence_id"),
)


def _check_attention(fields: Fields, values: Values) -> Values:
    parts = fields.raw("attn_config") or {}
    if not isinstance(parts, dict):
        raise wrong_value("attn_config", parts, "It is an object.")
    for each in ATTENTION:
        each.read(Fields(parts, "config.json, attn_config"), values)
    return {}


MPT = Format(
    model_type="mpt",
    example="mosaicml/mpt-7b",
    summary="ALiBi (scores fall with the distance), also shown as a table",
    config=BloomConfig,
    tables=False,
    fields=(
        *keys.size_fields(omit="d_ff n_ctx", n_layers="n_layers", n_heads="n_heads", d_model="d_model"),
        keys.whole_number("n_ctx", "max_seq_len", default=2048),
        keys.only(expansion_ratio=4, no_bias=True, logit_scale=None),
        Field(read=_check_attention),
        FOUR_TIMES,
        EPS,
    ),
    fixed={"bias": False, "embed_norm": False, "activation": "gelu"},
    weights={
        "wte": "embed.token",
        **tensors.layers(
            "blocks",
            {"attn.Wqkv": tensors.stacked_row(*QKV), "attn.out_proj": "self_attn.to_out"},
            tensors.feed_forward("ffn.up_proj", "ffn.down_proj"),
            norm1="norm_1",
            norm2="norm_2",
        ),
        "norm_f": "final_norm",
    },
    prefix="transformer.",
    tasks=of_decoder("score"),
)
ALIBI = keys.only(
    "With ALiBi a Falcon is computed whose heads have keys of their own, whose maps have biases and whose sub-layers follow each other.",
    new_decoder_architecture=False,
    multi_query=False,
    parallel_attn=False,
    bias=True,
)
FALCON_FLAGS = {"new_decoder_architecture": False, "multi_query": True, "parallel_attn": True, "bias": False}


def _read_falcon(fields: Fields, values: Values) -> Values:
    flags = {key: bool(fields.flag(key, default)) for key, default in FALCON_FLAGS.items()}
    new, one, parallel, bias = flags.values()
    alibi, n_heads = bool(fields.flag("alibi", False)), values["n_heads"]
    groups = fields.whole_number("num_kv_heads", largest=RANGES["n_kv_heads"], default=n_heads)
    norms = fields.whole_number("num_ln_in_parallel_attn", largest=2, default=2 if new else 1)
    if alibi:
        ALIBI.read(fields.having(**flags), values)
    return {
        "halved": alibi,
        "bias": bias,
        "n_kv_heads": groups if new else 1 if one else n_heads,
        "block": "before" if not parallel else "parallel" if new and norms == 2 else "one norm",
        **dict.fromkeys(llama.BIASED, bias),
    }


def _write_falcon(cfg: LlamaConfig | BloomConfig) -> Values:
    if isinstance(cfg, BloomConfig):
        return {"alibi": True, **ALIBI.write(cfg)}
    parallel = cfg.block != "before"
    return {
        **dict.fromkeys(("new_decoder_architecture", "parallel_attn"), parallel),
        **dict.fromkeys(("alibi", "multi_query"), False),
        "num_kv_heads": cfg.n_kv_heads,
        "num_ln_in_parallel_attn": 1 if cfg.block == "one norm" else 2,
        "bias": cfg.qkv_bias,
    }


def _falcon_weights(cfg: LlamaConfig | BloomConfig) -> Weights:
    packed = tensors.make_row(*QKV, heads=lambda cfg: getattr(cfg, "n_kv_heads", cfg.n_heads))
    two_norms = getattr(cfg, "block", "") == "parallel"
    return _weights(packed, **{"norm1": "ln_attn", "norm2": "ln_mlp"} if two_norms else NORMS)


FALCON = kin(
    llama.LLAMA,
    "falcon",
    "tiiuae/falcon-rw-1b",
    "queries, keys and values in one matrix; multi-query or grouped-query attention; parallel attention and feed-forward; ALiBi in the older ones",
    guess_key="new_decoder_architecture",
    fields=(
        *keys.size_fields(
            omit="d_ff n_ctx",
            n_layers="num_hidden_layers n_layer",
            n_heads="num_attention_heads n_head",
            d_model="hidden_size n_embed",
        ),
        keys.whole_number("n_ctx", "max_position_embeddings", default=2048),
        keys.whole_number("d_ff", "ffn_hidden_size", default=four_times),
        llama.SHARED_WIDTH,
        Field(read=_read_falcon, write=_write_falcon, names={"n_kv_heads": ("num_kv_heads",)}),
        keys.word("activation", keys.GELUS, "gelu"),
        keys.written_of(LlamaConfig, llama.USUALLY_TIED),
        keys.small("layer_norm_epsilon", 1e-5),
        keys.written_of(LlamaConfig, rope_field()),
    ),
    config=lambda values: BloomConfig if values.get("halved") else LlamaConfig,
    fixed={"norm": "layer", "gated": False, "embed_norm": False},
    weights=_falcon_weights,
    prefix="transformer.",
    wrapped="",
)
