"""Llama (Touvron et al. 2023) and its kin: Mistral (2023), Qwen (Yang et al. 2024) and others of its build."""

from __future__ import annotations

from core.checkpoints.foreign import gpt, keys, neox, tensors
from core.checkpoints.foreign.keys import Field, Values
from core.checkpoints.foreign.rope import per_layer, rope_field, window
from core.checkpoints.foreign.table import Format, kin
from core.checkpoints.foreign.tensors import QKV, Row, Weights
from core.checkpoints.safety.config_schema import RANGES, Fields
from core.checkpoints.task_heads import of_decoder
from core.models.llama import LlamaConfig

UNBIASED = keys.off("attention_bias")
GROUPS = keys.whole_number("n_kv_heads", "num_key_value_heads", default=lambda values: values["n_heads"])
WIDTH = keys.whole_number("d_head", "head_dim", default=lambda values: values["d_model"] // values["n_heads"])
SHARED_WIDTH = keys.computed("d_head", lambda values: values["d_model"] // values["n_heads"])
EPS = keys.small("layer_norm_eps", 1e-5)
SIZES = (*keys.size_fields(), GROUPS)
SHAPE = (keys.off("mlp_bias"), *SIZES, WIDTH, keys.small("rms_norm_eps", 1e-6))
ACTIVATION = keys.word(
    "hidden_act", {**keys.SILUS, "gelu_pytorch_tanh": "gelu_tanh", "gelu_new": "gelu_tanh"}, "silu"
)
TIED, USUALLY_TIED = (keys.flag("tie_word_embeddings", "tied", default) for default in (False, True))
PARALLEL = {"norm": "layer", "block": "one norm", "gated": False}
BIASED = dict.fromkeys(("qkv_bias", "out_bias", "ffn_bias"), True)
OUT_BIAS = tensors.make_row("logits_bias", shape=lambda cfg: (cfg.n_vocab,))
SCALED = ("default", "llama3")
ROTARY = rope_field(scalings=SCALED)
BASE = (*SHAPE, ACTIVATION, TIED, ROTARY)
ATTENTION = {
    **tensors.attention("self_attn.{}_proj", "q k v o"),
    **{f"self_attn.{part}_norm": f"self_attn.{part}_norm" for part in "qk"},
}
GATED = tensors.feed_forward("mlp.up_proj", "mlp.down_proj", gate="mlp.gate_proj")
NORMS = neox.NORMS
ENDS = {"embed_tokens": "embed.token", "norm": "final_norm"}


def weights(*tables: Weights, **norms: str) -> dict[str, Row]:
    """Map the tensors of a Llama by the tables of its layers, with its own norms unless there are others."""
    return tensors.as_rows(ENDS) | tensors.layers("layers", *tables, **norms or NORMS)


WEIGHTS = weights(ATTENTION, GATED)
LLAMA = Format(
    model_type="llama",
    example="HuggingFaceTB/SmolLM2-135M",
    summary="rotary positions (queries and keys before and after rotation), grouped-query attention; RoPE scaling as in Llama 3.1",
    config=LlamaConfig,
    tables=False,
    fields=(UNBIASED, keys.only(pretraining_tp=1), *BASE),
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
    guess_key="sliding_window",
    fields=(*BASE, window(default=4096)),
)
QWEN2 = kin(
    LLAMA,
    "qwen2",
    "Qwen/Qwen2.5-0.5B",
    "Llama with biases on queries, keys and values",
    fields=keys.otherwise(*BASE, window(4096, "use_sliding_window"), max_window_layers=28),
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


def _read_unrotated(fields: Fields, values: Values) -> tuple[int, ...]:
    n = values["n_layers"]
    step = fields.whole_number("no_rope_layer_interval", largest=RANGES["n_layers"], default=4)
    rotated = per_layer(fields, "no_rope_layers", n, (0, 1)) or [(i + 1) % step for i in range(n)]
    return tuple(i for i, each in enumerate(rotated) if not each)


SMOLLM3 = kin(
    LLAMA,
    "smollm3",
    "HuggingFaceTB/SmolLM3-3B",
    "Llama; every fourth layer has no rotary positions (NoPE)",
    architecture="SmolLM3",
    guess_key="no_rope_layers",
    fields=(
        keys.off("attention_bias use_sliding_window"),
        *SHAPE,
        ACTIVATION,
        USUALLY_TIED,
        rope_field(default=2000000.0, scalings=SCALED),
        keys.value_field(
            "unturned",
            ("no_rope_layers",),
            _read_unrotated,
            lambda cfg: [int(i not in cfg.unturned) for i in range(cfg.n_layers)],
        ),
    ),
)
OLMO2 = kin(
    LLAMA,
    "olmo2",
    "allenai/OLMo-2-0425-1B",
    "Llama with norms after the sub-layers, and query-key norms over all heads together",
    fields=keys.otherwise(UNBIASED, *BASE, rms_norm_eps=1e-5),
    fixed={"block": "behind", "wide_norm": True},
    weights=weights(ATTENTION, GATED, after1="post_attention_layernorm", after2="post_feedforward_layernorm"),
)


def _factor(key: str, name: str, power: int = 1) -> Field:
    """Map a factor of a Granite, of which ours is a power."""
    return keys.value_field(
        name,
        (key,),
        lambda fields, values: (fields.positive(key, 1.0) or 1.0) ** power,
        lambda cfg: (getattr(cfg, name, 1.0) or cfg.d_head) ** (1 / power),
    )


GRANITE = kin(
    LLAMA,
    "granite",
    "ibm-granite/granite-3.3-2b-instruct",
    "Llama with multipliers for embeddings, scores and logits (the one for the sub-layers is multiplied into their output matrices)",
    guess_key="residual_multiplier",
    fields=(
        UNBIASED,
        *BASE,
        _factor("embedding_multiplier", "embed_scale"),
        _factor("logits_scaling", "output_scale", -1),
        _factor("attention_multiplier", "scale", -2),
        _factor("residual_multiplier", "branch"),
    ),
    weights=tensors.changed(WEIGHTS, r"o_proj|down_proj", times="branch"),
)
PHI3 = kin(
    LLAMA,
    "phi3",
    "microsoft/Phi-3-mini-4k-instruct",
    "Llama with queries, keys and values in one matrix; partial rotary positions, LongRoPE (texts up to the length of the training); a sliding window if one is set",
    guess_key="original_max_position_embeddings",
    fields=keys.otherwise(
        *BASE[:-1], rope_field(share=1.0, scalings=("default", "longrope")), window(), rms_norm_eps=1e-5
    ),
    weights=weights(
        {
            "self_attn.qkv_proj": tensors.stacked_row(*QKV),
            "self_attn.o_proj": "self_attn.to_out",
            "mlp.gate_up_proj": tensors.stacked_row("ffn.to_gate", "ffn.to_hidden"),
            "mlp.down_proj": "ffn.to_out",
        }
    ),
)
STABLELM = kin(
    LLAMA,
    "stablelm",
    "stabilityai/stablelm-2-1_6b",
    "Llama with partial rotary positions and LayerNorm; attention and feed-forward may be parallel",
    architecture="StableLm",
    guess_key="use_qkv_bias",
    fields=(
        keys.off("qk_layernorm"),
        *SIZES,
        SHARED_WIDTH,
        ACTIVATION,
        TIED,
        EPS,
        keys.flag("use_qkv_bias", "qkv_bias", False),
        keys.flag("use_parallel_residual", "block", False, yes="one norm", no="before"),
        rope_field(share=0.25),
    ),
    fixed={"norm": "layer"},
)


def neighbours(rows: Weights) -> dict[str, Row]:
    """Mark the maps of queries and of keys as stored with the two of a rotated pair as neighbours."""
    return tensors.changed(tensors.changed(rows, "q_proj", pairs="n_heads"), "k_proj", pairs="n_kv_heads")


COHERE = kin(
    LLAMA,
    "cohere",
    "CohereForAI/aya-23-8B",
    "Llama with parallel attention and feed-forward after one norm; interleaved rotary pairs of the file are halves of a head here",
    guess_key="logit_scale",
    fields=(
        keys.off("attention_bias use_qk_norm"),
        *SIZES,
        WIDTH,
        ACTIVATION,
        EPS,
        USUALLY_TIED,
        rope_field(default=500000.0),
        keys.positive("logit_scale", "output_scale", 0.0625),
    ),
    fixed={"norm": "layer, unbiased", "block": "one norm"},
    weights=neighbours(WEIGHTS),
)
DENSE = tensors.attention("self_attn.{}", "q_proj k_proj v_proj dense")
PHI = kin(
    LLAMA,
    "phi",
    "microsoft/phi-2",
    "parallel attention and feed-forward after one norm; partial rotary positions; biases everywhere",
    guess_key="qk_layernorm",
    fields=(
        keys.off("qk_layernorm"),
        *SIZES,
        WIDTH,
        keys.word("hidden_act", keys.GELUS, "gelu_new"),
        TIED,
        EPS,
        rope_field(share=0.5),
    ),
    fixed=PARALLEL | BIASED | {"logits_bias": True},
    weights={
        "embed_tokens": "embed.token",
        "final_layernorm": "final_norm",
        "lm_head.bias": OUT_BIAS,
        **tensors.layers(
            "layers", DENSE, tensors.feed_forward("mlp.fc1", "mlp.fc2"), norm1="input_layernorm"
        ),
    },
)
SPLIT = tensors.attention("attn.{}_proj", "q k v out")
GPTJ = kin(
    LLAMA,
    "gptj",
    "EleutherAI/gpt-j-6b",
    "parallel attention and feed-forward after one norm; partial rotary positions, interleaved pairs of the file are halves of a head here",
    architecture="GPTJ",
    guess_key="rotary_dim",
    fields=(
        *gpt.SIZES,
        SHARED_WIDTH,
        keys.computed("n_kv_heads", lambda values: values["n_heads"]),
        keys.whole_number("d_rotary", "rotary_dim", default=64),
        keys.whole_number("d_ff", "n_inner", default=gpt.four_times),
        keys.word("activation_function", keys.GELUS, "gelu_new"),
        TIED,
        gpt.EPS,
    ),
    fixed=PARALLEL | {"ffn_bias": True, "logits_bias": True},
    weights={
        "wte": "embed.token",
        "ln_f": "final_norm",
        "lm_head.bias": OUT_BIAS,
        **neighbours(
            tensors.layers("h", SPLIT, tensors.feed_forward("mlp.fc_in", "mlp.fc_out"), norm1="ln_1")
        ),
    },
    prefix="transformer.",
    ignored_tensors=r"h\.\d+\.attn\.bias",
    wrapped="",
    tasks=of_decoder("classifier", biased=True),
)
HELIUM = kin(
    LLAMA,
    "helium",
    "kyutai/helium-1-preview-2b",
    "Llama; interleaved rotary pairs of the file are halves of a head here",
    guess_key="model_type",  # its tensors are those of a Llama
    fields=keys.otherwise(UNBIASED, *BASE, rms_norm_eps=1e-8, rope_theta=100000.0),
    weights=neighbours(WEIGHTS),
)
STARCODER2 = kin(
    LLAMA,
    "starcoder2",
    "bigcode/starcoder2-3b",
    "Llama with biases, LayerNorm and a feed-forward network without a gate; a sliding window if one is set",
    guess_key="use_bias",
    fields=(
        keys.only(use_bias=True),
        *SIZES,
        SHARED_WIDTH,
        keys.word("hidden_act", keys.GELUS, "gelu_pytorch_tanh"),
        USUALLY_TIED,
        keys.small("norm_epsilon", 1e-5),
        ROTARY,
        window(),
    ),
    fixed={"norm": "layer", "gated": False} | BIASED,
    weights=weights(ATTENTION, gpt.FEED_FORWARD),
)
NORMED = keys.flag("norm_topk_prob", "among_chosen", False)


def experts(n: int, *, active: int) -> tuple[Field, ...]:
    """Map the number of experts and the number of those that compute each token."""
    return (
        keys.whole_number("n_experts", "num_local_experts", "num_experts", default=n),
        keys.whole_number("n_active", "num_experts_per_tok", default=active),
    )


def _routed(mlp: str, hidden: str, out: str, gate: str) -> Weights:
    """Map the tensors of blocks with a router and experts by the names of their parts."""
    parts = tensors.feed_forward(hidden, out, gate)
    experts = {f"{mlp}.experts.*.{part}": f"ffn.experts.*.{ours[4:]}" for part, ours in parts.items()}
    return weights(ATTENTION, {f"{mlp}.gate": "ffn.router"}, experts)


ROUTED = _routed("mlp", "up_proj", "down_proj", "gate_proj")
MIXTRAL = kin(
    LLAMA,
    "mixtral",
    "mistralai/Mixtral-8x7B-v0.1",
    "Llama with a mixture of experts and its router",
    guess_key="num_local_experts",
    fields=keys.otherwise(*BASE, window(), *experts(8, active=2), rms_norm_eps=1e-5, rope_theta=1e6),
    weights=_routed("block_sparse_moe", "w3", "w2", "w1"),
)
QWEN3_MOE = kin(
    QWEN3,
    "qwen3_moe",
    "Qwen/Qwen3-30B-A3B",
    "Qwen3 with a mixture of experts and its router",
    architecture="Qwen3Moe",
    guess_key="moe_intermediate_size",
    fields=(
        *keys.otherwise(*QWEN3.fields, max_window_layers=0),
        keys.only(decoder_sparse_step=1, mlp_only_layers=[]),
        keys.whole_number("d_ff", "moe_intermediate_size", default=768),
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
    guess_key="norm_topk_prob",
    fields=(keys.only(clip_qkv=None), *OLMO2.fields, *experts(64, active=8), NORMED),
    fixed={"wide_norm": True},
    weights=ROUTED,
)
