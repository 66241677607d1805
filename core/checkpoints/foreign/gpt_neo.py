"""GPT-Neo folders in Hugging Face format (Black et al. 2021), the TinyStories models too: scores that are not divided."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

from core.checkpoints.files import shown
from core.checkpoints.foreign import Format, headless
from core.checkpoints.foreign.bert import linear, norm
from core.checkpoints.foreign.gpt2 import ACTIVATIONS, output_layer
from core.checkpoints.safety.config_schema import RANGES, Fields, built, named
from core.checkpoints.safety.load_plan import Take
from core.checkpoints.task_heads import of_decoder
from core.errors import InputError
from core.models.gpt_neo import GPTNeoConfig

SIZES: Mapping[str, tuple[str, ...]] = {
    "n_layers": ("num_layers", "num_hidden_layers"),
    "n_heads": ("num_heads", "num_attention_heads"),
    "d_model": ("hidden_size",),
    "n_vocab": ("vocab_size",),
    "n_ctx": ("max_position_embeddings",),
}
WORDS = ("global", "local")


def config(fields: Fields, stored: Collection[str] = ()) -> GPTNeoConfig:
    """The shape, by GPT-Neo's names; which layers have a window is said as patterns and how often each is repeated."""
    given = fields.sizes(SIZES)
    own = {
        "d_ff": fields.whole("intermediate_size", largest=RANGES["d_ff"], default=4 * given["d_model"]),
        "window": fields.whole("window_size", largest=RANGES["n_ctx"], default=256),
        "local": local(fields, given["n_layers"]),
        "activation": fields.one_of("activation_function", ACTIVATIONS, "gelu_new"),
        "eps": fields.small("layer_norm_epsilon", 1e-5),
        "headless": headless(fields, stored),
    }
    return built(GPTNeoConfig, {**given, **own})


def local(fields: Fields, n_layers: int) -> tuple[int, ...]:
    """The layers that look through a window."""
    said: Any = fields.raw("attention_types")
    kinds: list[str] = []
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
    return tuple(i for i, kind in enumerate(kinds) if kind == "local")


def _unread(wrong: str) -> InputError:
    return InputError(
        f"config.json: {wrong}.",
        "It is a list of patterns of global and local, each with its number of repetitions; together one word per layer.",
        "Correct it, or download the model again.",
    )


def values(cfg: GPTNeoConfig) -> Mapping[str, Any]:
    """What a config.json of this kind says of the shape."""
    kinds = [WORDS[i in cfg.local] for i in range(cfg.n_layers)]
    return {
        **{theirs[0]: getattr(cfg, ours) for ours, theirs in SIZES.items()},
        "intermediate_size": cfg.d_ff,
        "window_size": cfg.window,
        "attention_types": [[kinds, 1]],
        "attention_layers": kinds,
        "activation_function": named(ACTIVATIONS, cfg.activation),
        "layer_norm_epsilon": cfg.eps,
        "embed_dropout": cfg.dropout,
        "resid_dropout": cfg.dropout,
        "attention_dropout": 0.0,
    }


def takes(cfg: GPTNeoConfig) -> tuple[Take, ...]:
    """Every tensor of a GPT-Neo, without the prefix `transformer.`. Matrices are (out, in), as here."""
    d = cfg.d_model
    return (
        Take("wte.weight", (cfg.n_vocab, d), ("embed.token.weight",), again=output_layer(cfg)),
        Take("wpe.weight", (cfg.n_ctx, d), ("embed.position.weight",)),
        *(take for i in range(cfg.n_layers) for take in block(cfg, i)),
        *norm(d, "ln_f", "final_norm"),
    )


def block(cfg: GPTNeoConfig, i: int) -> list[Take]:
    """The tensors of layer i."""
    h, here, d, ff = f"h.{i}", f"layers.{i}", cfg.d_model, cfg.d_ff
    return [
        *norm(d, f"{h}.ln_1", f"{here}.norm1"),
        *(
            Take(f"{h}.attn.attention.{part}_proj.weight", (d, d), (f"{here}.self_attn.to_{part}.weight",))
            for part in "qkv"
        ),
        *linear(f"{h}.attn.attention.out_proj", f"{here}.self_attn.to_out", d, d),
        *norm(d, f"{h}.ln_2", f"{here}.norm2"),
        *linear(f"{h}.mlp.c_fc", f"{here}.ffn.to_hidden", d, ff),
        *linear(f"{h}.mlp.c_proj", f"{here}.ffn.to_out", ff, d),
    ]


FORMAT = Format(
    model_type="gpt_neo",
    architecture="GPTNeo",
    family="gpt_neo",
    config=config,
    values=values,
    classes=lambda cfg: "GPTNeoModel" if cfg.headless else "GPTNeoForCausalLM",
    takes=takes,
    prefix="transformer.",
    passed=re.compile(r"h\.\d+\.attn\.attention\.(bias|masked_bias)"),
    heads=re.compile(r"(score|classifier|qa_outputs)\."),
    tasks=of_decoder("classifier"),
)
