"""Marian (Junczys-Dowmunt et al. 2018, the translators Opus-MT), BART (Lewis et al. 2020), mBART, Pegasus and M2M100, all tied.

The tokenizer of a Marian is a tokenizer.json, or, as on the Hub, `source.spm` and `target.spm` with one vocab.json (`core.text.PieceTokenizer`).
"""

from __future__ import annotations

from core.checkpoints.foreign.table import (
    GELUS,
    REFUSED,
    SILUS,
    Field,
    Format,
    Values,
    Weights,
    attention,
    decoder_layers,
    dropouts,
    feed_forward,
    flag,
    kin,
    layers,
    only,
    row,
    sizes,
    word,
)
from core.checkpoints.safety.config_schema import RANGES, Fields
from core.checkpoints.task_heads import TWO_STACKS
from core.models.transformer import TransformerConfig

SAME = {"decoder_attention_heads": "n_heads", "decoder_ffn_dim": "d_ff"}


def _check_decoder(fields: Fields, values: Values) -> Values:
    for key, name in SAME.items():
        fields.whole_number(key, largest=RANGES["d_ff"], default=values[name])
        fields.only(
            key,
            values[name],
            f"Both stacks are of one width here: the encoder has {values[name]:,}.",
            "Open a model of this kind whose encoder and decoder are equally wide, as in facebook/bart-base and the Opus-MT translators.",
        )
    return {}


POST = only(normalize_before=False, add_final_layer_norm=False)
PRE = only(normalize_before=True, add_final_layer_norm=True)
SINES = only(normalize_embedding=False, static_position_embeddings=True)
LEARNED = only(normalize_embedding=True, static_position_embeddings=False)
COMMON = (
    only(
        "This kind of model has two stacks here.",
        "Open the whole model of which this is a part, saved as ForConditionalGeneration or MTModel.",
        is_encoder_decoder=True,
    ),
    only(is_decoder=False),
    *sizes(
        n_layers="encoder_layers",
        n_heads="encoder_attention_heads",
        d_model="d_model",
        d_ff="encoder_ffn_dim",
    ),
    decoder_layers("decoder_layers"),
    Field(read=_check_decoder, write=lambda cfg: {key: getattr(cfg, name) for key, name in SAME.items()}),
    word("activation_function", {**GELUS, **SILUS}, "gelu"),
    flag("scale_embedding", "scaled", False),
    dropouts("dropout"),
)
SELF = attention("self_attn.{}_proj", "q k v out")
CROSS = attention("encoder_attn.{}_proj", "q k v out", "cross_attn")
FEED_FORWARD = feed_forward("fc1", "fc2")
WEIGHTS: Weights = {
    "shared": row("embed.token", copies=("encoder.embed_tokens", "decoder.embed_tokens")),
    **layers(
        "encoder.layers",
        SELF,
        FEED_FORWARD,
        prefix="encoder",
        norm1="self_attn_layer_norm",
        norm2="final_layer_norm",
    ),
    **layers(
        "decoder.layers",
        SELF,
        CROSS,
        FEED_FORWARD,
        prefix="decoder",
        norm1="self_attn_layer_norm",
        norm2="encoder_attn_layer_norm",
        norm3="final_layer_norm",
    ),
    "final_logits_bias": "logits_bias",
}
LEARNED_WEIGHTS: Weights = {
    **WEIGHTS,
    "encoder.embed_positions": "source_embed.position",
    "decoder.embed_positions": "embed.position",
    "encoder.layernorm_embedding": "source_embed.norm",
    "decoder.layernorm_embedding": "embed.norm",
}
MARIAN = Format(
    model_type="marian",
    like="Helsinki-NLP/opus-mt-en-de",
    shows="encoder, decoder and cross-attention; sinusoidal positions, sines before cosines; Opus-MT folders as they are on the Hub: `source.spm` tokenizes the source, `target.spm` the target, a language code (`>>fra<<`) is one token; tokens in `bad_words_ids` are never written",
    config=TransformerConfig,
    fields=(
        only(share_encoder_decoder_embeddings=True),
        SINES,
        POST,
        *COMMON,
        only(decoder_vocab_size=lambda values: values["n_vocab"]),
    ),
    fixed={"eps": 1e-5, "order": "post", "positions": "halves"},
    stored={"output_bias": ("final_logits_bias",)},
    weights=WEIGHTS,
    marks={"end": "</s>", "pad": "<pad>"},
    prefix="model.",
    outside=("lm_head.", "final_logits_bias"),
    writer="MTModel",
    passed=r"(encoder|decoder)\.(embed_positions\.weight|version)",
    refused=REFUSED - {"is_encoder_decoder"},
)
BART = kin(
    MARIAN,
    "bart",
    "facebook/bart-base",
    "encoder, decoder and cross-attention; learned positions, a norm after the embeddings",
    fields=(LEARNED, POST, *COMMON),
    fixed={"eps": 1e-5, "order": "post", "positions": "learned", "first_place": 2, "embed_norm": True},
    weights=LEARNED_WEIGHTS,
    writer="ForConditionalGeneration",
    passed=r"(encoder|decoder)\.version",
    tasks=TWO_STACKS,
)
ENDS = {"encoder.layer_norm": "encoder_norm", "decoder.layer_norm": "decoder_norm"}
MBART = kin(
    BART,
    "mbart",
    "facebook/mbart-large-50-many-to-many-mmt",
    "BART with pre-norm and a final norm; the target language that the folder names is written first",
    architecture="MBart",
    telling="add_final_layer_norm",
    fields=(LEARNED, PRE, *COMMON),
    fixed={**BART.fixed, "order": "pre"},
    weights={**LEARNED_WEIGHTS, **ENDS},
)
PEGASUS = kin(
    MARIAN,
    "pegasus",
    "google/pegasus-xsum",
    "Marian with pre-norm and a final norm",
    telling="extra_pos_embeddings",
    fields=(SINES, PRE, *COMMON),
    fixed={**MARIAN.fixed, "order": "pre"},
    weights={**WEIGHTS, **ENDS},
    writer="ForConditionalGeneration",
)
M2M100 = kin(
    PEGASUS,
    "m2m_100",
    "facebook/nllb-200-distilled-600M",
    "Pegasus with positions counted from the padding's row + 1 and other sinusoidal frequencies; the target language that the folder names is written first",
    architecture="M2M100",
    telling="model_type",  # its tensors are those of a Pegasus, so it is never guessed
    fields=(
        *PEGASUS.fields,
        Field(
            read=lambda fields, values: {
                "first_place": 1
                + fields.whole_number("pad_token_id", largest=values["n_vocab"] - 1, default=1, least=0)
            },
            write=lambda cfg: {"pad_token_id": cfg.first_place - 1},
        ),
    ),
    fixed={**PEGASUS.fixed, "positions": "spread"},
    passed=r"(encoder|decoder)\.(embed_positions\.weights?|version)",
)
