"""BERT (Devlin et al. 2019) and its kin in Hugging Face format: RoBERTa, DistilBERT, ELECTRA, ALBERT, BigBird, MPNet, DeBERTa."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from core.checkpoints.files import shown
from core.checkpoints.foreign.table import (
    GELUS,
    Field,
    Format,
    Row,
    Values,
    dropouts,
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
from core.checkpoints.task_heads import CHOICE, CLASSES, POOLED, TAGGER, TAGS, HeadSpec, two_maps
from core.errors import InputError
from core.models.albert import ALBERTConfig
from core.models.bert import BERTConfig
from core.models.bigbird import BigBirdConfig
from core.models.relative.deberta import DebertaConfig
from core.models.relative.mpnet import MPNetConfig

ABSOLUTE = "Only learned absolute positions are implemented for this kind."
ONE_WAY = "A model that sees only what came before is not implemented here."
SIZES = sizes(
    n_layers="num_hidden_layers",
    n_heads="num_attention_heads",
    d_model="hidden_size",
    d_ff="intermediate_size",
    n_vocab="vocab_size",
    n_ctx="max_position_embeddings",
)
SEGMENTS = whole_number("n_segments", "type_vocab_size")
EPS = small("layer_norm_eps", 1e-12)
DROPS = dropouts("hidden_dropout_prob", zero="attention_probs_dropout_prob")
BASE = (
    only("position_embedding_type", "absolute", ABSOLUTE),
    only("is_decoder", False, ONE_WAY),
    *SIZES,
    SEGMENTS,
    EPS,
    DROPS,
)
"""The fields of config.json that all kinds with BERT's layers share, without the activation."""
GELU = word("hidden_act", GELUS, "gelu")
NEXT = "cls.seq_relationship"
EMBEDDINGS = under(
    "embeddings.",
    "embed.",
    {
        "word_embeddings": "token",
        "position_embeddings": "position",
        "token_type_embeddings": "segment",
        "LayerNorm": "norm",
    },
)
LAYER = under(
    "encoder.layer.*.",
    "layers.*.",
    {
        "attention.self.query": "self_attn.to_q",
        "attention.self.key": "self_attn.to_k",
        "attention.self.value": "self_attn.to_v",
        "attention.output.dense": "self_attn.to_out",
        "attention.output.LayerNorm": "norm1",
        "intermediate.dense": "ffn.to_hidden",
        "output.dense": "ffn.to_out",
        "output.LayerNorm": "norm2",
    },
)


def head(dense: str, norm: str, bias: str, copy: str = "") -> dict[str, Row]:
    """Name the parts of the head for hidden words; the bias may be there twice."""
    names = {f"{dense}": row("masked_lm.to_hidden"), f"{norm}": row("masked_lm.norm")}
    return names | {bias: row("masked_lm.bias", again=(copy,) if copy else ())}


WORDS = under(
    "cls.predictions.",
    "",
    head("transform.dense", "transform.LayerNorm", "bias", "cls.predictions.decoder.bias"),
)
LATER_WORDS = head("lm_head.dense", "lm_head.layer_norm", "lm_head.bias", "lm_head.decoder.bias")
MARKS = {"start": "[CLS] or <s>", "end": "[SEP] or </s>", "pad": "[PAD] or <pad>", "mask": "[MASK] or <mask>"}


def _bert_class(name: str) -> Any:
    def of_config(cfg: Any) -> str:
        if cfg.masked_lm:
            return f"{name}ForPreTraining" if cfg.next_sentence else f"{name}ForMaskedLM"
        return f"{name}ForNextSentencePrediction" if cfg.next_sentence else f"{name}Model"

    return of_config


