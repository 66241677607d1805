"""Llama (Touvron et al. 2023) and its kin: Mistral (2023), Qwen (Yang et al. 2024) and others of its build."""

from __future__ import annotations

from typing import Any

from core.checkpoints.foreign import gpt, neox
from core.checkpoints.foreign.rope import SHARE, per_layer, rope_field, window
from core.checkpoints.foreign.table import (
    GELUS,
    QKV,
    SILUS,
    Field,
    Format,
    Row,
    Values,
    Weights,
    attention,
    changed,
    computed,
    feed_forward,
    flag,
    kin,
    layers,
    only,
    positive,
    row,
    sizes,
    small,
    stacked,
    whole_number,
    word,
    written_of,
)
from core.checkpoints.safety.config_schema import RANGES, Fields
from core.checkpoints.task_heads import of_decoder
from core.models.bloom import BloomConfig
from core.models.llama import LlamaConfig

UNBIASED = only(attention_bias=False)
GROUPS = whole_number("n_kv_heads", "num_key_value_heads", default=lambda values: values["n_heads"])
WIDTH = whole_number("d_head", "head_dim", default=lambda values: values["d_model"] // values["n_heads"])
SHARED_WIDTH = computed("d_head", lambda values: values["d_model"] // values["n_heads"])
EPS = small("layer_norm_eps", 1e-5)
SIZES = (*sizes(), GROUPS)
SHAPE = (only(mlp_bias=False), *SIZES, WIDTH, small("rms_norm_eps", 1e-6))
ACTIVATION = word("hidden_act", {**SILUS, "gelu_pytorch_tanh": "gelu_tanh", "gelu_new": "gelu_tanh"}, "silu")
TIED, USUALLY_TIED = (flag("tie_word_embeddings", "tied", default) for default in (False, True))
PARALLEL = {"norm": "layer", "block": "one norm", "gated": False}
BIASED = dict.fromkeys(("qkv_bias", "out_bias", "ffn_bias"), True)
OUT_BIAS = row("logits_bias", shape=lambda cfg: (cfg.n_vocab,))
STRETCHED = ("default", "llama3")
ROTARY = rope_field(kinds=STRETCHED)
BASE = (*SHAPE, ACTIVATION, TIED, ROTARY)
ATTENTION = {
    **attention("self_attn.{}_proj", "q k v o"),
    **{f"self_attn.{part}_norm": f"self_attn.{part}_norm" for part in "qk"},
}
GATED = feed_forward("mlp.up_proj", "mlp.down_proj", gate="mlp.gate_proj")
NORMS = neox.NORMS
ENDS = {"embed_tokens": "embed.token", "norm": "final_norm"}
WEIGHTS = {**ENDS, **layers("layers", ATTENTION, GATED, **NORMS)}
LLAMA = Format(
    model_type="llama",
    like="HuggingFaceTB/SmolLM2-135M",
    shows="rotary positions (queries and keys before and after rotation), grouped-query attention; RoPE scaling as in Llama 3.1",
    config=LlamaConfig,
    tables=False,
    fields=(UNBIASED, only(pretraining_tp=1), *BASE),
    weights=WEIGHTS,
    prefix="model.",
    tasks=of_decoder("score"),
    wrapped="transformer.",
)
MISTRAL = kin(
    LLAMA,
    "mistral",
    "mistralai/Mistral-7B-v0.1",
    "Llama with a sliding window",
    telling="sliding_window",
    fields=(*BASE, window(default=4096)),
)
QWEN2 = kin(
    LLAMA,
    "qwen2",
    "Qwen/Qwen2.5-0.5B",
    "Llama with biases on queries, keys and values",
    fields=(*BASE, window(switch="use_sliding_window")),
    fixed={"qkv_bias": True},
)
QWEN3 = kin(
    QWEN2,
    "qwen3",
    "Qwen/Qwen3-0.6B",
    "Llama with query-key norms per head",
    fields=(UNBIASED, *QWEN2.fields),
    fixed={"qk_norm": True},
)


def _read_unrotated(fields: Fields, values: Values) -> Values:
    n = values["n_layers"]
    rotated = per_layer(fields, "no_rope_layers", n, (0, 1))
    if rotated is None:
        step = fields.whole_number("no_rope_layer_interval", largest=RANGES["n_layers"], default=4)
        rotated = [(i + 1) % step for i in range(n)]
    return {"unturned": tuple(i for i, each in enumerate(rotated) if not each)}


SMOLLM3 = kin(
    LLAMA,
    "smollm3",
    "HuggingFaceTB/SmolLM3-3B",
    "Llama; every fourth layer has no rotary positions (NoPE)",
    architecture="SmolLM3",
    telling="no_rope_layers",
    fields=(
        only(attention_bias=False, use_sliding_window=False),
        *SHAPE,
        ACTIVATION,
        USUALLY_TIED,
        rope_field(default=2000000.0, kinds=STRETCHED),
        Field(
            read=_read_unrotated,
            write=lambda cfg: {"no_rope_layers": [int(i not in cfg.unturned) for i in range(cfg.n_layers)]},
        ),
    ),
)
OLMO2 = kin(
    LLAMA,
    "olmo2",
    "allenai/OLMo-2-0425-1B",
    "Llama with norms after the sub-layers, and query-key norms over all heads together",
    fields=(UNBIASED, *BASE),
    fixed={"block": "behind", "wide_norm": True},
    weights={
        **ENDS,
        **layers(
            "layers",
            ATTENTION,
            GATED,
            after1="post_attention_layernorm",
            after2="post_feedforward_layernorm",
        ),
    },
)


def _factor(key: str, name: str, power: int = 1) -> Field:
    """Name a factor of a Granite, of which ours is a power."""

    def read(fields: Fields, values: Values) -> Values:
        return {name: (fields.positive(key, 1.0) or 1.0) ** power}

    def write(cfg: Any) -> Values:
        return {key: (getattr(cfg, name, 1.0) or cfg.d_head) ** (1 / power)}

    return Field(read=read, write=write, names={name: (key,)})


GRANITE = kin(
    LLAMA,
    "granite",
    "ibm-granite/granite-3.3-2b-instruct",
    "Llama with multipliers for embeddings, scores and logits (the one for the sub-layers is multiplied into their output matrices)",
    telling="residual_multiplier",
    fields=(
        UNBIASED,
        *BASE,
        _factor("embedding_multiplier", "embed_scale"),
        _factor("logits_scaling", "output_scale", -1),
        _factor("attention_multiplier", "scale", -2),
        _factor("residual_multiplier", "branch"),
    ),
    weights=changed(WEIGHTS, r"o_proj|down_proj", times="branch"),
)
PHI3 = kin(
    LLAMA,
    "phi3",
    "microsoft/Phi-3-mini-4k-instruct",
    "Llama with queries, keys and values in one matrix; partial rotary positions, LongRoPE (texts up to the length of the training); a sliding window if one is set",
    telling="original_max_position_embeddings",
    fields=(
        *SHAPE,
        ACTIVATION,
        TIED,
        rope_field(share=(SHARE, 1.0), kinds=("default", "longrope")),
        window(),
    ),
    weights={
        **ENDS,
        **layers(
            "layers",
            {
                "self_attn.qkv_proj": stacked(*QKV),
                "self_attn.o_proj": "self_attn.to_out",
                "mlp.gate_up_proj": stacked("ffn.to_gate", "ffn.to_hidden"),
                "mlp.down_proj": "ffn.to_out",
            },
            **NORMS,
        ),
    },
)
STABLELM = kin(
    LLAMA,
    "stablelm",
    "stabilityai/stablelm-2-1_6b",
    "Llama with partial rotary positions and LayerNorm; attention and feed-forward may be parallel",
    architecture="StableLm",
    telling="use_qkv_bias",
    fields=(
        only(qk_layernorm=False),
        *SIZES,
        SHARED_WIDTH,
        ACTIVATION,
        TIED,
        EPS,
        flag("use_qkv_bias", "qkv_bias", False),
        Field(
            read=lambda fields, values: {
                "block": "one norm" if fields.flag("use_parallel_residual", False) else "before"
            },
            write=lambda cfg: {"use_parallel_residual": cfg.block == "one norm"},
        ),
        rope_field(share=(SHARE, 0.25)),
    ),
    fixed={"norm": "layer"},
)


def neighbours(rows: Weights) -> dict[str, Row]:
    """Mark the maps of queries and of keys as stored with the two of a rotated pair as neighbours."""

    def pairs(n_heads: str) -> Any:
        return lambda cfg: (getattr(cfg, n_heads), cfg.d_rotary or cfg.d_head)

    return changed(changed(rows, "q_proj", pairs=pairs("n_heads")), "k_proj", pairs=pairs("n_kv_heads"))


COHERE = kin(
    LLAMA,
    "cohere",
    "CohereForAI/aya-23-8B",
    "Llama with parallel attention and feed-forward after one norm; interleaved rotary pairs of the file are halves of a head here",
    telling="logit_scale",
    fields=(
        only(attention_bias=False, use_qk_norm=False),
        *SIZES,
        WIDTH,
        ACTIVATION,
        EPS,
        USUALLY_TIED,
        rope_field(default=500000.0),
        positive("logit_scale", "output_scale", 0.0625),
    ),
    fixed={"norm": "layer, unbiased", "block": "one norm"},
    weights=neighbours(WEIGHTS),
)
PHI = kin(
    LLAMA,
    "phi",
    "microsoft/phi-2",
    "parallel attention and feed-forward after one norm; partial rotary positions; biases everywhere",
    telling="qk_layernorm",
    fields=(
        only(qk_layernorm=False),
        *SIZES,
        WIDTH,
        word("hidden_act", GELUS, "gelu_new"),
        TIED,
        EPS,
        rope_field(share=(SHARE, 0.5)),
    ),
    fixed=PARALLEL | BIASED | {"logits_bias": True},
    weights={
        "embed_tokens": "embed.token",
        "final_layernorm": "final_norm",
        "lm_head.bias": OUT_BIAS,
        **layers(
            "layers",
            attention("self_attn.{}", "q_proj k_proj v_proj dense"),
            feed_forward("mlp.fc1", "mlp.fc2"),
            norm1="input_layernorm",
        ),
    },
)
GPTJ = kin(
    LLAMA,
    "gptj",
    "EleutherAI/gpt-j-6b",
    "parallel attention and feed-forward after one norm; partial rotary positions, interleaved pairs of the file are halves of a head here",
    architecture="GPTJ",
    telling="rotary_dim",
    fields=(
        *gpt.SIZES,
        SHARED_WIDTH,
        computed("n_kv_heads", lambda values: values["n_heads"]),
        whole_number("d_rotary", "rotary_dim", default=64, most=RANGES["d_head"]),
        whole_number("d_ff", "n_inner", default=gpt.four_times),
        word("activation_function", GELUS, "gelu_new"),
        TIED,
        gpt.EPS,
    ),
    fixed=PARALLEL | {"ffn_bias": True, "logits_bias": True},
    weights={
        "wte": "embed.token",
        "ln_f": "final_norm",
        "lm_head.bias": OUT_BIAS,
        **neighbours(
            layers(
                "h",
                attention("attn.{}_proj", "q k v out"),
                feed_forward("mlp.fc_in", "mlp.fc_out"),
                norm1="ln_1",
            )
        ),
    },
    prefix="transformer.",
    passed=r"h\.\d+\.attn\.bias",
    wrapped="",
    tasks=of_decoder("classifier", biased=True),
)


ALIBI = only(
    "With ALiBi a Falcon is computed whose heads have keys of their own, whose maps have biases and whose sub-layers follow each other.",
    new_decoder_architecture=False,
    multi_query=False,
    parallel_attn=False,
    bias=True,
)
FALCON_FLAGS = {
    "new_decoder_architecture": False,
    "multi_query": True,
    "parallel_attn": True,
    "bias": False,
    "alibi": False,
}


def _read_falcon(fields: Fields, values: Values) -> Values:
    flags = {key: bool(fields.flag(key, default)) for key, default in FALCON_FLAGS.items()}
    new, one, parallel, bias, alibi = flags.values()
    n_heads = values["n_heads"]
    groups = fields.whole_number("num_kv_heads", largest=RANGES["n_kv_heads"], default=n_heads)
    norms = fields.whole_number("num_ln_in_parallel_attn", largest=2, default=2 if new else 1)
    if alibi:
        ALIBI.read(fields.having(**flags), values)
    return {
        "halved": alibi,
        "bias": bias,
        "n_kv_heads": groups if new else 1 if one else n_heads,
        "block": "before" if not parallel else "parallel" if new and norms == 2 else "one norm",
        **dict.fromkeys(BIASED, bias),
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
    packed = row(*QKV, heads=lambda cfg: getattr(cfg, "n_kv_heads", cfg.n_heads))
    two_norms = getattr(cfg, "block", "") == "parallel"
    return {
        "word_embeddings": "embed.token",
        "ln_f": "final_norm",
        **layers(
            "h",
            {"self_attention.query_key_value": packed, "self_attention.dense": "self_attn.to_out"},
            neox.FEED_FORWARD,
            **({"norm1": "ln_attn", "norm2": "ln_mlp"} if two_norms else NORMS),
        ),
    }


FALCON = kin(
    LLAMA,
    "falcon",
    "tiiuae/falcon-rw-1b",
    "queries, keys and values in one matrix; multi-query or grouped-query attention; parallel attention and feed-forward; ALiBi in the older ones",
    telling="new_decoder_architecture",
    fields=(
        *sizes(
            omit="d_ff n_ctx",
            n_layers="num_hidden_layers n_layer",
            n_heads="num_attention_heads n_head",
            d_model="hidden_size n_embed",
        ),
        whole_number("n_ctx", "max_position_embeddings", default=2048),
        whole_number("d_ff", "ffn_hidden_size", default=gpt.four_times),
        SHARED_WIDTH,
        Field(read=_read_falcon, write=_write_falcon, names={"n_kv_heads": ("num_kv_heads",)}),
        word("activation", GELUS, "gelu"),
        written_of(LlamaConfig, USUALLY_TIED),
        small("layer_norm_epsilon", 1e-5),
        written_of(LlamaConfig, rope_field()),
    ),
    config=lambda values: BloomConfig if values.get("halved") else LlamaConfig,
    fixed={"norm": "layer", "gated": False, "embed_norm": False},
    weights=_falcon_weights,
    prefix="transformer.",
    wrapped="",
)
HELIUM = kin(
    LLAMA,
    "helium",
    "kyutai/helium-1-preview-2b",
    "Llama; interleaved rotary pairs of the file are halves of a head here",
    telling="model_type",  # its tensors are those of a Llama
    fields=(UNBIASED, *BASE),
    weights=neighbours(WEIGHTS),
)
STARCODER2 = kin(
    LLAMA,
    "starcoder2",
    "bigcode/starcoder2-3b",
    "Llama with biases, LayerNorm and a feed-forward network without a gate; a sliding window if one is set",
    telling="use_bias",
    fields=(
        only(use_bias=True),
        *SIZES,
        SHARED_WIDTH,
        word("hidden_act", GELUS, "gelu_pytorch_tanh"),
        USUALLY_TIED,
        small("norm_epsilon", 1e-5),
        ROTARY,
        window(),
    ),
    fixed={"norm": "layer", "gated": False} | BIASED,
    weights={**ENDS, **layers("layers", ATTENTION, gpt.FEED_FORWARD, **NORMS)},
)
NORMED = flag("norm_topk_prob", "among_chosen", False)


def experts(n: int, *, active: int) -> tuple[Field, ...]:
    """Name how many experts there are and how many compute each token."""
    keys = ("num_local_experts", "num_experts")
    return (
        whole_number("n_experts", *keys, default=n, most=4096),
        whole_number("n_active", "num_experts_per_tok", default=active, most=4096),
    )


def _routed(mlp: str, hidden: str, out: str, gate: str) -> Weights:
    """Name the tensors of blocks with a router and its experts, by the names of their parts."""
    parts = feed_forward(hidden, out, gate)
    experts = {f"{mlp}.experts.*.{part}": f"ffn.experts.*.{ours[4:]}" for part, ours in parts.items()}
    return {**ENDS, **layers("layers", ATTENTION, {f"{mlp}.gate": "ffn.router"}, experts, **NORMS)}


ROUTED = _routed("mlp", "up_proj", "down_proj", "gate_proj")
MIXTRAL = kin(
    LLAMA,
    "mixtral",
    "mistralai/Mixtral-8x7B-v0.1",
    "Llama with a mixture of experts and its router",
    telling="num_local_experts",
    fields=(*BASE, window(), *experts(8, active=2)),
    weights=_routed("block_sparse_moe", "w3", "w2", "w1"),
)
QWEN3_MOE = kin(
    QWEN3,
    "qwen3_moe",
    "Qwen/Qwen3-30B-A3B",
    "Qwen3 with a mixture of experts and its router",
    architecture="Qwen3Moe",
    telling="moe_intermediate_size",
    fields=(
        *QWEN3.fields,
        only(decoder_sparse_step=1, mlp_only_layers=[]),
        whole_number("d_ff", "moe_intermediate_size", default=768),
        *experts(128, active=8),
        NORMED,
    ),
    weights=ROUTED,
)
OLMOE = kin(
    LLAMA,
    "olmoe",
    "allenai/OLMoE-1B-7B-0924",
    "Llama with query-key norms over all heads together; a mixture of experts and its router, whose weights sum to less than 1",
    telling="norm_topk_prob",
    fields=(UNBIASED, only(clip_qkv=None), *BASE, *experts(64, active=8), NORMED),
    fixed={"wide_norm": True},
    weights=ROUTED,
)
