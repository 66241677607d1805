"""ModernBERT (Warner et al. 2024), nomic-bert (Nussbaum et al. 2024), jina v2 (Günther et al. 2023) and ESM-2 (Lin et al. 2023)."""

from __future__ import annotations

from dataclasses import replace

from core.checkpoints.foreign import bert, keys, tensors
from core.checkpoints.foreign.keys import Field, Values
from core.checkpoints.foreign.rope import all_but_every, dual_rope, local, rope_field
from core.checkpoints.foreign.table import Format, kin
from core.checkpoints.safety.config_schema import RANGES, Fields
from core.checkpoints.task_heads import ANSWER, CHOICE, CLASSES, POOLED, TAGS, HeadSpec, two_maps
from core.models.modernbert import ModernBERTConfig

PACKED = {"attn.Wqkv": tensors.stacked_row(*tensors.QKV)}


def _check_head_activation(fields: Fields, values: Values) -> Values:
    named = fields.one_of("classifier_activation", keys.GELUS, "gelu")
    if values["masked_lm"] and named != values["activation"]:
        fields.only("classifier_activation", "", "The head has the activation of the layers here.")
    return {}


TUNED = HeadSpec(
    "classifier",
    dense="head.dense",
    activation="gelu",
    activation_field="classifier_activation",
    norm="head.norm",
    eps_field="norm_eps",
    plain=("head.dense", "head.norm"),
)
MODERNBERT = Format(
    model_type="modernbert",
    example="answerdotai/ModernBERT-base",
    summary="BERT without segments; rotary positions, layers with full or local attention, a gated feed-forward network",
    architecture="ModernBert",
    config=ModernBERTConfig,
    tables=False,
    fields=(
        keys.off("attention_bias mlp_bias norm_bias classifier_bias"),
        keys.only(decoder_bias=True),
        *bert.SIZES,
        dual_rope(("global_rope_theta", "local_rope_theta"), (160000.0, 10000.0)),
        local(all_but_every(3, "global_attn_every_n_layers", first=True)),
        keys.whole_number(
            "reach", "local_attention", default=128, least=2, convert=lambda n: n // 2, invert=lambda n: 2 * n
        ),
        keys.word("hidden_activation", keys.GELUS, "gelu"),
        replace(keys.word("classifier_activation", keys.GELUS, "gelu"), read=_check_head_activation),
        keys.small("norm_eps", 1e-5),
    ),
    stored={"masked_lm": ("decoder.",)},
    weights={
        "embeddings.tok_embeddings": "embed.token",
        "embeddings.norm": "embed.norm",
        **tensors.layers(
            "layers",
            PACKED,
            {
                "attn.Wo": "self_attn.to_out",
                "mlp.Wi": tensors.stacked_row("ffn.to_gate", "ffn.to_hidden"),
                "mlp.Wo": "ffn.to_out",
            },
            norm1="attn_norm",
            norm2="mlp_norm",
        ),
        "final_norm": "final_norm",
        **bert.words_head("", "head.dense head.norm decoder.bias"),
    },
    special_tokens=bert.ROLES,
    prefix="model.",
    output="decoder",
    outside=("head.", "decoder.", "classifier."),
    output_suffix="ForMaskedLM",
    tasks={
        **dict.fromkeys((CLASSES, CHOICE), replace(TUNED, pool_field="classifier_pooling")),
        **dict.fromkeys((TAGS, ANSWER), TUNED),
    },
)


def _read_trained(fields: Fields, values: Values) -> Values:
    """Read the longest text of the training: after it old files stretch their positions, which is not computed."""
    longest = fields.whole_number("max_trained_positions", largest=RANGES["n_ctx"], default=values["n_ctx"])
    return {"n_ctx": min(longest, values["n_ctx"])}