BERT = Format(
    model_type="bert",
    like="google-bert/bert-base-uncased",
    shows="bidirectional heads, segments, masked words, next-sentence prediction",
    architecture="Bert",
    config=BERTConfig,
    fields=(*BASE, GELU),
    fixed={"first_place": 0},
    stored={"masked_lm": ("cls.predictions.",), "pooler": ("pooler.", NEXT), "next_sentence": (NEXT,)},
    weights={**EMBEDDINGS, **LAYER, **WORDS, "pooler.dense": "pooler", NEXT: "to_next_sentence"},
    marks=MARKS,
    prefix="bert.",
    output="cls.predictions.decoder",
    outside="cls.",
    writer="ForMaskedLM",
    classes=_bert_class("Bert"),
    endings={"LayerNorm.gamma": "LayerNorm.weight", "LayerNorm.beta": "LayerNorm.bias"},
    tasks=POOLED,
)


def _later_rows(fields: Fields, given: Values) -> Values:
    pad, rows = fields.whole("pad_token_id", largest=RANGES["n_vocab"], default=1, least=0), given["n_ctx"]
    if rows <= pad + 1:
        raise InputError(
            f"config.json: max_position_embeddings is {shown(str(rows), 20)} and pad_token_id is {shown(str(pad), 20)}.",
            "The first token reads the row after that of padding, so there must be more rows.",
            "Correct it, or download the model again.",
        )
    return {"first_place": pad + 1, "n_ctx": rows - pad - 1}


LATER = Field(
    read=_later_rows,
    write=lambda cfg: {
        "max_position_embeddings": cfg.first_place + cfg.n_ctx,
        "pad_token_id": cfg.first_place - 1,
    },
)
"""The first token reads the row behind that of padding, so that a table of 514 rows is for texts of 512 tokens."""


def _exact(fields: Fields, given: Values) -> Values:
    if given["masked_lm"]:
        fields.only("hidden_act", "gelu", "The head for hidden words of this kind has the exact GELU.")
    return {}


