"""GPT-2 folders in Hugging Face format (Radford et al. 2019): pre-norm, tied output layer."""

from __future__ import annotations

import re

from core.checkpoints.fields import RANGES, Fields, built
from core.checkpoints.foreign import Format
from core.checkpoints.plan import Take
from core.models.gpt import GPTConfig

ACTIVATIONS = {
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "gelu_fast": "gelu_tanh",
    "gelu": "gelu",
    "gelu_python": "gelu",
    "relu": "relu",
}


def config(fields: Fields) -> GPTConfig:
    """The shape, by GPT-2's names or their common aliases; arithmetic that is not implemented is refused by name."""
    fields.only("scale_attn_weights", True, "Scores are always divided by the root of the head's width here.")
    fields.only("scale_attn_by_inverse_layer_idx", False, "Scores that shrink with the layer's number are not implemented.")
    fields.only("reorder_and_upcast_attn", False, "Attention in another order and precision is not implemented.")
    fields.only("position_embedding_type", "absolute", "Only learned absolute positions are implemented for this kind.")
    return sizes(fields, fields.one_of("activation_function", ACTIVATIONS, "gelu_new"), order="pre")


def sizes(fields: Fields, activation: str, *, order: str) -> GPTConfig:
    """What GPT-1 and GPT-2 configs have in common."""
    d_model = fields.whole("n_embd", "hidden_size", largest=RANGES["d_model"])
    return built(
        GPTConfig,
        {
            "n_layers": fields.whole("n_layer", "num_hidden_layers", largest=RANGES["n_layers"]),
            "n_heads": fields.whole("n_head", "num_attention_heads", largest=RANGES["n_heads"]),
            "d_model": d_model,
            "d_ff": fields.whole("n_inner", largest=RANGES["d_ff"], default=4 * d_model),
            "n_vocab": fields.whole("vocab_size", largest=RANGES["n_vocab"]),
            "n_ctx": fields.whole("n_positions", "max_position_embeddings", largest=RANGES["n_ctx"]),
            "activation": activation,
            "order": order,
            "eps": fields.small("layer_norm_epsilon", 1e-5),
        },
    )


def takes(cfg: GPTConfig) -> tuple[Take, ...]:
    """Every tensor of a GPT-2, without the prefix `transformer.`."""
    d = (cfg.d_model,)
    return (
        Take("wte.weight", (cfg.n_vocab, cfg.d_model), ("embed.token.weight",)),
        Take("wpe.weight", (cfg.n_ctx, cfg.d_model), ("embed.position.weight",)),
        *(take for i in range(cfg.n_layers) for take in block(cfg, i)),
        Take("ln_f.weight", d, ("final_norm.weight",)),
        Take("ln_f.bias", d, ("final_norm.bias",)),
    )


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
    takes=takes,
    prefix="transformer.",
    repeated={"lm_head.weight": "wte.weight"},
    passed=re.compile(r"h\.\d+\.attn\.(bias|masked_bias)"),
    heads=re.compile(r"(score|classifier|qa_outputs|multiple_choice_head)\."),
)
