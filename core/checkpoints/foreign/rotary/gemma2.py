"""Gemma 2 and 3 folders in Hugging Face format (Gemma Team 2024, 2025): the text models; norms store their gain less 1."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from core.checkpoints.foreign.rotary import gemma, layer_types, llama, local_layers, two_turns, unread
from core.checkpoints.safety.config_schema import RANGES, Fields, built
from core.checkpoints.safety.load_plan import Take
from core.models.rotary.gemma import GemmaConfig

CAPS = {"attn_logit_softcapping": "score_cap", "final_logit_softcapping": "logit_cap"}
EVERY = 6
"""Of Gemma 3's layers the last of six looks everywhere, where nothing else is said."""


def second(fields: Fields, stored: Collection[str] = ()) -> GemmaConfig:
    """The shape of a Gemma 2: every other layer has a window, the first one too."""
    given = common(fields, stored, {"score_cap": 50.0, "logit_cap": 30.0})
    turn = llama.rope(fields, 10000.0)
    if set(turn) != {"rope_base"}:
        raise unread("its rotary positions are stretched as in Llama 3.1", stretched=False)
    local = local_layers(fields, given["n_layers"], range(0, given["n_layers"], 2))
    return _built({**given, **turn, "local": local, "rope_local_base": turn["rope_base"]})


def third(fields: Fields, stored: Collection[str] = ()) -> GemmaConfig:
    """The shape of a Gemma 3: most layers have a window, and queries and keys are normed head by head."""
    given = common(fields, stored, {"score_cap": 0.0, "logit_cap": 0.0})
    fields.only("attn_logit_softcapping", None, "Scores of a Gemma 3 are not capped.")
    n, every = (
        given["n_layers"],
        fields.whole("sliding_window_pattern", largest=RANGES["n_layers"], default=EVERY),
    )
    local = local_layers(fields, n, [i for i in range(n) if (i + 1) % every])
    turns = two_turns(fields, ("rope_theta", "rope_local_base_freq"), (1e6, 1e4))
    return _built({**given, **turns, "local": local, "qk_norm": True})


def common(fields: Fields, stored: Collection[str], caps: Mapping[str, float]) -> dict[str, Any]:
    """What both say alike; `caps` are those of a config that names none."""
    gemma.check(fields)
    return {
        **llama.shape(fields.without("hidden_act"), stored),
        "activation": "gelu_tanh",
        "tied": fields.flag("tie_word_embeddings", True),
        "window": fields.whole("sliding_window", largest=RANGES["n_ctx"], default=4096),
        "scale": float(fields.whole("query_pre_attn_scalar", largest=RANGES["d_model"], default=256)),
        **{ours: fields.positive(theirs, caps[ours]) for theirs, ours in CAPS.items()},
    }


def _built(given: Mapping[str, Any]) -> GemmaConfig:
    return built(GemmaConfig, given, tables=False)


def said_second(cfg: GemmaConfig) -> Mapping[str, Any] | None:
    """What a config.json of a Gemma 2 says; None for norms of its heads, or two bases."""
    if cfg.qk_norm or cfg.rope_base != cfg.rope_local_base or cfg.rope_factor != 1.0:
        return None
    said = _said(cfg)
    return None if said is None else {**said, "rope_theta": cfg.rope_base}


def said_third(cfg: GemmaConfig) -> Mapping[str, Any] | None:
    """What a config.json of a Gemma 3 says; None without norms of its heads, or with capped scores."""
    said = _said(cfg) if cfg.qk_norm and not cfg.score_cap else None
    kind = (
        {"rope_type": "default"}
        if cfg.rope_factor == 1.0
        else {"rope_type": "linear", "factor": cfg.rope_factor}
    )
    turns = {
        "full_attention": {**kind, "rope_theta": cfg.rope_base},
        "sliding_attention": {"rope_type": "default", "rope_theta": cfg.rope_local_base},
    }
    return None if said is None else {**said, "rope_parameters": turns}


def _said(cfg: GemmaConfig) -> dict[str, Any] | None:
    if cfg.activation != "gelu_tanh" or cfg.scale != int(cfg.scale):
        return None
    return {
        **llama.said_shape(cfg),
        "hidden_act": gemma.GELU,
        "hidden_activation": gemma.GELU,
        "query_pre_attn_scalar": int(cfg.scale),
        "sliding_window": cfg.window,
        "layer_types": layer_types(cfg.n_layers, cfg.local),
        **{theirs: getattr(cfg, ours) or None for theirs, ours in CAPS.items()},
    }


NORMS = {
    "post_attention_layernorm": "after1",
    "pre_feedforward_layernorm": "norm2",
    "post_feedforward_layernorm": "after2",
}


def takes(cfg: GemmaConfig) -> tuple[Take, ...]:
    """Llama's tensors and two more norms a layer; to the gain of each norm 1 is added."""
    found = [take for take in llama.takes(cfg) if ".post_attention_layernorm." not in take.name]
    for i in range(cfg.n_layers):
        found += [
            Take(f"layers.{i}.{theirs}.weight", (cfg.d_model,), (f"layers.{i}.{ours}.weight",))
            for theirs, ours in NORMS.items()
        ]
    return gemma.gains(found)


GEMMA2 = replace(
    gemma.FORMAT,
    model_type="gemma2",
    architecture="Gemma2",
    family="gemma",
    telling="query_pre_attn_scalar",
    config=second,
    values=said_second,
    classes=lambda cfg: "Gemma2Model" if cfg.headless else "Gemma2ForCausalLM",
    takes=takes,
)
GEMMA3 = replace(
    GEMMA2,
    model_type="gemma3_text",
    architecture="Gemma3",
    config=third,
    values=said_third,
    classes=lambda cfg: "Gemma3TextModel" if cfg.headless else "Gemma3ForCausalLM",
)
FORMATS = (GEMMA2, GEMMA3)
