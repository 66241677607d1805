"""GPT-NeoX and Pythia folders in Hugging Face format (Black et al. 2022): queries, keys and values packed head by head."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

from core.checkpoints.files import shown
from core.checkpoints.foreign import Format, headless
from core.checkpoints.foreign.bert import linear, norm
from core.checkpoints.foreign.gpt2 import ACTIVATIONS
from core.checkpoints.foreign.rotary.llama import SIZES
from core.checkpoints.safety.config_schema import Fields, built, named
from core.checkpoints.safety.load_plan import Take
from core.checkpoints.task_heads import of_decoder
from core.errors import InputError
from core.models.rotary.neox import NeoXConfig

HEAD = "embed_out.weight"


def config(fields: Fields, stored: Collection[str] = ()) -> NeoXConfig:
    """The shape, by NeoX's names."""
    given = {
        **fields.sizes(SIZES),
        "activation": fields.one_of("hidden_act", ACTIVATIONS, "gelu"),
        "eps": fields.small("layer_norm_eps", 1e-5),
        "parallel": bool(fields.flag("use_parallel_residual", True)),
        "bias": bool(fields.flag("attention_bias", True)),
        "tied": bool(fields.flag("tie_word_embeddings", False)),
        "headless": headless(fields, stored, HEAD),
    }
    return built(NeoXConfig, {**given, **rope(fields, given["d_model"] // given["n_heads"])}, tables=False)


def rope(fields: Fields, d_head: int) -> dict[str, Any]:
    """The rotary positions: `rope_parameters` of new configs, `rotary_pct` and `rotary_emb_base` of old ones."""
    said: dict[str, Any] = {"rope_theta": fields.raw("rotary_emb_base") or 10000.0}
    share = fields.raw("rotary_pct")
    said["partial_rotary_factor"] = 0.25 if share is None else share
    for name in ("rope_scaling", "rope_parameters"):
        part = fields.raw(name)
        if part is not None and not isinstance(part, dict):
            raise _unread(f"{name} is {shown(repr(part), 40)}")
        said |= part or {}
    base, share = said.pop("rope_theta"), said.pop("partial_rotary_factor")
    kinds = [str(said.pop(name, "default")) for name in ("rope_type", "type")]
    kind = next((each for each in kinds if each != "default"), "default")
    if kind != "default" or any(value is not None for value in said.values()):
        raise _unread(
            f"its rotary positions are of the kind '{shown(kind, 40)}' with {shown(str(sorted(said)), 80)}"
        )
    if type(share) not in (int, float) or not 0 < share <= 1:
        raise _unread(f"rotary_pct, or partial_rotary_factor, is {shown(repr(share), 40)}")
    return {"rope_base": base, "d_rotary": int(d_head * share)}


def _unread(wrong: str) -> InputError:
    return InputError(
        f"config.json: {wrong}.",
        "Rotary positions of this kind are read as they are (default), for a share of the features from 0 to 1.",
        "Open a model with these.",
    )


def values(cfg: NeoXConfig) -> Mapping[str, Any]:
    """What a config.json of this kind says of the shape, by the names that all versions of the library read."""
    return {
        **{theirs[0]: getattr(cfg, ours) for ours, theirs in SIZES.items()},
        "hidden_act": named(ACTIVATIONS, cfg.activation),
        "layer_norm_eps": cfg.eps,
        "use_parallel_residual": cfg.parallel,
        "attention_bias": cfg.bias,
        "tie_word_embeddings": cfg.tied,
        "rotary_pct": cfg.d_rotary / cfg.d_head,
        "rotary_emb_base": cfg.rope_base,
        "hidden_dropout": cfg.dropout,
    }


def takes(cfg: NeoXConfig) -> tuple[Take, ...]:
    """Every tensor of a NeoX, the body's without the prefix `gpt_neox.`. Matrices are (out, in), as here."""
    table = (cfg.n_vocab, cfg.d_model)
    return (
        Take(
            "embed_in.weight",
            table,
            ("embed.token.weight",),
            again=HEAD if cfg.tied and not cfg.headless else "",
        ),
        *(take for i in range(cfg.n_layers) for take in block(cfg, i)),
        *norm(cfg.d_model, "final_layer_norm", "final_norm"),
        *(() if cfg.tied or cfg.headless else (Take(HEAD, table, ("to_logits.weight",)),)),
    )


def block(cfg: NeoXConfig, i: int) -> list[Take]:
    """The tensors of layer i."""
    here, d, ff = f"layers.{i}", cfg.d_model, cfg.d_ff
    packed = {"weight": (3 * d, d), "bias": (3 * d,)} if cfg.bias else {"weight": (3 * d, d)}
    parts = tuple(f"{here}.self_attn.to_{part}" for part in "qkv")
    return [
        *(
            Take(
                f"{here}.attention.query_key_value.{name}",
                shape,
                tuple(f"{part}.{name}" for part in parts),
                heads=cfg.n_heads,
            )
            for name, shape in packed.items()
        ),
        *linear(f"{here}.attention.dense", f"{here}.self_attn.to_out", d, d)[: len(packed)],
        *norm(d, f"{here}.input_layernorm", f"{here}.norm1"),
        *norm(d, f"{here}.post_attention_layernorm", f"{here}.norm2"),
        *linear(f"{here}.mlp.dense_h_to_4h", f"{here}.ffn.to_hidden", d, ff),
        *linear(f"{here}.mlp.dense_4h_to_h", f"{here}.ffn.to_out", ff, d),
    ]


FORMAT = Format(
    model_type="gpt_neox",
    architecture="GPTNeoX",
    family="neox",
    config=config,
    values=values,
    classes=lambda cfg: "GPTNeoXModel" if cfg.headless else "GPTNeoXForCausalLM",
    takes=takes,
    prefix="gpt_neox.",
    outside="embed_out.",
    endings={"lm_head.weight": HEAD},
    passed=re.compile(
        r"layers\.\d+\.attention\.(bias|masked_bias|rotary_emb\.inv_freq)|rotary_emb\.inv_freq"
    ),
    heads=re.compile(r"(score|classifier|qa_outputs)\."),
    tasks=of_decoder("classifier"),
)