NOMIC = kin(
    MODERNBERT,
    "nomic_bert",
    "nomic-ai/nomic-embed-text-v1.5",
    "BERT with rotary positions; segments, post-norm, a gated feed-forward network",
    architecture="NomicBert",
    fields=(
        keys.off("prenorm causal parallel_block use_rms_norm rotary_emb_interleaved"),
        keys.off("qkv_proj_bias mlp_fc1_bias mlp_fc2_bias"),
        keys.only(rotary_emb_scale_base=None, moe_every_n_layers=0),
        keys.only(rotary_emb_fraction=1.0, activation_function="swiglu"),
        *keys.size_fields(
            omit="n_ctx",
            n_layers="num_hidden_layers n_layer",
            n_heads="num_attention_heads n_head",
            d_model="hidden_size n_embd",
            d_ff="intermediate_size n_inner",
        ),
        keys.whole_number("n_ctx", "max_position_embeddings", "n_positions", default=2048),
        Field(read=_read_trained),
        keys.whole_number("n_segments", "type_vocab_size", default=2, least=0),
        keys.word("hidden_act", {**keys.SILUS, **keys.GELUS}, "silu"),
        keys.small("layer_norm_eps", 1e-12),
        rope_field(("rope_theta", "rotary_emb_base"), 1000.0),
        bert.DROPS,
    ),
    fixed={"block": "behind", "local": (), "biases": "norms"},
    stored={"masked_lm": ("cls.",), "pooler": ("pooler.",)},
    weights={
        "embeddings.word_embeddings": "embed.token",
        "embeddings.token_type_embeddings": "embed.segment",
        "emb_ln": "embed.norm",
        **tensors.layers(
            "encoder.layers",
            PACKED,
            {"attn.out_proj": "self_attn.to_out"},
            tensors.feed_forward("mlp.fc11", "mlp.fc2", gate="mlp.fc12"),
            norm1="norm1",
            norm2="norm2",
        ),
        **bert.words_head(bert.HEAD, "transform.dense transform.layer_norm bias"),
        **bert.POOLER,
    },
    prefix="nomic_bert.",
    wrapped="bert.",
    output=f"{bert.HEAD}decoder",
    outside="cls.",
    tasks={name: POOLED[name] for name in (CLASSES, TAGS)},
)
JINA = kin(
    NOMIC,
    "jina_bert",
    "jinaai/jina-embeddings-v2-small-en",
    "BERT with ALiBi in both directions, also shown as a table; a gated feed-forward network; recognised by its class JinaBert, because its `model_type` is `bert`",
    config_model_type="bert",
    architecture="JinaBert",
    fields=(
        keys.only(position_embedding_type="alibi", feed_forward_type="geglu", is_decoder=False),
        *bert.SIZES,
        bert.SEGMENTS,
        bert.GELU,
        bert.EPS,
        bert.DROPS,
    ),
    fixed={"block": "behind", "local": (), "biases": "all", "places": "alibi"},
    weights={
        **bert.BERT_WEIGHTS,
        **bert.encoder_layers(
            inner={
                "mlp.gated_layers": tensors.stacked_row("ffn.to_gate", "ffn.to_hidden"),
                "mlp.wo": "ffn.to_out",
            },
            norm2="mlp.layernorm",
        ),
    },
    prefix="bert.",
    wrapped="",
    tasks=POOLED,
)
ESM = kin(
    MODERNBERT,
    "esm",
    "facebook/esm2_t6_8M_UR50D",
    "BERT over amino acids, one letter per token; rotary positions, pre-norm; the vector of a masked token is 0 and the others are scaled up",
    architecture="Esm",
    fields=(
        keys.only(is_folding_model=False, is_decoder=False),
        *bert.SIZES,
        bert.LATER,
        keys.word(
            "position_embedding_type", {"absolute": "learned", "rotary": "turned"}, "absolute", "places"
        ),
        keys.flag("emb_layer_norm_before", "embed_norm", False),
        Field(
            read=lambda fields, values: {
                "blank": fields.whole_number("mask_token_id", largest=values["n_vocab"] - 1, least=0)
                if fields.flag("token_dropout", False)
                else -1
            },
            write=lambda cfg: {"token_dropout": cfg.blank >= 0, "mask_token_id": max(cfg.blank, 0)},
        ),
        bert.EPS,
        rope_field(),
        bert.DROPS,
    ),
    fixed={"local": (), "first_norm": True, "gated": False, "biases": "all"},
    stored={"masked_lm": ("lm_head.",), "pooler": ("pooler.",)},
    weights={
        **bert.LATER_WEIGHTS,
        "embeddings.layer_norm": "embed.norm",
        **bert.encoder_layers(norm1="attention.LayerNorm", norm2="LayerNorm"),
        "encoder.emb_layer_norm_after": "final_norm",
    },
    special_tokens={
        "start": "<cls> or [CLS]",
        "end": "<eos> or [SEP]",
        "pad": "<pad> or [PAD]",
        "mask": "<mask> or [MASK]",
    },
    prefix="esm.",
    output="lm_head.decoder",
    outside="lm_head.",
    endings=bert.BERT.endings,
    ignored_tensors=r"contact_head\.regression\.(weight|bias)|.*rotary_embeddings\.inv_freq|embeddings\.position_embeddings\.weight",
    tasks={name: two_maps()[name] for name in (CLASSES, TAGS)},
)
