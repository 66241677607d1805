"""Marian (Junczys-Dowmunt et al. 2018, the translators Opus-MT), BART (Lewis et al. 2020), mBART, Pegasus and M2M100, all tied; OPT (Zhang et al. 2022).

The tokenizer of a Marian is a tokenizer.json, or, as on the Hub, `source.spm` and `target.spm` with one vocab.json (`core.text.PieceTokenizer`).
"""

from __future__ import annotations

from core.checkpoints.foreign import keys, tensors
from core.checkpoints.foreign.table import REFUSED, Format, kin
from core.checkpoints.foreign.tensors import Weights
from core.checkpoints.task_heads import TWO_STACKS, of_decoder
from core.models.gpt import GPTConfig
from core.models.transformer import TransformerConfig

POST = keys.only(normalize_before=False, add_final_layer_norm=False)
PRE = keys.only(normalize_before=True, add_final_layer_norm=True)
SINES = keys.only(normalize_embedding=False, static_position_embeddings=True)
LEARNED = keys.only(normalize_embedding=True, static_position_embeddings=False)
COMMON = keys.otherwise(
    keys.only(
        "This kind of model has two stacks here.",
        "Open the whole model of which this is a part, saved as ForConditionalGeneration or MTModel.",
        is_encoder_decoder=True,
    ),
    keys.only(is_decoder=False),
    *keys.size_fields(
        n_layers="encoder_layers",
        n_heads="encoder_attention_heads",
        d_model="d_model",
        d_ff="encoder_ffn_dim",
    ),
    keys.decoder_layers("decoder_layers"),
    keys.only(
        "Both stacks are of one width here.",
        "Open a model of this kind whose encoder and decoder are equally wide, as in facebook/bart-base and the Opus-MT translators.",
        decoder_attention_heads=lambda values: values["n_heads"],
        decoder_ffn_dim=lambda values: values["d_ff"],
    ),
    keys.word("activation_function", {**keys.GELUS, **keys.SILUS}, "gelu"),
    keys.flag("scale_embedding", "scaled", False),
    keys.dropouts("dropout"),
    decoder_attention_heads=16,
)
SELF = tensors.attention("self_attn.{}_proj", "q k v out")
CROSS = tensors.attention("encoder_attn.{}_proj", "q k v out", "cross_attn")
FEED_FORWARD = tensors.feed_forward("fc1", "fc2")
NORMS = {"norm1": "self_attn_layer_norm", "norm2": "final_layer_norm"}
THREE_NORMS = {**NORMS, "norm2": "encoder_attn_layer_norm", "norm3": "final_layer_norm"}
WEIGHTS: Weights = {
    "shared": tensors.make_row("embed.token", copies=("encoder.embed_tokens", "decoder.embed_tokens")),
    **tensors.layers("encoder.layers", SELF, FEED_FORWARD, prefix="encoder", **NORMS),
    **tensors.layers("decoder.layers", SELF, CROSS, FEED_FORWARD, prefix="decoder", **THREE_NORMS),
    "final_logits_bias": "logits_bias",
    "encoder.embed_positions": "source_embed.position",
    "decoder.embed_positions": "embed.position",
    "encoder.layernorm_embedding": "source_embed.norm",
    "decoder.layernorm_embedding": "embed.norm",
    "encoder.layer_norm": "encoder_norm",
    "decoder.layer_norm": "decoder_norm",
}
"""The tensors of all these kinds; each has some of them."""
MARIAN = Format(
    model_type="marian",
    example="Helsinki-NLP/opus-mt-en-de",
    summary="encoder, decoder and cross-attention; sinusoidal positions, sines before cosines; Opus-MT folders as they are on the Hub: `source.spm` tokenizes the source, `target.spm` the target, a language code (`>>fra<<`) is one token; tokens in `bad_words_ids` are never written",
    config=TransformerConfig,
    fields=(
        keys.only(share_encoder_decoder_embeddings=True),
        SINES,
        POST,
        *COMMON,
        keys.only(decoder_vocab_size=lambda values: values["n_vocab"]),
    ),
    fixed={"eps": 1e-5, "order": "post", "positions": "halves"},
    stored={"output_bias": ("final_logits_bias",)},
    weights=WEIGHTS,
    special_tokens={"end": "</s>", "pad": "<pad>"},
    prefix="model.",
    outside=("lm_head.", "final_logits_bias"),
    output_suffix="MTModel",
    ignored_tensors=r"(encoder|decoder)\.(embed_positions\.weight|version)",
    refused=REFUSED - {"is_encoder_decoder"},
)
BART = kin(
    MARIAN,
    "bart",
    "facebook/bart-base",
    "encoder, decoder and cross-attention; learned positions, a norm after the embeddings",
    fields=(LEARNED, POST, *COMMON),
    fixed={"eps": 1e-5, "order": "post", "positions": "learned", "first_place": 2, "embed_norm": True},
    output_suffix="ForConditionalGeneration",
    ignored_tensors=r"(encoder|decoder)\.version",
    tasks=TWO_STACKS,
)
MBART = kin(
    BART,
    "mbart",
    "facebook/mbart-large-50-many-to-many-mmt",
    "BART with pre-norm and a final norm; the target language that the folder names is written first",
    architecture="MBart",
    guess_key="add_final_layer_norm",
    fields=(LEARNED, PRE, *COMMON),
    fixed={**BART.fixed, "order": "pre"},
)
PEGASUS = kin(
    MARIAN,
    "pegasus",
    "google/pegasus-xsum",
    "Marian with pre-norm and a final norm",
    guess_key="extra_pos_embeddings",
    fields=(SINES, PRE, *COMMON),
    fixed={**MARIAN.fixed, "order": "pre"},
    output_suffix="ForConditionalGeneration",
)
M2M100 = kin(
    PEGASUS,
    "m2m_100",
    "facebook/nllb-200-distilled-600M",
    "Pegasus with positions counted from the padding's row + 1 and other sinusoidal frequencies; the target language that the folder names is written first",
    architecture="M2M100",
    guess_key="model_type",  # its tensors are those of a Pegasus, so it is never guessed
    fields=(
        *keys.otherwise(*PEGASUS.fields, activation_function="relu", scale_embedding=True),
        keys.whole_number(
            "first_place",
            "pad_token_id",
            default=1,
            least=0,
            most=lambda values: values["n_vocab"] - 1,
            convert=lambda pad: pad + 1,
            invert=lambda first: first - 1,
        ),
    ),
    fixed={**PEGASUS.fixed, "positions": "spread"},
    ignored_tensors=r"(encoder|decoder)\.(embed_positions\.weights?|version)",
)
OPT = Format(
    model_type="opt",
    example="facebook/opt-125m",
    summary="causal heads, learned positions counted from row 2",
    architecture="OPT",
    config=GPTConfig,
    guess_key="word_embed_proj_dim",
    fields=(
        *keys.size_fields(d_ff="ffn_dim"),
        keys.only(
            do_layer_norm_before=True,
            _remove_final_layer_norm=False,
            word_embed_proj_dim=lambda values: values["d_model"],
            enable_bias=True,
            layer_norm_elementwise_affine=True,
        ),
        keys.word("activation_function", {"relu": "relu", **keys.GELUS}, "relu"),
        keys.dropouts("dropout", zero="attention_dropout"),
    ),
    fixed={"order": "pre", "eps": 1e-5, "first_place": 2},
    weights=tensors.under(
        "decoder.",
        "",
        {
            "embed_tokens": "embed.token",
            "embed_positions": "embed.position",
            **tensors.layers("layers", SELF, FEED_FORWARD, **NORMS),
            "final_layer_norm": "final_norm",
        },
    ),
    prefix="model.",
    tasks=of_decoder("score"),
)
