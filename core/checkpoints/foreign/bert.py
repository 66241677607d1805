"""BERT (Devlin et al. 2019) and its kin: RoBERTa, DistilBERT, ELECTRA, ALBERT, BigBird, MPNet, DeBERTa."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from core.checkpoints.foreign import keys, tensors
from core.checkpoints.foreign.keys import Field, Values
from core.checkpoints.foreign.table import Format, kin
from core.checkpoints.foreign.tensors import Row
from core.checkpoints.safety.config_schema import RANGES, Fields, joined, wrong_value
from core.checkpoints.task_heads import CHOICE, POOLED, HeadSpec, first_map, two_maps
from core.models.albert import ALBERTConfig
from core.models.bert import BERTConfig
from core.models.bigbird import BigBirdConfig
from core.models.deberta import DebertaConfig
from core.models.mpnet import MPNetConfig
from core.wording import mark

SIZES = keys.size_fields()
SEGMENTS = keys.whole_number("n_segments", "type_vocab_size")
EPS = keys.small("layer_norm_eps", 1e-12)
DROPS = keys.dropouts("hidden_dropout_prob", zero="attention_probs_dropout_prob")
BASE = (keys.only(position_embedding_type="absolute", is_decoder=False), *SIZES, SEGMENTS, EPS, DROPS)
GELU = keys.word("hidden_act", keys.GELUS, "gelu")
GELU_NEW = keys.word("hidden_act", keys.GELUS, "gelu_new")
NEXT = "cls.seq_relationship"
EMBEDDINGS = {
    "embeddings.word_embeddings": "embed.token",
    "embeddings.position_embeddings": "embed.position",
    "embeddings.token_type_embeddings": "embed.segment",
    "embeddings.LayerNorm": "embed.norm",
}
FEED_FORWARD = tensors.feed_forward("intermediate.dense", "output.dense")


def encoder_layers(
    parts: str = "self.query self.key self.value output.dense",
    norm1: str = "attention.output.LayerNorm",
    norm2: str = "output.LayerNorm",
    inner: Mapping[str, str | Row] = FEED_FORWARD,
) -> dict[str, Row]:
    """Map the tensors of BERT's layers; the arguments are the names that differ among its kinds."""
    heads = tensors.attention("attention.{}", parts)
    return tensors.layers("encoder.layer", heads, inner, norm1=norm1, norm2=norm2)


def words_head(prefix: str, parts: str) -> dict[str, Row]:
    """Map the tensors of the output layer for masked words: `parts` are the names of its map, norm and bias, and of copies of the bias."""
    dense, norm, bias, *copies = (f"{prefix}{part}" for part in parts.split())
    rows = tensors.as_rows({dense: "masked_lm.to_hidden", norm: "masked_lm.norm"})
    return rows | {bias: tensors.make_row("masked_lm.bias", copies=tuple(copies))}


HEAD = "cls.predictions."
WORDS = words_head(HEAD, "transform.dense transform.LayerNorm bias decoder.bias")
LATER_WORDS = words_head("lm_head.", "dense layer_norm bias decoder.bias")
POOLER = {"pooler.dense": "pooler"}
ROLES = {"start": "[CLS] or <s>", "end": "[SEP] or </s>", "pad": "[PAD] or <pad>", "mask": "[MASK] or <mask>"}
BERT_WEIGHTS = {**EMBEDDINGS, **encoder_layers(), **WORDS, **POOLER, NEXT: "to_next_sentence"}
BERT = Format(
    model_type="bert",
    example="google-bert/bert-base-uncased",
    summary="bidirectional heads, segments, masked words, next-sentence prediction",
    config=BERTConfig,
    fields=(*BASE, GELU),
    fixed={"first_place": 0},
    stored={"masked_lm": (HEAD,), "pooler": ("pooler.", NEXT), "next_sentence": (NEXT,)},
    weights=BERT_WEIGHTS,
    special_tokens=ROLES,
    prefix="bert.",
    output=f"{HEAD}decoder",
    outside="cls.",
    output_suffix="ForMaskedLM",
    endings={"LayerNorm.gamma": "LayerNorm.weight", "LayerNorm.beta": "LayerNorm.bias"},
    tasks=POOLED,
)