EXACT = Field(read=_exact)
ROBERTA = replace(
    BERT,
    model_type="roberta",
    like="FacebookAI/roberta-base",
    shows="BERT; positions counted from the padding's row + 1",
    architecture="Roberta",
    alike={"xlm-roberta": "XLMRoberta", "camembert": "Camembert"},
    fields=(*BASE, LATER, EXACT, GELU),
    fixed={"next_sentence": False},
    stored={"masked_lm": ("lm_head.",), "pooler": ("pooler.",)},
    weights={**EMBEDDINGS, **LAYER, **LATER_WORDS, "pooler.dense": "pooler"},
    prefix="roberta.",
    output="lm_head.decoder",
    outside="lm_head.",
    classes=None,
    endings={},
    tasks=two_maps(),
    marks={mark: " or ".join(reversed(names.split(" or "))) for mark, names in MARKS.items()},
)
DISTILBERT = replace(
    BERT,
    model_type="distilbert",
    like="distilbert/distilbert-base-uncased",
    shows="BERT without segments and pooler",
    architecture="DistilBert",
    fields=(
        *sizes(
            n_layers="n_layers num_hidden_layers",
            n_heads="n_heads num_attention_heads",
            d_model="dim hidden_size",
            d_ff="hidden_dim intermediate_size",
            n_vocab="vocab_size",
            n_ctx="max_position_embeddings",
        ),
        word("activation", GELUS, "gelu"),
        dropouts("dropout", zero="attention_dropout"),
    ),
    fixed={"first_place": 0, "n_segments": 0, "eps": 1e-12, "pooler": False, "next_sentence": False},
    stored={"masked_lm": ("vocab_",)},
    weights={
        **EMBEDDINGS,
        **under(
            "transformer.layer.*.",
            "layers.*.",
            {
                **{f"attention.{part}_lin": f"self_attn.to_{part}" for part in ("q", "k", "v", "out")},
                "sa_layer_norm": "norm1",
                "ffn.lin1": "ffn.to_hidden",
                "ffn.lin2": "ffn.to_out",
                "output_layer_norm": "norm2",
            },
        ),
        **head("vocab_transform", "vocab_layer_norm", "vocab_projector.bias"),
    },
    prefix="distilbert.",
    output="vocab_projector",
    outside="vocab_",
    classes=None,
    endings={},
    tasks=POOLED
    | dict.fromkeys((CLASSES, CHOICE), HeadSpec("classifier", "first", "pre_classifier", "relu")),
)
ALBERT = replace(
    BERT,
    model_type="albert",
    like="albert/albert-base-v2",
    shows="BERT with one layer shared by all depths, or none shared",
    architecture="Albert",
    config=ALBERTConfig,
    fields=(
        *BASE,
        whole_number("d_embed", "embedding_size"),
        only("inner_group_num", 1, "A group of several layers that are different is not implemented."),
        Field(
            read=lambda fields, given: {"shared": _shared(fields, given["n_layers"])},
            write=lambda cfg: _groups(cfg),
        ),
        word("hidden_act", GELUS, "gelu_new"),
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
        **under(
            "encoder.albert_layer_groups.*.albert_layers.0.",
            "layers.*.",
            {
                "attention.query": "self_attn.to_q",
                "attention.key": "self_attn.to_k",
                "attention.value": "self_attn.to_v",
                "attention.dense": "self_attn.to_out",
                "attention.LayerNorm": "norm1",
                "ffn": "ffn.to_hidden",
                "ffn_output": "ffn.to_out",
                "full_layer_layer_norm": "norm2",
            },
        ),
        **under("predictions.", "", head("dense", "LayerNorm", "bias", "predictions.decoder.bias")),
        "pooler": "pooler",
        "sop_classifier.classifier": "to_sentence_order",
    },
    marks={"start": "[CLS]", "end": "[SEP]", "pad": "<pad> or [PAD]", "mask": "[MASK]"},
    prefix="albert.",
    output="predictions.decoder",
    outside=("predictions.", "sop_classifier."),
    classes=lambda cfg: (
        ("AlbertForPreTraining" if cfg.sentence_order else "AlbertForMaskedLM")
        if cfg.masked_lm
        else "AlbertModel"
    ),
    endings={},
)


def _shared(fields: Fields, n_layers: int) -> str:
    """Return whether all layers share one group of weights, or none does; what lies between is refused."""
    groups = fields.whole("num_hidden_groups", largest=n_layers, default=1)
    if groups not in (1, n_layers):
        fields.only("num_hidden_groups", 1, "All layers share their weights here, or none does.")
    return "all" if groups == 1 else "none"


def _groups(cfg: ALBERTConfig) -> Values:
    return {"num_hidden_groups": 1 if cfg.shared == "all" else cfg.n_layers}


