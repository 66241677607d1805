"""GPT-2 folders in Hugging Face format (Radford et al. 2019): pre-norm, tied output layer."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

from core.checkpoints.foreign import Format, headless
from core.checkpoints.safety.config_schema import RANGES, Fields, built, named
from core.checkpoints.safety.load_plan import Take
from core.checkpoints.task_heads import of_decoder
from core.models.gpt import GPTConfig

ACTIVATIONS = {
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "gelu_fast": "gelu_tanh",
    "gelu": "gelu",
    "gelu_python": "gelu",
    "relu": "relu",
}


SIZES: Mapping[str, tuple[str, ...]] = {
    "n_layers": ("n_layer", "num_hidden_layers"),
    "n_heads": ("n_head", "num_attention_heads"),
    "d_model": ("n_embd", "hidden_size"),
    "n_vocab": ("vocab_size",),
    "n_ctx": ("n_positions", "max_position_embeddings"),
}
"""What this kind calls the sizes: the name that is written, then others that are read."""


def config(fields: Fields, stored: Collection[str] = ()) -> GPTConfig:
    """The shape, by GPT-2's names or their common aliases; arithmetic that is not implemented is refused by name."""
    fields.only("scale_attn_weights", True, "Scores are always divided by the root of the head's width here.")
    fields.only(
        "scale_attn_by_inverse_layer_idx",
        False,
        "Scores that shrink with the layer's number are not implemented.",
    )
    fields.only(
        "reorder_and_upcast_attn", False, "Attention in another order and precision is not implemented."
    )
    fields.only(
        "position_embedding_type",
        "absolute",
        "Only learned absolute positions are implemented for this kind.",
    )
    return sizes(fields, fields.one_of("activation_function", ACTIVATIONS, "gelu_new"), stored, order="pre")


def sizes(fields: Fields, activation: str, stored: Collection[str], *, order: str) -> GPTConfig:
    """What GPT-1 and GPT-2 configs have in common."""
    given = fields.sizes(SIZES)
    d_ff = fields.whole("n_inner", largest=RANGES["d_ff"], default=4 * given["d_model"])
    eps = fields.small("layer_norm_epsilon", 1e-5)
    own = {"d_ff": d_ff, "activation": activation, "order": order, "eps": eps}
    return built(GPTConfig, {**given, **own, "headless": headless(fields, stored)})


def values(cfg: GPTConfig) -> Mapping[str, Any] | None:
    """What a config.json of this kind says of the shape, None for a post-norm one."""
    if cfg.order != "pre":
        return None
    return {**common(cfg), "n_inner": cfg.d_ff, "activation_function": named(ACTIVATIONS, cfg.activation)}


def common(cfg: GPTConfig) -> Mapping[str, Any]:
    """What GPT-1 and GPT-2 configs say alike."""
    drops = {"embd_pdrop": cfg.dropout, "resid_pdrop": cfg.dropout, "attn_pdrop": 0.0}
    return {
        **{theirs[0]: getattr(cfg, ours) for ours, theirs in SIZES.items()},
        "layer_norm_epsilon": cfg.eps,
        **drops,
    }


def takes(cfg: GPTConfig) -> tuple[Take, ...]:
    """Every tensor of a GPT-2, without the prefix `transformer.`."""
    d = (cfg.d_model,)
    return (
        Take("wte.weight", (cfg.n_vocab, cfg.d_model), ("embed.token.weight",), again=output_layer(cfg)),
        Take("wpe.weight", (cfg.n_ctx, cfg.d_model), ("embed.position.weight",)),
        *(take for i in range(cfg.n_layers) for take in block(cfg, i)),
        Take("ln_f.weight", d, ("final_norm.weight",)),
        Take("ln_f.bias", d, ("final_norm.bias",)),
    )


def output_layer(cfg: Any) -> str:
    """Return the name under which the table of tokens may be stored once more, "" for a decoder that has no output layer."""
    return "" if cfg.headless else "lm_head.weight"


def block(cfg: GPTConfig, i: int) -> tuple[Take, ...]:
    """The tensors of layer i; `c_attn` holds query, key and value side by side, all matrices are (in, out)."""
    h, here, d, ff = f"h.{i}", f"layers.{i}", cfg.d_model, cfg.d_ff
    qkv = tuple(f"{here}.self_attn.to_{part}" for part in "qkv")
    return (
        Take(f"{h}.ln_1.weight", (d,), (f"{here}.norm1.weight",)),
        Take(f"{h}.ln_1.bias", (d,), (f"{here}.norm1.bias",)),
        Take(f"{h}.attn.c_attn.weight", (d, 3 * d), tuple(f"{part}.weight" for part in qkv), turned=True),
        Take(f"{h}.attn.c_attn.bias", (3 * d,), tuple(f"{part}.bias" for part in qkv)),
        Take(f"{h}.attn.c_proj.weight", (d, d), (f"{here}.self_attn.to_out.weight",), turned=True),
        Take(f"{h}.attn.c_proj.bias", (d,), (f"{here}.self_attn.to_out.bias",)),
        Take(f"{h}.ln_2.weight", (d,), (f"{here}.norm2.weight",)),
        Take(f"{h}.ln_2.bias", (d,), (f"{here}.norm2.bias",)),
        Take(f"{h}.mlp.c_fc.weight", (d, ff), (f"{here}.ffn.to_hidden.weight",), turned=True),
        Take(f"{h}.mlp.c_fc.bias", (ff,), (f"{here}.ffn.to_hidden.bias",)),
        Take(f"{h}.mlp.c_proj.weight", (ff, d), (f"{here}.ffn.to_out.weight",), turned=True),
        Take(f"{h}.mlp.c_proj.bias", (d,), (f"{here}.ffn.to_out.bias",)),
    )


FORMAT = Format(
    model_type="gpt2",
    architecture="GPT2",
    family="gpt",
    config=config,
    values=values,
    classes=lambda cfg: "GPT2Model" if cfg.headless else "GPT2LMHeadModel",
    takes=takes,
    prefix="transformer.",
    passed=re.compile(r"h\.\d+\.(attn|crossattention)\.(bias|masked_bias)"),
    heads=re.compile(r"(score|classifier|qa_outputs|multiple_choice_head)\."),
    tasks=of_decoder("classifier"),
)
