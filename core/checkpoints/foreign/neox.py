"""GPT-NeoX and Pythia folders in Hugging Face format (Black et al. 2022): queries, keys and values packed head by head."""

from __future__ import annotations

from core.checkpoints.foreign.bert import SIZES
from core.checkpoints.foreign.rope import rope_field
from core.checkpoints.foreign.table import GELUS, Format, dropouts, flag, row, small, under, word
from core.checkpoints.task_heads import of_decoder
from core.models.rotary.neox import NeoXConfig

LAYER = {
    "attention.query_key_value": row(
        *(f"self_attn.to_{part}" for part in "qkv"), heads=lambda cfg: cfg.n_heads
    ),
    "attention.dense": "self_attn.to_out",
    "input_layernorm": "norm1",
    "post_attention_layernorm": "norm2",
    "mlp.dense_h_to_4h": "ffn.to_hidden",
    "mlp.dense_4h_to_h": "ffn.to_out",
}
NEOX = Format(
    model_type="gpt_neox",
    like="EleutherAI/pythia-70m",
    shows="partial rotary positions (queries and keys before and after rotation); parallel attention and feed-forward",
    architecture="GPTNeoX",
    config=NeoXConfig,
    tables=False,
    fields=(
        *SIZES,
        word("hidden_act", GELUS, "gelu"),
        small("layer_norm_eps", 1e-5),
        flag("use_parallel_residual", "parallel", True),
        flag("attention_bias", "bias", True),
        flag("tie_word_embeddings", "tied", False),
        rope_field("rotary_emb_base", share=("rotary_pct", 0.25)),
        dropouts("hidden_dropout"),
    ),
    weights={
        "embed_in": "embed.token",
        **under("layers.*.", "layers.*.", LAYER),
        "final_layer_norm": "final_norm",
    },
    prefix="gpt_neox.",
    output="embed_out",
    outside="embed_out.",
    endings={"lm_head.weight": "embed_out.weight"},
    passed=r"layers\.\d+\.attention\.bias",
    tasks=of_decoder("classifier"),
)
FORMATS = (NEOX,)