def _read_later_rows(fields: Fields, values: Values) -> Values:
    rows = values["n_ctx"]
    pad = fields.whole_number("pad_token_id", largest=RANGES["n_vocab"], default=1, least=0)
    if rows <= pad + 1:
        rule = mark("The first token reads the row after that of padding, and pad_token_id is {pad:,}.")
        raise wrong_value("max_position_embeddings", rows, rule, pad=pad)
    return {"first_place": pad + 1, "n_ctx": rows - pad - 1}


LATER = Field(
    read=_read_later_rows,
    write=lambda cfg: {
        "max_position_embeddings": cfg.first_place + cfg.n_ctx,
        "pad_token_id": cfg.first_place - 1,
    },
)
"""The first token reads the row after that of padding: a table of 514 rows is for texts of 512 tokens."""


def _check_exact_gelu(fields: Fields, values: Values) -> Values:
    if values["masked_lm"]:
        fields.only("hidden_act", "gelu", "The head for hidden words of this kind has the exact GELU.")
    return {}


EXACT = Field(read=_check_exact_gelu)
LATER_WEIGHTS = {**BERT_WEIGHTS, **LATER_WORDS}
ROBERTA = kin(
    BERT,
    "roberta",
    "FacebookAI/roberta-base",
    "BERT; positions counted from the padding's row + 1",
    aliases={"xlm-roberta": "XLMRoberta", "camembert": "Camembert"},
    fields=(*BASE, LATER, EXACT, GELU),
    fixed={"next_sentence": False},
    stored={"masked_lm": ("lm_head.",), "pooler": ("pooler.",)},
    weights=LATER_WEIGHTS,
    prefix="roberta.",
    output="lm_head.decoder",
    outside="lm_head.",
    tasks=two_maps(),
    special_tokens={mark: " or ".join(reversed(names.split(" or "))) for mark, names in ROLES.items()},
)
DISTILBERT = kin(
    BERT,
    "distilbert",
    "distilbert/distilbert-base-uncased",
    "BERT without segments and pooler",
    architecture="DistilBert",
    fields=(
        *keys.size_fields(n_layers="n_layers", n_heads="n_heads", d_model="dim", d_ff="hidden_dim"),
        keys.word("activation", keys.GELUS, "gelu"),
        keys.dropouts("dropout", zero="attention_dropout"),
    ),
    fixed={"first_place": 0, "n_segments": 0, "eps": 1e-12, "pooler": False, "next_sentence": False},
    stored={"masked_lm": ("vocab_",)},
    weights={
        **EMBEDDINGS,
        **tensors.layers(
            "transformer.layer",
            tensors.attention("attention.{}_lin", "q k v out"),
            tensors.feed_forward("ffn.lin1", "ffn.lin2"),
            norm1="sa_layer_norm",
            norm2="output_layer_norm",
        ),
        **words_head("vocab_", "transform layer_norm projector.bias"),
    },
    prefix="distilbert.",
    output="vocab_projector",
    outside="vocab_",
    tasks=first_map("pre_classifier", "relu"),
)


def _read_groups(fields: Fields, values: Values) -> str:
    n_layers = values["n_layers"]
    groups = fields.whole_number("num_hidden_groups", largest=n_layers, default=1)
    if groups not in (1, n_layers):
        fields.only("num_hidden_groups", 1, "All layers share their weights here, or none does.")
    return "all" if groups == 1 else "none"


