"""RoBERTa folders in Hugging Face format (Liu et al. 2019), also XLM-RoBERTa and CamemBERT: BERT's arithmetic, later rows.

The first token reads the row behind that of padding, so that a table of 514 rows is for texts of 512 tokens.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from core.checkpoints.files import shown
from core.checkpoints.foreign import bert
from core.checkpoints.foreign.bert import POOLER, linear, norm
from core.checkpoints.safety.config_schema import RANGES, Fields, built
from core.checkpoints.safety.load_plan import Take
from core.checkpoints.task_heads import two_maps
from core.errors import InputError
from core.models.bert import BERTConfig

WORDS = "lm_head."


def config(fields: Fields, stored: Collection[str]) -> BERTConfig:
    """The shape, by BERT's names; which heads there are, by what is stored."""
    given = later(bert.shape(fields), fields)
    masked_lm, pooler = (any(name.startswith(head) for name in stored) for head in (WORDS, POOLER))
    if masked_lm:
        fields.only("hidden_act", "gelu", "The head for hidden words of this kind has the exact GELU.")
    heads = {"masked_lm": masked_lm, "pooler": pooler, "next_sentence": False}
    return built(BERTConfig, {**given, **heads})


def later(given: dict[str, Any], fields: Fields) -> dict[str, Any]:
    """The sizes of a table of positions whose first usable row is the one behind that of padding."""
    pad, rows = fields.whole("pad_token_id", largest=RANGES["n_vocab"], default=1, least=0), given["n_ctx"]
    if rows <= pad + 1:
        raise InputError(
            f"config.json: max_position_embeddings is {shown(str(rows), 20)} and pad_token_id is {shown(str(pad), 20)}.",
            "The first token reads the row after that of padding, so there must be more rows.",
            "Correct it, or download the model again.",
        )
    return {**given, "first_place": pad + 1, "n_ctx": rows - pad - 1}


def values(cfg: BERTConfig) -> Mapping[str, Any] | None:
    """What a config.json of this kind says of the shape; None for positions from the first row, or BERT's second head."""
    if not (cfg.first_place and cfg.n_segments) or cfg.next_sentence:
        return None
    if cfg.masked_lm and cfg.activation != "gelu":
        return None
    rows = cfg.first_place + cfg.n_ctx
    return {**bert.said(cfg), "max_position_embeddings": rows, "pad_token_id": cfg.first_place - 1}


def takes(cfg: BERTConfig) -> tuple[Take, ...]:
    """BERT's tensors without the prefix `roberta.`, and a head for hidden words by other names."""
    words, *found = bert.takes(replace(cfg, masked_lm=False))
    if not cfg.masked_lm:
        return (words, *found)
    d = cfg.d_model
    return (
        replace(words, again=f"{WORDS}decoder.weight"),
        *found,
        *linear(f"{WORDS}dense", "masked_lm.to_hidden", d, d),
        *norm(d, f"{WORDS}layer_norm", "masked_lm.norm"),
        Take(f"{WORDS}bias", (cfg.n_vocab,), ("masked_lm.bias",), again=f"{WORDS}decoder.bias"),
    )


FORMAT = replace(
    bert.FORMAT,
    model_type="roberta",
    architecture="Roberta",
    alike={"xlm-roberta": "XLMRoberta", "camembert": "Camembert"},
    prefix="roberta.",
    outside=WORDS,
    tasks=two_maps(),
    endings={},
    marks={mark: " or ".join(reversed(names.split(" or "))) for mark, names in bert.FORMAT.marks.items()},
    config=config,
    values=values,
    classes=lambda cfg: "RobertaForMaskedLM" if cfg.masked_lm else "RobertaModel",
    takes=takes,
)
