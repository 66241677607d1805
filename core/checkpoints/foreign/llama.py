"""Llama (Touvron et al. 2023) and its kin in Hugging Face format: Mistral (2023), Qwen2 and Qwen3 (Yang et al. 2024, 2025), and others of its build."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from core.checkpoints.files import shown
from core.checkpoints.foreign import gpt
from core.checkpoints.foreign.bert import SIZES
from core.checkpoints.foreign.rope import SHARE, rope_field, window
from core.checkpoints.foreign.table import (
    GELUS,
    SILUS,
    Field,
    Format,
    Row,
    Values,
    Weights,
    changed,
    choice,
    dropouts,
    flag,
    only,
    positive,
    row,
    sizes,
    small,
    under,
    whole_number,
    word,
    written_of,
)
from core.checkpoints.safety.config_schema import RANGES, Fields
from core.checkpoints.task_heads import of_decoder
from core.errors import InputError
from core.models.relative.bloom import BloomConfig
from core.models.rotary.llama import LlamaConfig

UNBIASED = only(
    "attention_bias", False, "Biases on queries, keys, values and the output are not implemented."
)
GROUPS = whole_number("n_kv_heads", "num_key_value_heads", default=lambda given: given["n_heads"])
WIDTH = whole_number("d_head", "head_dim", default=lambda given: given["d_model"] // given["n_heads"])
SHARED_WIDTH = Field(read=lambda fields, given: {"d_head": given["d_model"] // given["n_heads"]})
"""For kinds whose heads share the width."""
SHAPE = (
    only("mlp_bias", False, "Biases of the feed-forward network are not implemented."),
    *SIZES,
    GROUPS,
    WIDTH,
    small("rms_norm_eps", 1e-6),
)
ACTIVATION = word("hidden_act", {**SILUS, "gelu_pytorch_tanh": "gelu_tanh", "gelu_new": "gelu_tanh"}, "silu")
TIED = flag("tie_word_embeddings", "tied", False)
PARALLEL = {"norm": "layer", "block": "one norm", "gated": False}
BIASED = dict.fromkeys(("qkv_bias", "out_bias", "ffn_bias"), True)
OUT_BIAS = row("logits_bias", shape=lambda cfg: (cfg.n_vocab,))
TURNED = rope_field(kinds=("default", "llama3"))
BASE = (
    *SHAPE,
    ACTIVATION,
    TIED,
    TURNED,
)
"""The fields of config.json that Llama and its kin share."""
ATTENTION = {
    **{f"self_attn.{part}_proj": f"self_attn.to_{part}" for part in "qkv"},
    "self_attn.o_proj": "self_attn.to_out",
    **{f"self_attn.{part}_norm": f"self_attn.{part}_norm" for part in "qk"},
}
GATED = {
    "mlp.gate_proj": "ffn.to_gate",
    "mlp.up_proj": "ffn.to_hidden",
    "mlp.down_proj": "ffn.to_out",
}
NORMS = {"input_layernorm": "norm1", "post_attention_layernorm": "norm2"}
ENDS = {"embed_tokens": "embed.token", "norm": "final_norm"}
WEIGHTS = {**ENDS, **under("layers.*.", "layers.*.", {**ATTENTION, **GATED, **NORMS})}
LLAMA = Format(
    model_type="llama",
    like="HuggingFaceTB/SmolLM2-135M",
    shows="rotary positions (queries and keys before and after rotation), grouped-query attention; RoPE scaling as in Llama 3.1",
    architecture="Llama",
    config=LlamaConfig,
    tables=False,
    fields=(
        UNBIASED,
        only("pretraining_tp", 1, "Products cut into slices, as in the pretraining, are not implemented."),
        *BASE,
    ),
    weights=WEIGHTS,
    prefix="model.",
    tasks=of_decoder("score"),
    wrapped="transformer.",
)
MISTRAL = replace(
    LLAMA,
    model_type="mistral",
    like="mistralai/Mistral-7B-v0.1",
    shows="Llama with a sliding window",
    architecture="Mistral",
    telling="sliding_window",
    fields=(*BASE, window(default=4096)),
)
QWEN2 = replace(
    LLAMA,
    model_type="qwen2",
    like="Qwen/Qwen2.5-0.5B",
    shows="Llama with biases on queries, keys and values",
    architecture="Qwen2",
    fields=(*BASE, window(switch="use_sliding_window")),
    fixed={"qkv_bias": True},
)
QWEN3 = replace(
    QWEN2,
    model_type="qwen3",
    like="Qwen/Qwen3-0.6B",
    shows="Llama with query-key norms per head",
    architecture="Qwen3",
    fields=(UNBIASED, *QWEN2.fields),
    fixed={"qk_norm": True},
)


def _unturned(fields: Fields, given: Values) -> Values:
    n, said = given["n_layers"], fields.raw("no_rope_layers")
    if said is None:
        step = fields.whole("no_rope_layer_interval", largest=RANGES["n_layers"], default=4)
        said = [int((i + 1) % step != 0) for i in range(n)]
    if (
        not isinstance(said, list)
        or len(said) != n
        or any(type(each) is not int or each not in (0, 1) for each in said)
    ):
        raise InputError(
            f"config.json: no_rope_layers is {shown(repr(said), 60)}.",
            f"It says of each of the {n:,} layers whether its queries and keys are turned (1) or not (0).",
            "Correct it, or download the model again.",
        )
    return {"unturned": tuple(i for i, each in enumerate(said) if not each)}


SMOLLM3 = replace(
    LLAMA,
    model_type="smollm3",
    like="HuggingFaceTB/SmolLM3-3B",
    shows="Llama; every fourth layer has no rotary positions (NoPE)",
    architecture="SmolLM3",
    telling="no_rope_layers",
    fields=(
        UNBIASED,
        only("use_sliding_window", False, "A window in some layers only is not computed for this kind."),
        *SHAPE,
        ACTIVATION,
        flag("tie_word_embeddings", "tied", True),
        rope_field(default=2000000.0, kinds=("default", "llama3")),
        Field(
            read=_unturned,
            write=lambda cfg: {"no_rope_layers": [int(i not in cfg.unturned) for i in range(cfg.n_layers)]},
        ),
    ),
)
OLMO2 = replace(
    LLAMA,
    model_type="olmo2",
    like="allenai/OLMo-2-0425-1B",
    shows="Llama with norms after the sub-layers, and query-key norms over all heads together",
    architecture="Olmo2",
    fields=(UNBIASED, *BASE),
    fixed={"block": "behind", "wide_norm": True},
    weights={
        **ENDS,
        **under(
            "layers.*.",
            "layers.*.",
            {
                **ATTENTION,
                **GATED,
                "post_attention_layernorm": "after1",
                "post_feedforward_layernorm": "after2",
            },
        ),
    },
)


def _factor(theirs: str, ours: str, *, inverse: bool = False, root: bool = False) -> Field:
    """Name a factor of a Granite; ours may be its inverse, or what scores are divided by the root of."""

    def read(fields: Fields, given: Values) -> Values:
        said = fields.positive(theirs, 1.0) or 1.0
        return {ours: said**-2 if root else 1 / said if inverse else said}

    def write(cfg: Any) -> Values:
        value = getattr(cfg, ours, 1.0) or cfg.d_head
        return {theirs: value**-0.5 if root else 1 / value if inverse else value}

    return Field(read=read, write=write, names={ours: (theirs,)})


GRANITE = replace(
    LLAMA,
    model_type="granite",
    like="ibm-granite/granite-3.3-2b-instruct",
    shows="Llama with multipliers for embeddings, scores and logits (the one for the sub-layers is multiplied into their output matrices)",
    architecture="Granite",
    telling="residual_multiplier",
    fields=(
        UNBIASED,
        *BASE,
        _factor("embedding_multiplier", "embed_scale"),
        _factor("logits_scaling", "output_scale", inverse=True),
        _factor("attention_multiplier", "scale", root=True),
        _factor("residual_multiplier", "branch"),
    ),
    weights=changed(WEIGHTS, r"o_proj|down_proj", times="branch"),
)
PHI3 = replace(
    LLAMA,
    model_type="phi3",
    like="microsoft/Phi-3-mini-4k-instruct",
    shows="Llama with queries, keys and values in one matrix; partial rotary positions, LongRoPE (texts up to the length of the training); a sliding window if one is set",
    architecture="Phi3",
    telling="original_max_position_embeddings",
    fields=(
        *SHAPE,
        ACTIVATION,
        TIED,
        rope_field(share=(SHARE, 1.0), kinds=("default", "longrope")),
        window(),
        dropouts("resid_pdrop", "embd_pdrop"),
    ),
    weights={
        **ENDS,
        **under(
            "layers.*.",
            "layers.*.",
            {
                "self_attn.qkv_proj": row(*(f"self_attn.to_{part}" for part in "qkv"), heads=lambda cfg: 1),
                "self_attn.o_proj": "self_attn.to_out",
                "mlp.gate_up_proj": row("ffn.to_gate", "ffn.to_hidden", heads=lambda cfg: 1),
                "mlp.down_proj": "ffn.to_out",
                **NORMS,
            },
        ),
    },
)
STABLELM = replace(
    LLAMA,
    model_type="stablelm",
    like="stabilityai/stablelm-2-1_6b",
    shows="Llama with partial rotary positions and LayerNorm; attention and feed-forward may be parallel",
    architecture="StableLm",
    telling="use_qkv_bias",
    fields=(
        only("qk_layernorm", False, "Norms of each head's queries and keys are not computed for this kind."),
        *SIZES,
        GROUPS,
        SHARED_WIDTH,
        ACTIVATION,
        TIED,
        small("layer_norm_eps", 1e-5),
        flag("use_qkv_bias", "qkv_bias", False),
        choice("use_parallel_residual", "block", False, yes="one norm", no="before"),
        rope_field(share=(SHARE, 0.25)),
        dropouts("hidden_dropout"),
    ),
    fixed={"norm": "layer"},
)


def _pairs(n_heads: str) -> Any:
    return lambda cfg: (getattr(cfg, n_heads), cfg.d_rotary or cfg.d_head)


def neighbours(rows: Weights) -> dict[str, Row]:
    """Say that the two of a turned pair are stored as neighbours in the maps of queries and of keys."""
    queries = changed(rows, "q_proj", pairs=_pairs("n_heads"))
    return changed(queries, "k_proj", pairs=_pairs("n_kv_heads"))


COHERE = replace(
    LLAMA,
    model_type="cohere",
    like="CohereForAI/aya-23-8B",
    shows="Llama with parallel attention and feed-forward after one norm; interleaved rotary pairs of the file are the two halves of a head here",
    architecture="Cohere",
    telling="logit_scale",
    fields=(
        UNBIASED,
        only("use_qk_norm", False, "Norms of each head's queries and keys are not computed for this kind."),
        *SIZES,
        GROUPS,
        WIDTH,
        ACTIVATION,
        small("layer_norm_eps", 1e-5),
        flag("tie_word_embeddings", "tied", True),
        rope_field(default=500000.0),
        positive("logit_scale", "output_scale", 0.0625),
    ),
    fixed={"norm": "layer, unbiased", "block": "one norm"},
    weights=neighbours(WEIGHTS),
)
PHI = replace(
    LLAMA,
    model_type="phi",
    like="microsoft/phi-2",
    shows="parallel attention and feed-forward after one norm; partial rotary positions; biases everywhere",
    architecture="Phi",
    telling="qk_layernorm",
    fields=(
        only("qk_layernorm", False, "Norms of each head's queries and keys are not computed for this kind."),
        *SIZES,
        GROUPS,
        WIDTH,
        word("hidden_act", GELUS, "gelu_new"),
        TIED,
        small("layer_norm_eps", 1e-5),
        rope_field(share=(SHARE, 0.5)),
        dropouts("resid_pdrop", "embd_pdrop"),
    ),
    fixed=PARALLEL | BIASED | {"logits_bias": True},
    weights={
        "embed_tokens": "embed.token",
        "final_layernorm": "final_norm",
        "lm_head.bias": OUT_BIAS,
        **under(
            "layers.*.",
            "layers.*.",
            {
                **{f"self_attn.{part}_proj": f"self_attn.to_{part}" for part in "qkv"},
                "self_attn.dense": "self_attn.to_out",
                "mlp.fc1": "ffn.to_hidden",
                "mlp.fc2": "ffn.to_out",
                "input_layernorm": "norm1",
            },
        ),
    },
)
GPTJ = replace(
    LLAMA,
    model_type="gptj",
    like="EleutherAI/gpt-j-6b",
    shows="parallel attention and feed-forward after one norm; partial rotary positions, interleaved pairs of the file are two halves here",
    architecture="GPTJ",
    telling="rotary_dim",
    fields=(
        *gpt.SIZES,
        SHARED_WIDTH,
        Field(
            read=lambda fields, given: {
                "n_kv_heads": given["n_heads"],
                "d_rotary": fields.whole("rotary_dim", largest=RANGES["d_head"], default=64),
            },
            write=lambda cfg: {"rotary_dim": cfg.d_rotary},
            names={"d_rotary": ("rotary_dim",)},
        ),
        whole_number("d_ff", "n_inner", default=gpt.four_times),
        word("activation_function", GELUS, "gelu_new"),
        TIED,
        gpt.EPS,
        gpt.DROPS,
    ),
    fixed=PARALLEL | {"ffn_bias": True, "logits_bias": True},
    weights={
        "wte": "embed.token",
        "ln_f": "final_norm",
        "lm_head.bias": OUT_BIAS,
        **neighbours(
            under(
                "h.*.",
                "layers.*.",
                {
                    **{f"attn.{part}_proj": f"self_attn.to_{part}" for part in ("q", "k", "v", "out")},
                    "mlp.fc_in": "ffn.to_hidden",
                    "mlp.fc_out": "ffn.to_out",
                    "ln_1": "norm1",
                },
            )
        ),
    },
    prefix="transformer.",
    passed=r"h\.\d+\.attn\.bias",
    wrapped="",
    tasks=of_decoder("classifier", biased=True),
)


WITH_ALIBI = "With ALiBi a Falcon is computed whose heads have keys of their own, whose maps have biases and whose sub-layers follow each other."


def _falcon(fields: Fields, given: Values) -> Values:
    """Read how many heads give keys, and where norms stand: one key head, or one for each query head, or groups (the new build)."""
    n_heads, new = given["n_heads"], fields.flag("new_decoder_architecture", False)
    said = fields.whole("num_kv_heads", largest=RANGES["n_kv_heads"], default=n_heads)
    one = fields.flag("multi_query", True)
    bias = bool(fields.flag("bias", False))
    norms = fields.whole("num_ln_in_parallel_attn", largest=2, default=2 if new else 1)
    together = fields.flag("parallel_attn", True)
    if alibi := bool(fields.flag("alibi", False)):
        for name, right, found in (
            ("new_decoder_architecture", False, new),
            ("multi_query", False, one),
            ("parallel_attn", False, together),
            ("bias", True, bias),
        ):
            fields.having(**{name: found}).only(name, right, WITH_ALIBI)
    return {
        "halved": alibi,
        "bias": bias,
        "n_kv_heads": said if new else 1 if one else n_heads,
        "block": "before" if not together else "parallel" if new and norms == 2 else "one norm",
        **dict.fromkeys(("qkv_bias", "out_bias", "ffn_bias"), bias),
    }


def _said_of_falcon(cfg: LlamaConfig | BloomConfig) -> Values:
    if isinstance(cfg, BloomConfig):
        return {"alibi": True, "multi_query": False, "parallel_attn": False, "bias": cfg.bias}
    return {
        "alibi": False,
        "new_decoder_architecture": cfg.block != "before",
        "multi_query": False,
        "num_kv_heads": cfg.n_kv_heads,
        "num_ln_in_parallel_attn": 1 if cfg.block == "one norm" else 2,
        "parallel_attn": cfg.block != "before",
        "bias": cfg.qkv_bias,
    }


FALCON = replace(
    LLAMA,
    model_type="falcon",
    like="tiiuae/falcon-rw-1b",
    shows="queries, keys and values in one matrix; multi-query or grouped-query attention; parallel attention and feed-forward; ALiBi in the older ones",
    architecture="Falcon",
    telling="new_decoder_architecture",
    fields=(
        *sizes(
            n_layers="num_hidden_layers n_layer",
            n_heads="num_attention_heads n_head",
            d_model="hidden_size n_embed",
            n_vocab="vocab_size",
        ),
        whole_number("n_ctx", "max_position_embeddings", default=2048),
        whole_number("d_ff", "ffn_hidden_size", default=gpt.four_times),
        SHARED_WIDTH,
        Field(read=_falcon, write=_said_of_falcon, names={"n_kv_heads": ("num_kv_heads",)}),
        word("activation", GELUS, "gelu"),
        written_of(LlamaConfig, flag("tie_word_embeddings", "tied", True)),
        small("layer_norm_epsilon", 1e-5),
        written_of(LlamaConfig, rope_field()),
        dropouts("hidden_dropout"),
    ),
    config=lambda given: BloomConfig if given.get("halved") else LlamaConfig,
    fixed={"norm": "layer", "gated": False, "embed_norm": False},
    weights=lambda cfg: {
        "word_embeddings": "embed.token",
        "ln_f": "final_norm",
        **under(
            "h.*.",
            "layers.*.",
            {
                "self_attention.query_key_value": row(
                    *(f"self_attn.to_{part}" for part in "qkv"),
                    heads=lambda cfg: getattr(cfg, "n_kv_heads", cfg.n_heads),
                ),
                "self_attention.dense": "self_attn.to_out",
                "mlp.dense_h_to_4h": "ffn.to_hidden",
                "mlp.dense_4h_to_h": "ffn.to_out",
                **(
                    {"ln_attn": "norm1", "ln_mlp": "norm2"}
                    if getattr(cfg, "block", "") == "parallel"
                    else NORMS
                ),
            },
        ),
    },
    prefix="transformer.",
    wrapped="",
)
HELIUM = replace(
    LLAMA,
    model_type="helium",
    like="kyutai/helium-1-preview-2b",
    shows="Llama; interleaved rotary pairs of the file are the two halves of a head here",
    architecture="Helium",
    telling="model_type",  # its tensors are those of a Llama
    fields=(UNBIASED, *BASE),
    weights=neighbours(WEIGHTS),
)
STARCODER2 = replace(
    LLAMA,
    model_type="starcoder2",
    like="bigcode/starcoder2-3b",
    shows="Llama with biases, LayerNorm and a feed-forward network without a gate; a sliding window if one is set",
    architecture="Starcoder2",
    telling="use_bias",
    fields=(
        only("use_bias", True, "Maps without a bias are not computed for this kind."),
        *SIZES,
        GROUPS,
        SHARED_WIDTH,
        word("hidden_act", GELUS, "gelu_pytorch_tanh"),
        flag("tie_word_embeddings", "tied", True),
        small("norm_epsilon", 1e-5),
        TURNED,
        window(),
        dropouts("residual_dropout", "embedding_dropout"),
    ),
    fixed={"norm": "layer", "gated": False} | BIASED,
    weights={
        **ENDS,
        **under(
            "layers.*.",
            "layers.*.",
            {**ATTENTION, "mlp.c_fc": "ffn.to_hidden", "mlp.c_proj": "ffn.to_out", **NORMS},
        ),
    },
)
EVERYWHERE = "Layers of which some have experts and some have none are not computed for this kind."
ROUTER = whole_number("n_active", "num_experts_per_tok", default=8, most=4096)
NORMED = flag("norm_topk_prob", "among_chosen", False)


def _experts(theirs: str, n: int) -> Field:
    return whole_number("n_experts", "num_local_experts", theirs, default=n, most=4096)


def _routed(mlp: str, gate: str, up: str, down: str) -> Weights:
    """Name the tensors of blocks with a router and its experts, by what the four parts are called."""
    experts = {gate: "to_gate", up: "to_hidden", down: "to_out"}
    experts = {f"{mlp}.experts.*.{theirs}": f"ffn.experts.*.{ours}" for theirs, ours in experts.items()}
    block = {**ATTENTION, **NORMS, f"{mlp}.gate": "ffn.router", **experts}
    return {**ENDS, **under("layers.*.", "layers.*.", block)}


ROUTED = _routed("mlp", "gate_proj", "up_proj", "down_proj")
MIXTRAL = replace(
    LLAMA,
    model_type="mixtral",
    like="mistralai/Mixtral-8x7B-v0.1",
    shows="Llama with a mixture of experts and its router",
    architecture="Mixtral",
    telling="num_local_experts",
    fields=(
        *BASE,
        window(),
        _experts("num_experts", 8),
        whole_number("n_active", "num_experts_per_tok", default=2, most=4096),
    ),
    weights=_routed("block_sparse_moe", "w1", "w3", "w2"),
)
QWEN3_MOE = replace(
    QWEN3,
    model_type="qwen3_moe",
    like="Qwen/Qwen3-30B-A3B",
    shows="Qwen3 with a mixture of experts and its router",
    architecture="Qwen3Moe",
    telling="moe_intermediate_size",
    fields=(
        *QWEN3.fields,
        only("decoder_sparse_step", 1, EVERYWHERE),
        only("mlp_only_layers", [], EVERYWHERE),
        whole_number("d_ff", "moe_intermediate_size", default=768),
        _experts("num_experts", 128),
        ROUTER,
        NORMED,
    ),
    weights=ROUTED,
)
OLMOE = replace(
    LLAMA,
    model_type="olmoe",
    like="allenai/OLMoE-1B-7B-0924",
    shows="Llama with query-key norms over all heads together; a mixture of experts and its router, whose weights sum to less than 1",
    architecture="Olmoe",
    telling="norm_topk_prob",
    fields=(
        UNBIASED,
        only("clip_qkv", None, "Queries, keys and values that are cut off are not computed for this kind."),
        *BASE,
        _experts("num_experts", 64),
        ROUTER,
        NORMED,
    ),
    fixed={"wide_norm": True},
    weights=ROUTED,
)
FORMATS = (
    LLAMA,
    MIXTRAL,
    QWEN3_MOE,
    OLMOE,
    HELIUM,
    STARCODER2,
    MISTRAL,
    QWEN2,
    QWEN3,
    SMOLLM3,
    OLMO2,
    GRANITE,
    PHI3,
    STABLELM,
    COHERE,
    PHI,
    GPTJ,
    FALCON,
)
