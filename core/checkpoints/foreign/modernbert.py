"""ModernBERT (Warner et al. 2024), nomic-bert (Nussbaum et al. 2024), jina v2 (Günther et al. 2023) and ESM-2 (Lin et al. 2023) in Hugging Face format."""

from __future__ import annotations

from dataclasses import replace

from core.checkpoints.foreign import bert
from core.checkpoints.foreign.rope import local, rope_field, two_turns
from core.checkpoints.foreign.table import (
    GELUS,
    SILUS,
    Field,
    Format,
    Values,
    flag,
    only,
    row,
    sizes,
    small,
    under,
    whole_number,
    word,
)
from core.checkpoints.safety.config_schema import RANGES, Fields
from core.checkpoints.task_heads import ANSWER, CHOICE, CLASSES, POOLED, TAGS, HeadSpec, two_maps
from core.models.rotary.modernbert import ModernBERTConfig

WITHOUT = "Only the words' own biases are implemented for this kind."


def _head(fields: Fields, given: Values) -> Values:
    if given["masked_lm"] and fields.one_of("classifier_activation", GELUS, "gelu") != given["activation"]:
        fields.only("classifier_activation", "", "The head has the activation of the layers here.")
    return {}


def _others(fields: Fields, n: int) -> list[int]:
    every = fields.whole("global_attn_every_n_layers", largest=RANGES["n_layers"], default=3)
    return [i for i in range(n) if i % every]


TUNED = HeadSpec(
    "classifier",
    dense="head.dense",
    activation="gelu",
    activation_field="classifier_activation",
    norm="head.norm",
    eps_field="norm_eps",
    plain=("head.dense", "head.norm"),
)
FORMAT = Format(
    model_type="modernbert",
    like="answerdotai/ModernBERT-base",
    shows="BERT without segments; rotary positions, layers with full or local attention, a gated feed-forward network",
    architecture="ModernBert",
    config=ModernBERTConfig,
    tables=False,
    fields=(
        *(
            only(name, False, WITHOUT)
            for name in ("attention_bias", "mlp_bias", "norm_bias", "classifier_bias")
        ),
        only("decoder_bias", True, "A head for hidden words without a bias a word is not implemented."),
        *bert.SIZES,
        two_turns(("global_rope_theta", "local_rope_theta"), (160000.0, 10000.0)),
        local(_others),
        Field(
            read=lambda fields, given: {
                "reach": fields.whole("local_attention", largest=RANGES["n_ctx"], default=128, least=2) // 2
            },
            write=lambda cfg: {"local_attention": 2 * cfg.reach},
        ),
        word("hidden_activation", GELUS, "gelu"),
        replace(word("classifier_activation", GELUS, "gelu"), read=_head),
        small("norm_eps", 1e-5),
    ),
    stored={"masked_lm": ("decoder.",)},
    weights={
        "embeddings.tok_embeddings": "embed.token",
        "embeddings.norm": "embed.norm",
        **under(
            "layers.*.",
            "layers.*.",
            {
                "attn_norm": "norm1",
                "attn.Wqkv": row(*(f"self_attn.to_{part}" for part in "qkv"), heads=lambda cfg: 1),
                "attn.Wo": "self_attn.to_out",
                "mlp_norm": "norm2",
                "mlp.Wi": row("ffn.to_gate", "ffn.to_hidden", heads=lambda cfg: 1),
                "mlp.Wo": "ffn.to_out",
            },
        ),
        "final_norm": "final_norm",
        "head.dense": "masked_lm.to_hidden",
        "head.norm": "masked_lm.norm",
        "decoder.bias": "masked_lm.bias",
    },
    marks=bert.MARKS,
    prefix="model.",
    output="decoder",
    outside=("head.", "decoder.", "classifier."),
    writer="ForMaskedLM",
    tasks={
        **dict.fromkeys((CLASSES, CHOICE), replace(TUNED, pool_field="classifier_pooling")),
        **dict.fromkeys((TAGS, ANSWER), TUNED),
    },
)
NEVER = "Only norms behind the sub-layers, and turned queries and keys that look both ways, are computed for this kind."


def _trained(fields: Fields, given: Values) -> Values:
    """Read the longest text of the training: beyond it old files may stretch their positions, which is not computed."""
    longest = fields.whole("max_trained_positions", largest=RANGES["n_ctx"], default=given["n_ctx"])
    return {"n_ctx": min(longest, given["n_ctx"])}


