"""Llama (Touvron et al. 2023) and its kin in Hugging Face format: Mistral (2023), Qwen2 and Qwen3 (Yang et al. 2024, 2025)."""

from __future__ import annotations

from dataclasses import replace

from core.checkpoints.foreign.bert import SIZES
from core.checkpoints.foreign.rope import turned, window
from core.checkpoints.foreign.table import SILUS, Format, flag, only, small, under, whole, word
from core.checkpoints.task_heads import of_decoder
from core.models.rotary.llama import LlamaConfig

UNBIASED = only(
    "attention_bias", False, "Biases on queries, keys, values and the output are not implemented."
)
SHAPE = (
    only("mlp_bias", False, "Biases of the feed-forward network are not implemented."),
    *SIZES,
    whole("n_kv_heads", "num_key_value_heads", default=lambda given: given["n_heads"]),
    whole("d_head", "head_dim", default=lambda given: given["d_model"] // given["n_heads"]),
    small("rms_norm_eps", 1e-6),
)
TURNED = turned(kinds=("default", "llama3"))
BASE = (
    *SHAPE,
    word("hidden_act", {**SILUS, "gelu_pytorch_tanh": "gelu_tanh", "gelu_new": "gelu_tanh"}, "silu"),
    flag("tie_word_embeddings", "tied", False),
    TURNED,
)
"""What the configs of Llama and its kin say alike."""
ATTENTION = {
    **{f"self_attn.{part}_proj": f"self_attn.to_{part}" for part in "qkv"},
    "self_attn.o_proj": "self_attn.to_out",
    **{f"self_attn.{part}_norm": f"self_attn.{part}_norm" for part in "qk"},
}
GATED = {
    "mlp.gate_proj": "ffn.to_gate",
    "mlp.up_proj": "ffn.to_hidden",
    "mlp.down_proj": "ffn.to_out",
}
NORMS = {"input_layernorm": "norm1", "post_attention_layernorm": "norm2"}
ENDS = {"embed_tokens": "embed.token", "norm": "final_norm"}
LLAMA = Format(
    model_type="llama",
    like="HuggingFaceTB/SmolLM2-135M",
    shows="turned queries and keys beside the plain ones, heads that share a key head; positions stretched as in Llama 3.1",
    architecture="Llama",
    config=LlamaConfig,
    tables=False,
    fields=(
        UNBIASED,
        only("pretraining_tp", 1, "Products cut into slices, as in the pretraining, are not implemented."),
        *BASE,
    ),
    weights={**ENDS, **under("layers.*.", "layers.*.", {**ATTENTION, **GATED, **NORMS})},
    prefix="model.",
    tasks=of_decoder("score"),
    wrapped="transformer.",
)
MISTRAL = replace(
    LLAMA,
    model_type="mistral",
    like="mistralai/Mistral-7B-v0.1",
    shows="Llama's heads through a window",
    architecture="Mistral",
    telling="sliding_window",
    fields=(*BASE, window(default=4096)),
)
QWEN2 = replace(
    LLAMA,
    model_type="qwen2",
    like="Qwen/Qwen2.5-0.5B",
    shows="Llama's heads with biases on queries, keys and values",
    architecture="Qwen2",
    fields=(*BASE, window(switch="use_sliding_window")),
    fixed={"qkv_bias": True},
)
QWEN3 = replace(
    QWEN2,
    model_type="qwen3",
    like="Qwen/Qwen3-0.6B",
    shows="Llama's heads with norms on each head's queries and keys",
    architecture="Qwen3",
    fields=(UNBIASED, *QWEN2.fields),
    fixed={"qk_norm": True},
)
FORMATS = (LLAMA, MISTRAL, QWEN2, QWEN3)
