"""GPT-1 (Radford et al. 2018), GPT-2 (2019) and GPT-Neo (Black et al. 2021, the TinyStories models too) in Hugging Face format."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from core.checkpoints.files import shown
from core.checkpoints.foreign.table import (
    GELUS,
    Field,
    Format,
    Values,
    changed,
    dropouts,
    only,
    row,
    sizes,
    small,
    under,
    whole_number,
    word,
)
from core.checkpoints.safety.config_schema import ELSEWHERE, RANGES, Fields
from core.checkpoints.task_heads import of_decoder
from core.errors import InputError
from core.models.gpt import GPTConfig
from core.models.gpt_neo import GPTNeoConfig

SIZES = sizes(
    n_layers="n_layer num_hidden_layers",
    n_heads="n_head num_attention_heads",
    d_model="n_embd hidden_size",
    n_vocab="vocab_size",
    n_ctx="n_positions max_position_embeddings",
)
EPS = small("layer_norm_epsilon", 1e-5)
DROPS = dropouts("embd_pdrop", "resid_pdrop", zero="attn_pdrop")


def four_times(given: Values) -> int:
    """Return the width of a feed-forward network that config.json does not give."""
    return 4 * int(given["d_model"])


LAYER = under(
    "h.*.",
    "layers.*.",
    {
        "ln_1": "norm1",
        "attn.c_attn": row(*(f"self_attn.to_{part}" for part in "qkv")),
        "attn.c_proj": "self_attn.to_out",
        "ln_2": "norm2",
        "mlp.c_fc": "ffn.to_hidden",
        "mlp.c_proj": "ffn.to_out",
    },
)
"""`c_attn` holds query, key and value side by side; all matrices of the layers are (in, out)."""
GPT2 = Format(
    model_type="gpt2",
    like="openai-community/gpt2",
    shows="causal heads, learned positions",
    architecture="GPT2",
    config=GPTConfig,
    fields=(
        only("scale_attn_weights", True, "Scores are always divided by the root of the head's width here."),
        only(
            "scale_attn_by_inverse_layer_idx",
            False,
            "Scores that shrink with the layer's number are not implemented.",
        ),
        only(
            "reorder_and_upcast_attn", False, "Attention in another order and precision is not implemented."
        ),
        only(
            "position_embedding_type",
            "absolute",
            "Only learned absolute positions are implemented for this kind.",
        ),
        *SIZES,
        whole_number("d_ff", "n_inner", default=four_times),
        word("activation_function", GELUS, "gelu_new"),
        EPS,
        DROPS,
    ),
    fixed={"order": "pre"},
    weights={
        "wte": "embed.token",
        "wpe": "embed.position",
        **changed(LAYER, "", turned=True),
        "ln_f": "final_norm",
    },
    prefix="transformer.",
    writer="LMHeadModel",
    passed=r"h\.\d+\.(attn|crossattention)\.bias",
    tasks=of_decoder("classifier"),
)


def _four(fields: Fields, given: Values) -> Values:
    if fields.raw("n_inner"):
        why = "The feed-forward network of this kind is always four times as wide as the model."
        raise InputError("config.json: n_inner is set.", why, ELSEWHERE)
    return {"d_ff": four_times(given)}


GPT1 = replace(
    GPT2,
    model_type="openai-gpt",
    like="openai-community/openai-gpt",
    shows="causal heads, post-norm",
    architecture="OpenAIGPT",
    fields=(
        *SIZES,
        Field(read=_four),
        word("afn", {"gelu": "gelu_tanh", "relu": "relu"}, "gelu"),  # this kind's gelu is the tanh form
        EPS,
        DROPS,
    ),
    fixed={"order": "post"},
    weights={
        "tokens_embed": "embed.token",
        "positions_embed": "embed.position",
        **changed(LAYER, "", turned=True),
    },
    passed=r"h\.\d+\.attn\.bias",
)
WORDS = ("global", "local")


def _local(fields: Fields, given: Values) -> Values:
    """Read which layers have a window: patterns, and how often each is repeated."""
    said: Any = fields.raw("attention_types")
    kinds: list[str] = []
    n_layers = given["n_layers"]
    for part in (
        [[list(WORDS), n_layers // 2]] if said is None else said if isinstance(said, list) else [said]
    ):
        pair: Any = part if isinstance(part, list) and len(part) == 2 else (None, None)
        words, times = pair
        known = isinstance(words, list) and set(map(str, words)) <= set(WORDS)
        if not known or type(times) is not int or not 0 <= times * len(words) <= RANGES["n_layers"]:
            raise _unread(f"attention_types is {shown(repr(said)[:80], 60)}")
        kinds += words * times
    if len(kinds) != n_layers:
        raise _unread(f"attention_types names {len(kinds):,} layers, num_layers {n_layers:,}")
    return {"local": tuple(i for i, kind in enumerate(kinds) if kind == "local")}


def _unread(wrong: str) -> InputError:
    return InputError(
        f"config.json: {wrong}.",
        "It is a list of patterns of global and local, each with its number of repetitions; together one word per layer.",
        "Correct it, or download the model again.",
    )


def _said_local(cfg: GPTNeoConfig) -> Values:
    kinds = [WORDS[i in cfg.local] for i in range(cfg.n_layers)]
    return {"attention_types": [[kinds, 1]], "attention_layers": kinds}


GPT_NEO = Format(
    model_type="gpt_neo",
    like="roneneldan/TinyStories-33M",
    shows="unscaled scores; layers with and without a sliding window",
    architecture="GPTNeo",
    config=GPTNeoConfig,
    fields=(
        *sizes(
            n_layers="num_layers num_hidden_layers",
            n_heads="num_heads num_attention_heads",
            d_model="hidden_size",
            n_vocab="vocab_size",
            n_ctx="max_position_embeddings",
        ),
        whole_number("d_ff", "intermediate_size", default=four_times),
        whole_number("window", "window_size", default=256),
        Field(read=_local, write=_said_local),
        word("activation_function", GELUS, "gelu_new"),
        EPS,
        dropouts("embed_dropout", "resid_dropout", zero="attention_dropout"),
    ),
    weights={
        "wte": "embed.token",
        "wpe": "embed.position",
        **under(
            "h.*.",
            "layers.*.",
            {
                "ln_1": "norm1",
                **{f"attn.attention.{part}_proj": f"self_attn.to_{part}" for part in ("q", "k", "v", "out")},
                "ln_2": "norm2",
                "mlp.c_fc": "ffn.to_hidden",
                "mlp.c_proj": "ffn.to_out",
            },
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
        *sizes(
            n_layers="num_hidden_layers",
            n_heads="num_attention_heads",
            d_model="hidden_size",
            d_ff="ffn_dim",
            n_vocab="vocab_size",
            n_ctx="max_position_embeddings",
        ),
        only("do_layer_norm_before", True, "Norms behind the sub-layers are not computed for this kind."),
        only("_remove_final_layer_norm", False, "There is a norm behind the last layer in this kind."),
        only(
            "word_embed_proj_dim",
            lambda given: given["d_model"],
            "Embeddings are as wide as the layers here.",
        ),
        only("enable_bias", True, "Maps without a bias are not computed for this kind."),
        only("layer_norm_elementwise_affine", True, "Norms without a gain are not computed."),
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
            **under(
                "layers.*.",
                "layers.*.",
                {
                    **{f"self_attn.{part}_proj": f"self_attn.to_{part}" for part in ("q", "k", "v", "out")},
                    "self_attn_layer_norm": "norm1",
                    "fc1": "ffn.to_hidden",
                    "fc2": "ffn.to_out",
                    "final_layer_norm": "norm2",
                },
            ),
            "final_layer_norm": "final_norm",
        },
    ),
    prefix="model.",
    tasks=of_decoder("score"),
)
FORMATS = (GPT2, GPT_NEO, GPT1, OPT)
