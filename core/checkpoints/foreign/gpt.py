"""GPT-1 (Radford et al. 2018), GPT-2 (2019), GPT-Neo (Black et al. 2021, the TinyStories models too) and OPT (Zhang et al. 2022)."""

from __future__ import annotations

from typing import Any

from core.checkpoints.foreign.table import (
    GELUS,
    QKV,
    Field,
    Format,
    Values,
    attention,
    changed,
    computed,
    dropouts,
    feed_forward,
    kin,
    layers,
    only,
    row,
    sizes,
    small,
    under,
    whole_number,
    word,
    wrong,
)
from core.checkpoints.safety.config_schema import RANGES, Fields
from core.checkpoints.task_heads import of_decoder
from core.models.gpt import GPTConfig
from core.models.gpt_neo import GPTNeoConfig

SIZES = sizes(omit="d_ff", n_layers="n_layer", n_heads="n_head", d_model="n_embd", n_ctx="n_positions")
EPS = small("layer_norm_epsilon", 1e-5)
DROPS = dropouts("embd_pdrop", "resid_pdrop", zero="attn_pdrop")


def four_times(values: Values) -> int:
    """Return the usual width of a feed-forward network."""
    return 4 * int(values["d_model"])


FOUR_TIMES = computed("d_ff", four_times)
PACKED = {"attn.c_attn": row(*QKV), "attn.c_proj": "self_attn.to_out"}
FEED_FORWARD = feed_forward("mlp.c_fc", "mlp.c_proj")
LAYERS = changed(layers("h", PACKED, FEED_FORWARD, norm1="ln_1", norm2="ln_2"), "", turned=True)
"""`c_attn` has query, key and value side by side; all matrices of the layers are (in, out)."""
GPT2 = Format(
    model_type="gpt2",
    like="openai-community/gpt2",
    shows="causal heads, learned positions",
    architecture="GPT2",
    config=GPTConfig,
    fields=(
        only(
            scale_attn_weights=True,
            scale_attn_by_inverse_layer_idx=False,
            reorder_and_upcast_attn=False,
            position_embedding_type="absolute",
        ),
        *SIZES,
        whole_number("d_ff", "n_inner", default=four_times),
        word("activation_function", GELUS, "gelu_new"),
        EPS,
        DROPS,
    ),
    fixed={"order": "pre"},
    weights={"wte": "embed.token", "wpe": "embed.position", **LAYERS, "ln_f": "final_norm"},
    prefix="transformer.",
    writer="LMHeadModel",
    passed=r"h\.\d+\.(attn|crossattention)\.bias",
    tasks=of_decoder("classifier"),
)


GPT1 = kin(
    GPT2,
    "openai-gpt",
    "openai-community/openai-gpt",
    "causal heads, post-norm",
    architecture="OpenAIGPT",
    fields=(
        *SIZES,
        only(n_inner=None),
        FOUR_TIMES,
        word("afn", {"gelu": "gelu_tanh", "relu": "relu"}, "gelu"),  # this kind's gelu is the tanh form
        EPS,
        DROPS,
    ),
    fixed={"order": "post"},
    weights={"tokens_embed": "embed.token", "positions_embed": "embed.position", **LAYERS},
    passed=r"h\.\d+\.attn\.bias",
)
WORDS = ("global", "local")


def _read_local(fields: Fields, values: Values) -> Values:
    n_layers, types = values["n_layers"], fields.raw("attention_types")
    error = wrong(
        "attention_types",
        types,
        f"It is a list of patterns of global and local, each with its number of repetitions; together one word for each of the {n_layers:,} layers.",
    )
    patterns: Any = [[list(WORDS), n_layers // 2]] if types is None else types
    kinds: list[str] = []
    for pattern in patterns if isinstance(patterns, list) else [patterns]:
        words, times = pattern if isinstance(pattern, list) and len(pattern) == 2 else (None, None)
        known = isinstance(words, list) and set(map(str, words)) <= set(WORDS)
        if not known or type(times) is not int or not 0 <= times * len(words) <= RANGES["n_layers"]:
            raise error
        kinds += words * times
    if len(kinds) != n_layers:
        raise error
    return {"local": tuple(i for i, kind in enumerate(kinds) if kind == "local")}


def _write_local(cfg: GPTNeoConfig) -> Values:
    kinds = [WORDS[i in cfg.local] for i in range(cfg.n_layers)]
    return {"attention_types": [[kinds, 1]], "attention_layers": kinds}


GPT_NEO = Format(
    model_type="gpt_neo",
    like="roneneldan/TinyStories-33M",
    shows="unscaled scores; layers with and without a sliding window",
    architecture="GPTNeo",
    config=GPTNeoConfig,
    fields=(
        *sizes(omit="d_ff", n_layers="num_layers", n_heads="num_heads"),
        whole_number("d_ff", "intermediate_size", default=four_times),
        whole_number("window", "window_size", default=256),
        Field(read=_read_local, write=_write_local),
        word("activation_function", GELUS, "gelu_new"),
        EPS,
    ),
    weights={
        "wte": "embed.token",
        "wpe": "embed.position",
        **layers(
            "h",
            attention("attn.attention.{}_proj", "q k v out"),
            FEED_FORWARD,
            norm1="ln_1",
            norm2="ln_2",
        ),
        "ln_f": "final_norm",
    },
    prefix="transformer.",
    passed=r"h\.\d+\.attn\.attention\.bias",
    tasks=of_decoder("classifier"),
)
OPT = Format(
    model_type="opt",
    like="facebook/opt-125m",
    shows="causal heads, learned positions counted from row 2",
    architecture="OPT",
    config=GPTConfig,
    telling="word_embed_proj_dim",
    fields=(
        *sizes(d_ff="ffn_dim"),
        only(
            do_layer_norm_before=True,
            _remove_final_layer_norm=False,
            word_embed_proj_dim=lambda values: values["d_model"],
            enable_bias=True,
            layer_norm_elementwise_affine=True,
        ),
        word("activation_function", {"relu": "relu", **GELUS}, "relu"),
        dropouts("dropout", zero="attention_dropout"),
    ),
    fixed={"order": "pre", "eps": 1e-5, "first_place": 2},
    weights=under(
        "decoder.",
        "",
        {
            "embed_tokens": "embed.token",
            "embed_positions": "embed.position",
            **layers(
                "layers",
                attention("self_attn.{}_proj", "q k v out"),
                feed_forward("fc1", "fc2"),
                norm1="self_attn_layer_norm",
                norm2="final_layer_norm",
            ),
            "final_layer_norm": "final_norm",
        },
    ),
    prefix="model.",
    tasks=of_decoder("score"),
)
