"""Marian (Junczys-Dowmunt et al. 2018, the translators Opus-MT), BART (Lewis et al. 2020), mBART, Pegasus and M2M100 in Hugging Face format, all tied.

The tokenizer of a Marian is a tokenizer.json, or, as on the Hub, `source.spm` and `target.spm` with one vocab.json (`core.text.PieceTokenizer`).
"""

from __future__ import annotations

from dataclasses import replace

from core.checkpoints.foreign.table import (
    GELUS,
    REFUSED,
    SILUS,
    Field,
    Format,
    Row,
    Values,
    decoder_layers,
    dropouts,
    flag,
    only,
    row,
    sizes,
    under,
    word,
)
from core.checkpoints.safety.config_schema import RANGES, Fields
from core.checkpoints.task_heads import TWO_STACKS
from core.models.transformer import TransformerConfig

ALIKE = {
    "decoder_attention_heads": ("encoder_attention_heads", "n_heads"),
    "decoder_ffn_dim": ("encoder_ffn_dim", "d_ff"),
}
EQUAL = "Open a model of this kind whose encoder and decoder are equally wide, as in facebook/bart-base and the Opus-MT translators."
WHOLE = "Open the whole model of which this is a part, saved as ForConditionalGeneration or MTModel."


def _alike(fields: Fields, given: Values) -> Values:
    for theirs, (_, ours) in ALIKE.items():
        value = given[ours]
        fields.whole(theirs, largest=RANGES["d_ff"], default=value)
        fields.only(theirs, value, f"Both stacks are of one width here: the encoder has {value:,}.", EQUAL)
    return {}


POST = (
    only("normalize_before", False, "Norms before the sub-layers are not implemented for this kind."),
    only("add_final_layer_norm", False, "A norm behind the last layer is not implemented for this kind."),
)
PRE = (
    only("normalize_before", True, "Norms stand before the sub-layers in this kind."),
    only("add_final_layer_norm", True, "There is a norm behind the last layer in this kind."),
)
SINES = (
    only("normalize_embedding", False, "A norm behind the embeddings is not implemented for this kind."),
    only("static_position_embeddings", True, "Positions of this kind are sinusoids."),
)
LEARNED = (
    only("normalize_embedding", True, "The embeddings of this kind are normed."),
    only("static_position_embeddings", False, "Positions of this kind are learned."),
)
COMMON = (
    only("is_encoder_decoder", True, "This kind of model has two stacks here.", WHOLE),
    only("is_decoder", False, "The decoder alone is not read."),
    *sizes(
        n_layers="encoder_layers num_hidden_layers",
        n_heads="encoder_attention_heads",
        d_model="d_model",
        d_ff="encoder_ffn_dim",
        n_vocab="vocab_size",
        n_ctx="max_position_embeddings",
    ),
    decoder_layers("decoder_layers"),
    Field(read=_alike, write=lambda cfg: {theirs: getattr(cfg, ours) for theirs, (_, ours) in ALIKE.items()}),
    word("activation_function", {**GELUS, **SILUS}, "gelu"),
    flag("scale_embedding", "scaled", False),
    dropouts("dropout"),
)


def _attention(name: str, ours: str, norm: str) -> dict[str, str]:
    maps = {f"{name}.{part}_proj": f"{ours}.to_{part}" for part in ("q", "k", "v", "out")}
    return maps | {f"{name}_layer_norm": norm}


SELF = _attention("self_attn", "self_attn", "norm1")
CROSS = _attention("encoder_attn", "cross_attn", "norm2")
FEED = {"fc1": "ffn.to_hidden", "fc2": "ffn.to_out"}
STACKS = {
    **under("encoder.layers.*.", "encoder.*.", {**SELF, **FEED, "final_layer_norm": "norm2"}),
    **under("decoder.layers.*.", "decoder.*.", {**SELF, **CROSS, **FEED, "final_layer_norm": "norm3"}),
}
WEIGHTS: dict[str, str | Row] = {
    "shared": row("embed.token", again=("encoder.embed_tokens", "decoder.embed_tokens")),
    **STACKS,
    "final_logits_bias": "logits_bias",
}
LEARNED_WEIGHTS: dict[str, str | Row] = {
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
    architecture="Marian",
    config=TransformerConfig,
    fields=(
        only("share_encoder_decoder_embeddings", True, "Both sides read one table of tokens here."),
        *SINES,
        *POST,
        *COMMON,
        only("decoder_vocab_size", lambda given: given["n_vocab"], "Both sides have one vocabulary here."),
    ),
    fixed={"eps": 1e-5, "order": "post", "positions": "halves"},
    stored={"output_bias": ("final_logits_bias",)},
    weights=WEIGHTS,
    marks={"end": "</s>", "pad": "<pad>"},
    prefix="model.",
    outside=("lm_head.", "final_logits_bias"),
    writer="MTModel",
    passed=r"(encoder|decoder)\.(embed_positions\.weight|version)",
    refused={name: why for name, why in REFUSED.items() if name != "is_encoder_decoder"},
)
"""The sines of a position stand before its cosines."""
BART = replace(
    MARIAN,
    model_type="bart",
    like="facebook/bart-base",
    shows="encoder, decoder and cross-attention; learned positions, a norm after the embeddings",
    architecture="Bart",
    fields=(*LEARNED, *POST, *COMMON),
    fixed={"eps": 1e-5, "order": "post", "positions": "learned", "first_place": 2, "embed_norm": True},
    weights=LEARNED_WEIGHTS,
    writer="ForConditionalGeneration",
    passed=r"(encoder|decoder)\.version",
    tasks=TWO_STACKS,
)
"""The first token reads the third row of the tables of positions, whatever the number of the padding is."""
ENDS = {"encoder.layer_norm": "encoder_norm", "decoder.layer_norm": "decoder_norm"}
MBART = replace(
    BART,
    model_type="mbart",
    like="facebook/mbart-large-50-many-to-many-mmt",
    shows="BART with pre-norm and a final norm; the target language that the folder names is written first",
    architecture="MBart",
    telling="add_final_layer_norm",
    fields=(*LEARNED, *PRE, *COMMON),
    fixed={**BART.fixed, "order": "pre"},
    weights={**LEARNED_WEIGHTS, **ENDS},
)
PEGASUS = replace(
    MARIAN,
    model_type="pegasus",
    like="google/pegasus-xsum",
    shows="Marian with pre-norm and a final norm",
    architecture="Pegasus",
    telling="extra_pos_embeddings",
    fields=(*SINES, *PRE, *COMMON),
    fixed={**MARIAN.fixed, "order": "pre"},
    weights={**WEIGHTS, **ENDS},
    writer="ForConditionalGeneration",
)
M2M100 = replace(
    PEGASUS,
    model_type="m2m_100",
    like="facebook/nllb-200-distilled-600M",
    shows="Pegasus with positions counted from the padding's row + 1 and other sinusoidal frequencies; the target language that the folder names is written first",
    architecture="M2M100",
    telling="model_type",  # its tensors are those of a Pegasus, so it is never guessed
    fields=(
        *SINES,
        *PRE,
        *COMMON,
        Field(
            read=lambda fields, given: {
                "first_place": 1
                + fields.whole("pad_token_id", largest=given["n_vocab"] - 1, default=1, least=0)
            },
            write=lambda cfg: {"pad_token_id": cfg.first_place - 1},
        ),
    ),
    fixed={**PEGASUS.fixed, "positions": "spread"},
    passed=r"(encoder|decoder)\.(embed_positions\.weights?|version)",
)
FORMATS = (BART, MARIAN, MBART, PEGASUS, M2M100)