ELECTRA = replace(
    BERT,
    model_type="electra",
    like="google/electra-small-generator",
    shows="BERT; embeddings may be narrower than the layers; the discriminator's head is not read",
    architecture="Electra",
    config=lambda given: BERTConfig if given.get("d_embed") == given.get("d_model") else ALBERTConfig,
    telling="embedding_size",
    fields=(
        *BASE,
        whole_number("d_embed", "embedding_size", default=lambda given: given["d_model"]),
        EXACT,
        GELU,
    ),
    fixed={"pooler": False, "next_sentence": False, "shared": "none", "sentence_order": False},
    stored={"masked_lm": ("generator_predictions.", "generator_lm_head.")},
    weights={
        **EMBEDDINGS,
        **LAYER,
        "embeddings_project": "embed.to_model",
        **head("generator_predictions.dense", "generator_predictions.LayerNorm", "generator_lm_head.bias"),
    },
    prefix="electra.",
    output="generator_lm_head",
    outside=("generator_predictions.", "generator_lm_head.", "discriminator_predictions."),
    classes=None,
    endings={},
    tasks=two_maps("gelu") | {CHOICE: HeadSpec("classifier", "first", "sequence_summary.summary", "gelu")},
)
"""Where the embeddings are as wide as the layers it is a BERT, otherwise an ALBERT that shares nothing. The head that tells replaced tokens from others is not read."""
BIGBIRD = replace(
    BERT,
    model_type="big_bird",
    like="google/bigbird-roberta-base",
    shows="BERT with block-sparse attention, or full attention",
    architecture="BigBird",
    config=BigBirdConfig,
    telling="block_size",
    fields=(
        only("use_bias", True, "Maps to queries, keys and values without a bias are not implemented."),
        only("rescale_embeddings", False, "Token vectors times the root of their width are not implemented."),
        *BASE,
        whole_number("n_random", "num_random_blocks", default=3, least=0, most=RANGES["n_layers"]),
        whole_number(
            "block", "block_size", default=lambda given: min(64, given["n_ctx"]), most=RANGES["n_ctx"]
        ),
        Field(read=lambda fields, given: {"full_up_to": (5 + 2 * given["n_random"]) * given["block"]}),
        word("attention_type", {"block_sparse": "sparse", "original_full": "full"}, "block_sparse", "layout"),
        word("hidden_act", GELUS, "gelu_new"),
    ),
    fixed={"first_place": 0, "window": 3, "n_global": 2, "draw": "first", "seed": 0},
    weights={**EMBEDDINGS, **LAYER, **WORDS, "pooler": "pooler", NEXT: "to_next_sentence"},
    classes=_bert_class("BigBird"),
    tasks={
        CLASSES: two_maps("gelu_new", "hidden_act")[CLASSES],
        TAGS: TAGGER,
        CHOICE: POOLED[CHOICE],
    },
    marks={**MARKS, "pad": "<pad> or [PAD]"},
)
"""The window is 3 blocks and the first and the last block are global; a text of at most (5 + 2 r) blocks is read in full, and a model
that is not being trained reads the first block r times more in the place of r random ones."""
BUCKETS, FURTHEST, PADDING = 32, 128, 1
MPNET = replace(
    ROBERTA,
    model_type="mpnet",
    like="sentence-transformers/all-mpnet-base-v2",
    shows="BERT without segments; a relative bias per head and distance, also shown as a table",
    architecture="MPNet",
    config=MPNetConfig,
    alike={},
    fields=(
        only("pad_token_id", PADDING, "The row of padding is the second one in this kind."),
        only("relative_attention_num_buckets", BUCKETS, "Distances fall into 32 buckets in this kind."),
        *SIZES,
        LATER,
        EXACT,
        GELU,
        EPS,
        DROPS,
    ),
    fixed={"n_buckets": BUCKETS, "furthest": FURTHEST},
    weights={
        **EMBEDDINGS,
        "encoder.relative_attention_bias": "bias",
        **under(
            "encoder.layer.*.",
            "layers.*.",
            {
                **{f"attention.attn.{part}": f"self_attn.to_{part}" for part in "qkv"},
                "attention.attn.o": "self_attn.to_out",
                "attention.LayerNorm": "norm1",
                "intermediate.dense": "ffn.to_hidden",
                "output.dense": "ffn.to_out",
                "output.LayerNorm": "norm2",
            },
        ),
        **LATER_WORDS,
        "pooler.dense": "pooler",
    },
    prefix="mpnet.",
)
PARTS: Mapping[str, str] = {"c2p": "to_place", "p2c": "from_place"}
OLD_HEAD, HEAD = "lm_predictions.lm_head.", "cls.predictions."
"""How the names of the head begin in microsoft's own files, and how in the library's: the same numbers."""


def _distances(ours: str, theirs: str) -> Field:
    """Name a number of distances; -1 says that there is none."""

    def read(fields: Fields, given: Values) -> Values:
        said = 0 if fields.raw(theirs) == -1 else fields.whole(theirs, largest=RANGES["n_ctx"], default=0)
        return {ours: said or (given["n_ctx"] if ours == "furthest" else 0)}

    return Field(read=read, write=lambda cfg: {theirs: getattr(cfg, ours) or -1}, names={ours: (theirs,)})


