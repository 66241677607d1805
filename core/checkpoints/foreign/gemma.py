"""Gemma 1 to 3 (Gemma Team 2024, 2025), the text models: scaled embeddings; norms store their gain less 1."""

from __future__ import annotations

from core.checkpoints.foreign import keys, llama, tensors
from core.checkpoints.foreign.keys import Field, Values
from core.checkpoints.foreign.rope import all_but_every, dual_rope, local, rope_field
from core.checkpoints.foreign.table import kin
from core.checkpoints.safety.config_schema import Fields
from core.models.gemma import GemmaConfig
from core.models.gemma_encoder import GemmaEncoderConfig

GELU = "gelu_pytorch_tanh"


def _check_activation(fields: Fields, values: Values) -> Values:
    """Check that it is the tanh form of GELU; `hidden_activation` of newer files overrules `hidden_act`."""
    key = "hidden_activation" if "hidden_activation" in fields else "hidden_act"
    fields.only(key, GELU, "The feed-forward network of this kind has the tanh form of GELU.")
    return {}


ONE_WAY = keys.only(use_bidirectional_attention=False)
COMMON = (
    llama.UNBIASED,
    Field(read=_check_activation, write=lambda cfg: {"hidden_act": GELU, "hidden_activation": GELU}),
    *llama.SHAPE,
    llama.USUALLY_TIED,
)
GEMMA = kin(
    llama.LLAMA,
    "gemma",
    "google/gemma-2b",
    "Llama with scaled embeddings; one key head or several",
    guess_key="hidden_activation",
    fields=(ONE_WAY, *COMMON, llama.ROTARY),
    fixed={"scaled": True, "activation": "gelu_tanh"},
    weights=tensors.changed(llama.WEIGHTS, "norm$", plus=1.0),
)
LOGITS = "final_logit_softcapping"
LATER = (
    *COMMON,
    keys.whole_number("window", "sliding_window", default=4096),
    keys.whole_number("scale", "query_pre_attn_scalar", default=256, convert=float, invert=int),
)
GEMMA2 = kin(
    GEMMA,
    "gemma2",
    "google/gemma-2-2b",
    "Llama with a norm also after each sub-layer; layers with and without a sliding window; soft-capped scores and logits",
    config=GemmaConfig,
    guess_key="query_pre_attn_scalar",
    fields=(
        ONE_WAY,
        *LATER,
        keys.positive("attn_logit_softcapping", "score_cap", 50.0),
        keys.positive(LOGITS, "logit_cap", 30.0),
        rope_field(),
        keys.computed("rope_local_base", lambda values: values["rope_base"]),
        local(all_but_every(2)),
    ),
    fixed={"activation": "gelu_tanh"},
    weights=tensors.changed(
        llama.weights(
            llama.ATTENTION,
            llama.GATED,
            norm1="input_layernorm",
            after1="post_attention_layernorm",
            norm2="pre_feedforward_layernorm",
            after2="post_feedforward_layernorm",
        ),
        "norm$",
        plus=1.0,
    ),
)


def _read_directions(fields: Fields, values: Values) -> Values:
    """Read whether it looks both ways: then half of the window is on each side."""
    both = bool(fields.flag("use_bidirectional_attention", False))
    return {"both": both, "window": values["window"] // 2 + 1 if both else values["window"]}


DIRECTIONS = Field(
    read=_read_directions,
    write=lambda cfg: {"use_bidirectional_attention": True, "sliding_window": 2 * (cfg.window - 1)},
)
GEMMA3 = kin(
    GEMMA2,
    "gemma3_text",
    "google/gemma-3-1b-it",
    "Llama with two RoPE bases and query-key norms per head; the text model of a `gemma3` only; EmbeddingGemma (google/embeddinggemma-300m) is bidirectional",
    config=lambda values: GemmaEncoderConfig if values.get("both") else GemmaConfig,
    architecture="Gemma3",
    body_suffix="TextModel",
    fields=(
        *LATER,
        keys.written_of(GemmaEncoderConfig, DIRECTIONS),
        keys.only(attn_logit_softcapping=None),
        keys.positive(LOGITS, "logit_cap", 0.0),
        dual_rope(("rope_theta", "rope_local_base_freq"), (1e6, 1e4), ("default", "linear")),
        local(all_but_every(6, "sliding_window_pattern")),
    ),
    fixed={"activation": "gelu_tanh", "qk_norm": True, "score_cap": 0.0},
)
