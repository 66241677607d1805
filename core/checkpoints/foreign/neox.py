"""GPT-NeoX and Pythia (Black et al. 2022): queries, keys and values packed head by head."""

from __future__ import annotations

from core.checkpoints.foreign import keys, tensors
from core.checkpoints.foreign.rope import rope_field
from core.checkpoints.foreign.table import Format
from core.checkpoints.task_heads import of_decoder
from core.models.neox import NeoXConfig

PACKED = tensors.make_row(*tensors.QKV, heads=lambda cfg: cfg.n_heads)
FEED_FORWARD = tensors.feed_forward("mlp.dense_h_to_4h", "mlp.dense_4h_to_h")
NORMS = {"norm1": "input_layernorm", "norm2": "post_attention_layernorm"}
NEOX = Format(
    model_type="gpt_neox",
    example="EleutherAI/pythia-70m",
    summary="partial rotary positions (queries and keys before and after rotation); parallel attention and feed-forward",
    architecture="GPTNeoX",
    config=NeoXConfig,
    tables=False,
    fields=(
        *keys.size_fields(),
        keys.word("hidden_act", keys.GELUS, "gelu"),
        keys.small("layer_norm_eps", 1e-5),
        keys.flag("use_parallel_residual", "parallel", True),
        keys.flag("attention_bias", "bias", True),
        keys.flag("tie_word_embeddings", "tied", False),
        rope_field("rotary_emb_base", share=0.25, share_key="rotary_pct"),
    ),
    weights={
        "embed_in": "embed.token",
        **tensors.layers(
            "layers",
            {"attention.query_key_value": PACKED, "attention.dense": "self_attn.to_out"},
            FEED_FORWARD,
            **NORMS,
        ),
        "final_layer_norm": "final_norm",
    },
    prefix="gpt_neox.",
    output="embed_out",
    outside="embed_out.",
    endings={"lm_head.weight": "embed_out.weight"},
    ignored_tensors=r"layers\.\d+\.attention\.bias",
    tasks=of_decoder("classifier"),
)