def _parts(fields: Fields, given: Values) -> Values:
    said: Any = fields.raw("pos_att_type") or []
    names = [part.strip() for part in said.lower().split("|")] if isinstance(said, str) else said
    if not isinstance(names, list) or any(not isinstance(name, str) or name not in PARTS for name in names):
        raise InputError(
            f"config.json: pos_att_type is {shown(repr(said), 40)}.",
            f"What may be added to a score is {' and '.join(PARTS)}.",
            "Open a model with these.",
        )
    return {ours: theirs in names for theirs, ours in PARTS.items()}


DEBERTA = replace(
    BERT,
    model_type="deberta-v2",
    like="microsoft/deberta-v3-small",
    shows="BERT with disentangled attention: a score is the sum of content-to-content, content-to-position and position-to-content",
    architecture="DebertaV2",
    config=DebertaConfig,
    telling="pos_att_type",
    fields=(
        *SIZES,
        only(
            "relative_attention",
            True,
            "Without relative attention this is a BERT, which is not of this kind.",
        ),
        only(
            "embedding_size",
            lambda given: given["d_model"],
            "Embeddings are as wide as the layers in this kind here.",
        ),
        only(
            "attention_head_size",
            lambda given: given["d_model"] // given["n_heads"],
            "Heads share the width here.",
        ),
        only("is_decoder", False, ONE_WAY),
        only("conv_kernel_size", 0, "The convolution beside the first layer is not implemented."),
        Field(write=lambda cfg: {"legacy": True}),
        whole_number("n_segments", "type_vocab_size", default=0, least=0),
        _distances("n_buckets", "position_buckets"),
        _distances("furthest", "max_relative_positions"),
        Field(
            read=_parts,
            write=lambda cfg: {
                "pos_att_type": [theirs for theirs, ours in PARTS.items() if getattr(cfg, ours)]
            },
        ),
        flag("share_att_key", "shared", False),
        word("norm_rel_ebd", {"none": False, "layer_norm": True}, "none", "places_normed"),
        flag("position_biased_input", "absolute", True),
        GELU,
        small("layer_norm_eps", 1e-7),
        DROPS,
    ),
    fixed={},
    stored={"masked_lm": (HEAD,)},
    weights={
        **EMBEDDINGS,
        "encoder.rel_embeddings": "distance",
        "encoder.LayerNorm": "distance_norm",
        **{
            name.replace("query", "query_proj")
            .replace("key", "key_proj")
            .replace("value", "value_proj"): each
            for name, each in LAYER.items()
        },
        "encoder.layer.*.attention.self.pos_key_proj": "layers.*.self_attn.to_place_k",
        "encoder.layer.*.attention.self.pos_query_proj": "layers.*.self_attn.to_place_q",
        **WORDS,
    },
    prefix="deberta.",
    outside=("cls.", "pooler."),
    classes=None,
    endings={
        f"{OLD_HEAD}{theirs}.{name}": f"{HEAD}{ours}.{name}"
        for theirs, ours in {"dense": "transform.dense", "LayerNorm": "transform.LayerNorm"}.items()
        for name in ("weight", "bias")
    }
    | {f"{OLD_HEAD}bias": f"{HEAD}bias"}
    | dict(BERT.endings),
    tasks=POOLED
    | dict.fromkeys(
        (CLASSES, CHOICE), HeadSpec("classifier", "first", "pooler.dense", "gelu", "pooler_hidden_act")
    ),
    passed=r"embeddings\.position_embeddings\.weight|position_embeddings.*",
)
FORMATS = (ALBERT, BERT, BIGBIRD, DEBERTA, DISTILBERT, ELECTRA, MPNET, ROBERTA)