NOMIC = replace(
    FORMAT,
    model_type="nomic_bert",
    like="nomic-ai/nomic-embed-text-v1.5",
    shows="BERT with rotary positions; segments, post-norm, a gated feed-forward network",
    architecture="NomicBert",
    fields=(
        *(
            only(name, False, NEVER)
            for name in ("prenorm", "causal", "parallel_block", "use_rms_norm", "rotary_emb_interleaved")
        ),
        *(only(name, False, WITHOUT) for name in ("qkv_proj_bias", "mlp_fc1_bias", "mlp_fc2_bias")),
        only("rotary_emb_scale_base", None, NEVER),
        only("moe_every_n_layers", 0, "Experts are not computed for this kind."),
        only("rotary_emb_fraction", 1.0, "All features of queries and keys are turned in this kind."),
        only("activation_function", "swiglu", "The gate of this kind is silu where it has this name."),
        *sizes(
            n_layers="num_hidden_layers n_layer",
            n_heads="num_attention_heads n_head",
            d_model="hidden_size n_embd",
            d_ff="intermediate_size n_inner",
            n_vocab="vocab_size",
        ),
        whole_number("n_ctx", "max_position_embeddings", "n_positions", default=2048),
        Field(read=_trained),
        whole_number("n_segments", "type_vocab_size", default=2, least=0),
        word("hidden_act", {**SILUS, **GELUS}, "silu"),
        small("layer_norm_eps", 1e-12),
        rope_field(("rope_theta", "rotary_emb_base"), 1000.0),
        bert.DROPS,
    ),
    fixed={"block": "behind", "local": (), "biases": "norms"},
    stored={"masked_lm": ("cls.",), "pooler": ("pooler.",)},
    weights={
        "embeddings.word_embeddings": "embed.token",
        "embeddings.token_type_embeddings": "embed.segment",
        "emb_ln": "embed.norm",
        **under(
            "encoder.layers.*.",
            "layers.*.",
            {
                "attn.Wqkv": row(*(f"self_attn.to_{part}" for part in "qkv"), heads=lambda cfg: 1),
                "attn.out_proj": "self_attn.to_out",
                "norm1": "norm1",
                "mlp.fc12": "ffn.to_gate",
                "mlp.fc11": "ffn.to_hidden",
                "mlp.fc2": "ffn.to_out",
                "norm2": "norm2",
            },
        ),
        **under("cls.predictions.", "", bert.head("transform.dense", "transform.layer_norm", "bias")),
        "pooler.dense": "pooler",
    },
    prefix="nomic_bert.",
    wrapped="bert.",
    output="cls.predictions.decoder",
    outside="cls.",
    tasks={name: POOLED[name] for name in (CLASSES, TAGS)},
)
JINA = replace(
    NOMIC,
    model_type="jina_bert",
    said_as="bert",
    like="jinaai/jina-embeddings-v2-small-en",
    shows="BERT with ALiBi in both directions, also shown as a table; a gated feed-forward network; recognised by its class JinaBert, because its `model_type` is `bert`",
    architecture="JinaBert",
    fields=(
        only("position_embedding_type", "alibi", "Scores of this kind fall with the distance."),
        only("feed_forward_type", "geglu", "The feed-forward network of this kind has a gate, gelu."),
        only("is_decoder", False, bert.ONE_WAY),
        *bert.SIZES,
        bert.SEGMENTS,
        bert.GELU,
        bert.EPS,
        bert.DROPS,
    ),
    fixed={"block": "behind", "local": (), "biases": "all", "places": "alibi"},
    weights={
        **{name: each for name, each in bert.EMBEDDINGS.items() if "position" not in name},
        **{name: each for name, each in bert.LAYER.items() if ".attention." in name},
        **under(
            "encoder.layer.*.mlp.",
            "layers.*.",
            {
                "gated_layers": row("ffn.to_gate", "ffn.to_hidden", heads=lambda cfg: 1),
                "wo": "ffn.to_out",
                "layernorm": "norm2",
            },
        ),
        **bert.WORDS,
        "pooler.dense": "pooler",
    },
    prefix="bert.",
    wrapped="",
    tasks=POOLED,
)
ESM = replace(
    FORMAT,
    model_type="esm",
    like="facebook/esm2_t6_8M_UR50D",
    shows="BERT over amino acids, one letter per token; rotary positions, pre-norm; the vector of a masked token is 0 and the others are scaled up",
    architecture="Esm",
    fields=(
        only(
            "is_folding_model",
            False,
            "What folds a protein is not computed: the language model alone is read.",
        ),
        only("is_decoder", False, bert.ONE_WAY),
        *bert.SIZES,
        bert.LATER,
        word("position_embedding_type", {"absolute": "learned", "rotary": "turned"}, "absolute", "places"),
        flag("emb_layer_norm_before", "embed_norm", False),
        Field(
            read=lambda fields, given: {
                "blank": fields.whole("mask_token_id", largest=given["n_vocab"] - 1, least=0)
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
        **{name: each for name, each in bert.EMBEDDINGS.items() if "LayerNorm" not in name},
        "embeddings.layer_norm": "embed.norm",
        **{name: each for name, each in bert.LAYER.items() if "LayerNorm" not in name},
        "encoder.layer.*.attention.LayerNorm": "layers.*.norm1",
        "encoder.layer.*.LayerNorm": "layers.*.norm2",
        "encoder.emb_layer_norm_after": "final_norm",
        **bert.LATER_WORDS,
        "pooler.dense": "pooler",
    },
    marks={
        "start": "<cls> or [CLS]",
        "end": "<eos> or [SEP]",
        "pad": "<pad> or [PAD]",
        "mask": "<mask> or [MASK]",
    },
    prefix="esm.",
    output="lm_head.decoder",
    outside="lm_head.",
    endings=bert.BERT.endings,
    passed=r"contact_head\.regression\.(weight|bias)|.*rotary_embeddings\.inv_freq|embeddings\.position_embeddings\.weight",
    tasks={name: two_maps()[name] for name in (CLASSES, TAGS)},
)
FORMATS = (FORMAT, NOMIC, JINA, ESM)