GROUPS = keys.value_field(
    "shared", ("num_hidden_groups",), _read_groups, lambda cfg: 1 if cfg.shared == "all" else cfg.n_layers
)
ALBERT = kin(
    BERT,
    "albert",
    "albert/albert-base-v2",
    "BERT with one layer shared by all depths, or none shared",
    config=ALBERTConfig,
    fields=(
        *BASE,
        keys.whole_number("d_embed", "embedding_size"),
        keys.only(inner_group_num=1),
        GROUPS,
        GELU_NEW,
    ),
    fixed={},
    stored={
        "masked_lm": ("predictions.",),
        "pooler": ("pooler", "sop_classifier."),
        "sentence_order": ("sop_classifier.",),
    },
    weights={
        **EMBEDDINGS,
        "encoder.embedding_hidden_mapping_in": "embed.to_model",
        **tensors.under(
            "encoder.albert_layer_groups.*.albert_layers.0.",
            "layers.*.",
            {
                **tensors.attention("attention.{}", "query key value dense"),
                "attention.LayerNorm": "norm1",
                **tensors.feed_forward("ffn", "ffn_output"),
                "full_layer_layer_norm": "norm2",
            },
        ),
        **words_head("predictions.", "dense LayerNorm bias decoder.bias"),
        "pooler": "pooler",
        "sop_classifier.classifier": "to_sentence_order",
    },
    special_tokens={"start": "[CLS]", "end": "[SEP]", "pad": "<pad> or [PAD]", "mask": "[MASK]"},
    prefix="albert.",
    output="predictions.decoder",
    outside=("predictions.", "sop_classifier."),
)
SAME_WIDTH = Field(write=lambda cfg: {"embedding_size": getattr(cfg, "d_embed", cfg.d_model)})
ELECTRA = kin(
    BERT,
    "electra",
    "google/electra-small-generator",
    "BERT; embeddings may be narrower than the layers; the discriminator's head is not read",
    config=lambda values: BERTConfig if values.get("d_embed") == values.get("d_model") else ALBERTConfig,
    guess_key="embedding_size",
    fields=(*BASE, keys.whole_number("d_embed", "embedding_size", default=128), SAME_WIDTH, EXACT, GELU),
    fixed={"pooler": False, "next_sentence": False, "shared": "none", "sentence_order": False},
    stored={"masked_lm": ("generator_predictions.", "generator_lm_head.")},
    weights={
        **BERT_WEIGHTS,
        "embeddings_project": "embed.to_model",
        **words_head("generator_", "predictions.dense predictions.LayerNorm lm_head.bias"),
    },
    prefix="electra.",
    output="generator_lm_head",
    outside=("generator_predictions.", "generator_lm_head.", "discriminator_predictions."),
    tasks=two_maps("gelu") | {CHOICE: HeadSpec("classifier", "first", "sequence_summary.summary", "gelu")},
)
"""A BERT where the embeddings are as wide as the layers, otherwise an ALBERT that shares nothing."""
BIGBIRD = kin(
    BERT,
    "big_bird",
    "google/bigbird-roberta-base",
    "BERT with block-sparse attention, or full attention",
    architecture="BigBird",
    config=BigBirdConfig,
    guess_key="block_size",
    fields=(
        keys.only(use_bias=True, rescale_embeddings=False),
        *BASE,
        keys.whole_number("n_random", "num_random_blocks", default=3, least=0),
        keys.whole_number("block", "block_size", default=lambda values: min(64, values["n_ctx"])),
        keys.computed("full_up_to", lambda values: (5 + 2 * values["n_random"]) * values["block"]),
        keys.word(
            "attention_type", {"block_sparse": "sparse", "original_full": "full"}, "block_sparse", "layout"
        ),
        GELU_NEW,
    ),
    fixed={"first_place": 0, "window": 3, "n_global": 2, "draw": "first", "seed": 0},
    weights={**BERT_WEIGHTS, "pooler": "pooler"},
    tasks=two_maps("gelu_new", "hidden_act"),
    special_tokens={**ROLES, "pad": "<pad> or [PAD]"},
)
"""The window is 3 blocks, the first and the last block are global, and a text of (5 + 2 r) blocks is read in full."""
BUCKETS, FURTHEST, PADDING = 32, 128, 1
MPNET = kin(
    ROBERTA,
    "mpnet",
    "sentence-transformers/all-mpnet-base-v2",
    "BERT without segments; a relative bias per head and distance, also shown as a table",
    architecture="MPNet",
    config=MPNetConfig,
    aliases={},
    fields=(
        keys.only(pad_token_id=PADDING, relative_attention_num_buckets=BUCKETS),
        *SIZES,
        LATER,
        EXACT,
        GELU,
        EPS,
        DROPS,
    ),
    fixed={"n_buckets": BUCKETS, "furthest": FURTHEST},
    weights={
        **LATER_WEIGHTS,
        "encoder.relative_attention_bias": "bias",
        **encoder_layers("attn.q attn.k attn.v attn.o", norm1="attention.LayerNorm"),
    },
    prefix="mpnet.",
)
PARTS: Mapping[str, str] = {"c2p": "to_place", "p2c": "from_place"}
OLD_HEAD = "lm_predictions.lm_head."
"""The first part of the head's names in microsoft's own files."""


