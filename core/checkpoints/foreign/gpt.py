"""GPT-1 (Radford et al. 2018), GPT-2 (2019) and GPT-Neo (Black et al. 2021, the TinyStories models too)."""

from __future__ import annotations

from typing import Any

from core.checkpoints.foreign import keys, tensors
from core.checkpoints.foreign.keys import Field, Values
from core.checkpoints.foreign.table import Format, kin
from core.checkpoints.safety.config_schema import RANGES, Fields, wrong_value
from core.checkpoints.task_heads import of_decoder
from core.models.gpt import GPTConfig
from core.models.gpt_neo import GPTNeoConfig

SIZES = keys.size_fields(
    omit="d_ff", n_layers="n_layer", n_heads="n_head", d_model="n_embd", n_ctx="n_positions"
)
EPS = keys.small("layer_norm_epsilon", 1e-5)
DROPS = keys.dropouts("embd_pdrop", "resid_pdrop", zero="attn_pdrop")


def four_times(values: Values) -> int:
    """Return the usual width of a feed-forward network."""
    return 4 * int(values["d_model"])


FOUR_TIMES = keys.computed("d_ff", four_times)
PACKED = {"attn.c_attn": tensors.make_row(*tensors.QKV), "attn.c_proj": "self_attn.to_out"}
FEED_FORWARD = tensors.feed_forward("mlp.c_fc", "mlp.c_proj")
NORMS = {"norm1": "ln_1", "norm2": "ln_2"}
LAYERS = tensors.changed(tensors.layers("h", PACKED, FEED_FORWARD, **NORMS), "", transposed=True)
"""`c_attn` has query, key and value side by side; all matrices of the layers are (in, out)."""
GPT2 = Format(
    model_type="gpt2",
    example="openai-community/gpt2",
    summary="causal heads, learned positions",
    architecture="GPT2",
    config=GPTConfig,
    fields=(
        keys.only(scale_attn_weights=True, position_embedding_type="absolute"),
        keys.off("scale_attn_by_inverse_layer_idx reorder_and_upcast_attn"),
        *SIZES,
        keys.whole_number("d_ff", "n_inner", default=four_times),
        keys.word("activation_function", keys.GELUS, "gelu_new"),
        EPS,
        DROPS,
    ),
    fixed={"order": "pre"},
    weights={"wte": "embed.token", "wpe": "embed.position", **LAYERS, "ln_f": "final_norm"},
    prefix="transformer.",
    output_suffix="LMHeadModel",
    ignored_tensors=r"h\.\d+\.(attn|crossattention)\.bias",
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
        keys.only(n_inner=None),
        FOUR_TIMES,
        keys.word("afn", {"gelu": "gelu_tanh", "relu": "relu"}, "gelu"),  # this kind's gelu is the tanh form
        EPS,
        DROPS,
    ),
    fixed={"order": "post"},
    weights={"tokens_embed": "embed.token", "positions_embed": "embed.position", **LAYERS},
    ignored_tensors=r"h\.\d+\.attn\.bias",
)
WORDS = ("global", "local")


def _read_local(fields: Fields, values: Values) -> Values:
    n_layers, types = values["n_layers"], fields.raw("attention_types")
    error = wrong_value(
        "attention_types",
        types,
        "It is a list of patterns of global and local, each with its number of repetitions; together one word for each of the {n:,} layers.",
        n=n_layers,
    )
    patterns: Any = [[list(WORDS), n_layers // 2]] if types is None else types
    kinds: list[str] = []
    for pattern in patterns if isinstance(patterns, list) else [patterns]:
        words, times = pattern if isinstance(pattern, list) and len(pattern) == 2 else ((), None)
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


SPLIT = tensors.attention("attn.attention.{}_proj", "q k v out")
GPT_NEO = Format(
    model_type="gpt_neo",
    example="roneneldan/TinyStories-33M",
    summary="unscaled scores; layers with and without a sliding window",
    architecture="GPTNeo",
    config=GPTNeoConfig,
    fields=(
        *keys.size_fields(omit="d_ff", n_layers="num_layers", n_heads="num_heads"),
        keys.whole_number("d_ff", "intermediate_size", default=four_times),
        keys.whole_number("window", "window_size", default=256),
        Field(read=_read_local, write=_write_local),
        keys.word("activation_function", keys.GELUS, "gelu_new"),
        EPS,
    ),
    weights={
        "wte": "embed.token",
        "wpe": "embed.position",
        **tensors.layers("h", SPLIT, FEED_FORWARD, **NORMS),
        "ln_f": "final_norm",
    },
    prefix="transformer.",
    ignored_tensors=r"h\.\d+\.attn\.attention\.bias",
    tasks=of_decoder("classifier"),
)
