"""Gemma 1 to 3 in Hugging Face format (Gemma Team 2024, 2025), the text models: scaled embeddings; norms store their gain less 1."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from core.checkpoints.foreign import llama
from core.checkpoints.foreign.rope import every, local, rope_field, two_turns
from core.checkpoints.foreign.table import Field, Values, changed, flag, only, positive, under, whole_number
from core.checkpoints.safety.config_schema import RANGES, Fields
from core.models.rotary.gemma import GemmaConfig
from core.models.rotary.gemma_encoder import GemmaEncoderConfig

GELU, TANH = "gelu_pytorch_tanh", "The feed-forward network of this kind has the tanh form of GELU."


def _tanh(fields: Fields, given: Values) -> Values:
    """Check the activation: what newer files say of `hidden_activation` goes before `hidden_act`; both are the tanh form of GELU."""
    fields.only("hidden_activation" if "hidden_activation" in fields else "hidden_act", GELU, TANH)
    return {}


ONE_WAY = only(
    "use_bidirectional_attention", False, "A Gemma that looks at what comes after is not implemented."
)
COMMON = (
    llama.UNBIASED,
    Field(read=_tanh, write=lambda cfg: {"hidden_act": GELU, "hidden_activation": GELU}),
    *llama.SHAPE,
    flag("tie_word_embeddings", "tied", True),
)
GEMMA = replace(
    llama.LLAMA,
    model_type="gemma",
    like="google/gemma-2b",
    shows="Llama with scaled embeddings; one key head or several",
    architecture="Gemma",
    telling="hidden_activation",
    fields=(ONE_WAY, *COMMON, llama.TURNED),
    fixed={"scaled": True, "activation": "gelu_tanh"},
    weights=changed(llama.WEIGHTS, "norm$", plus=1.0),
)
SCORES, LOGITS = "attn_logit_softcapping", "final_logit_softcapping"
LATER = (
    *COMMON,
    whole_number("window", "sliding_window", default=4096),
    Field(
        read=lambda fields, given: {
            "scale": float(fields.whole("query_pre_attn_scalar", largest=RANGES["d_model"], default=256))
        },
        write=lambda cfg: {"query_pre_attn_scalar": int(cfg.scale)},
    ),
)


def _same_base(fields: Fields, given: Values) -> dict[str, Any]:
    return {"rope_local_base": given["rope_base"]}


GEMMA2 = replace(
    GEMMA,
    model_type="gemma2",
    like="google/gemma-2-2b",
    shows="Llama with a norm also after each sub-layer; layers with and without a sliding window; soft-capped scores and logits",
    architecture="Gemma2",
    config=GemmaConfig,
    telling="query_pre_attn_scalar",
    fields=(
        ONE_WAY,
        *LATER,
        positive(SCORES, "score_cap", 50.0),
        positive(LOGITS, "logit_cap", 30.0),
        rope_field(),
        Field(read=_same_base),
        local(lambda fields, n: range(0, n, 2)),
    ),
    fixed={"activation": "gelu_tanh"},
    weights=changed(
        {
            **llama.ENDS,
            **under(
                "layers.*.",
                "layers.*.",
                {
                    **llama.ATTENTION,
                    **llama.GATED,
                    "input_layernorm": "norm1",
                    "post_attention_layernorm": "after1",
                    "pre_feedforward_layernorm": "norm2",
                    "post_feedforward_layernorm": "after2",
                },
            ),
        },
        "norm$",
        plus=1.0,
    ),
)


def _both_ways(fields: Fields, given: Values) -> Values:
    """Read whether it looks both ways: then half of the window is on each side."""
    both = bool(fields.flag("use_bidirectional_attention", False))
    return {"both": both, "window": given["window"] // 2 + 1 if both else given["window"]}


GEMMA3 = replace(
    GEMMA2,
    model_type="gemma3_text",
    like="google/gemma-3-1b-it",
    shows="Llama with two RoPE bases and query-key norms per head; the text model of a `gemma3` only; EmbeddingGemma (google/embeddinggemma-300m) is bidirectional",
    config=lambda given: GemmaEncoderConfig if given.get("both") else GemmaConfig,
    architecture="Gemma3",
    bare="TextModel",
    fields=(
        *LATER,
        Field(
            read=_both_ways,
            write=lambda cfg: (
                {"use_bidirectional_attention": True, "sliding_window": 2 * (cfg.window - 1)}
                if isinstance(cfg, GemmaEncoderConfig)
                else {}
            ),
        ),
        only(SCORES, None, "Scores of a Gemma 3 are not capped."),
        positive(LOGITS, "logit_cap", 0.0),
        two_turns(("rope_theta", "rope_local_base_freq"), (1e6, 1e4), ("default", "linear")),
        local(every("sliding_window_pattern", 6)),
    ),
    fixed={"activation": "gelu_tanh", "qk_norm": True, "score_cap": 0.0},
)
FORMATS = (GEMMA, GEMMA2, GEMMA3)