def _distances(name: str, key: str) -> Field:
    """Map a number of distances; -1 in the file means that there is none."""

    def read(fields: Fields, values: Values) -> Values:
        n = 0 if fields.raw(key) == -1 else fields.whole_number(key, largest=RANGES["n_ctx"], default=0)
        return {name: n or (values["n_ctx"] if name == "furthest" else 0)}

    return Field(read=read, write=lambda cfg: {key: getattr(cfg, name) or -1}, names={name: (key,)})


def _read_parts(fields: Fields, values: Values) -> Values:
    parts: Any = fields.raw("pos_att_type") or []
    names = [part.strip() for part in parts.lower().split("|")] if isinstance(parts, str) else parts
    if not isinstance(names, list) or any(not isinstance(name, str) or name not in PARTS for name in names):
        rule = mark("The parts that may be added to a score are {parts}.")
        raise wrong_value("pos_att_type", parts, rule, "Open a model with these.", parts=joined(PARTS))
    return {ours: part in names for part, ours in PARTS.items()}


DEBERTA = kin(
    BERT,
    "deberta-v2",
    "microsoft/deberta-v3-small",
    "BERT with disentangled attention: a score is the sum of content-to-content, content-to-position and position-to-content",
    architecture="DebertaV2",
    config=DebertaConfig,
    guess_key="pos_att_type",
    fields=(
        *SIZES,
        keys.only(
            relative_attention=True,
            embedding_size=lambda values: values["d_model"],
            attention_head_size=lambda values: values["d_model"] // values["n_heads"],
            is_decoder=False,
            conv_kernel_size=0,
        ),
        Field(write=lambda cfg: {"legacy": True}),
        keys.whole_number("n_segments", "type_vocab_size", default=0, least=0),
        _distances("n_buckets", "position_buckets"),
        _distances("furthest", "max_relative_positions"),
        Field(
            read=_read_parts,
            write=lambda cfg: {"pos_att_type": [part for part, ours in PARTS.items() if getattr(cfg, ours)]},
        ),
        keys.flag("share_att_key", "shared", False),
        keys.word("norm_rel_ebd", {"none": False, "layer_norm": True}, "none", "places_normed"),
        keys.flag("position_biased_input", "absolute", True),
        GELU,
        keys.small("layer_norm_eps", 1e-7),
        DROPS,
    ),
    fixed={},
    stored={"masked_lm": (HEAD,)},
    weights={
        **BERT_WEIGHTS,
        "encoder.rel_embeddings": "distance",
        "encoder.LayerNorm": "distance_norm",
        **encoder_layers("self.query_proj self.key_proj self.value_proj output.dense"),
        "encoder.layer.*.attention.self.pos_key_proj": "layers.*.self_attn.to_place_k",
        "encoder.layer.*.attention.self.pos_query_proj": "layers.*.self_attn.to_place_q",
    },
    prefix="deberta.",
    outside=("cls.", "pooler."),
    endings={
        **{
            f"{OLD_HEAD}{part}.{end}": f"{HEAD}transform.{part}.{end}"
            for part in ("dense", "LayerNorm")
            for end in ("weight", "bias")
        },
        f"{OLD_HEAD}bias": f"{HEAD}bias",
        **BERT.endings,
    },
    tasks=first_map("pooler.dense", "gelu", "pooler_hidden_act"),
    ignored_tensors=r"embeddings\.position_embeddings\.weight|position_embeddings.*",
)
