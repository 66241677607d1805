"""BigBird folders in Hugging Face format (Zaheer et al. 2020): BERT's tensors, and a mask in blocks.

There the window is 3 blocks and the first and the last block are global; a text of at most (5 + 2 r) blocks is read in
full, and a model that is not being trained reads the first block r times more in the place of r random ones.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import asdict, replace
from typing import Any

from core.checkpoints.foreign import bert
from core.checkpoints.safety.config_schema import RANGES, Fields, built, named
from core.checkpoints.safety.load_plan import Take
from core.checkpoints.task_heads import CLASSES, TAGGER, TAGS, two_maps
from core.models.bert import BERTConfig
from core.models.bigbird import BigBirdConfig

LAYOUTS = {"block_sparse": "sparse", "original_full": "full"}
FIXED = {"window": 3, "n_global": 2, "draw": "first", "seed": 0}
"""What such a folder cannot say otherwise."""


def config(given: Fields, stored: Collection[str]) -> BigBirdConfig:
    """BERT's shape by its names, and the mask."""
    given.only("use_bias", True, "Maps to queries, keys and values without a bias are not implemented.")
    given.only(
        "rescale_embeddings", False, "Token vectors times the root of their width are not implemented."
    )
    shape = asdict(bert.config(given, stored))
    n_random = given.whole("num_random_blocks", largest=RANGES["n_layers"], default=3, least=0)
    block = given.whole("block_size", largest=shape["n_ctx"], default=min(64, shape["n_ctx"]))
    mask = {
        "layout": given.one_of("attention_type", LAYOUTS, "block_sparse"),
        "block": block,
        "n_random": n_random,
        "full_up_to": (5 + 2 * n_random) * block,
    }
    activation = given.one_of("hidden_act", bert.ACTIVATIONS, "gelu_new")
    return built(BigBirdConfig, {**shape, **FIXED, **mask, "activation": activation})


def values(cfg: BigBirdConfig) -> Mapping[str, Any] | None:
    """What a config.json of this kind says; None for a mask that it cannot say."""
    wanted = {**FIXED, "full_up_to": (5 + 2 * cfg.n_random) * cfg.block}
    said = bert.values(cfg)
    if said is None or any(getattr(cfg, name) != value for name, value in wanted.items()):
        return None
    return {
        **said,
        "attention_type": named(LAYOUTS, cfg.layout),
        "block_size": cfg.block,
        "num_random_blocks": cfg.n_random,
    }


def classes(cfg: BERTConfig) -> str:
    """The class of the transformers library that has these heads."""
    if cfg.masked_lm:
        return "BigBirdForPreTraining" if cfg.next_sentence else "BigBirdForMaskedLM"
    return "BigBirdModel"


def takes(cfg: BERTConfig) -> tuple[Take, ...]:
    """BERT's tensors; the pooler is one linear map without a name of its own inside."""
    return tuple(
        replace(take, name=take.name.replace("pooler.dense.", "pooler.")) for take in bert.takes(cfg)
    )


FORMAT = replace(
    bert.FORMAT,
    model_type="big_bird",
    architecture="BigBird",
    family="bigbird",
    telling="block_size",
    heads=re.compile(r"(classifier|qa_outputs|qa_classifier)\."),
    tasks={CLASSES: two_maps("gelu_new", "hidden_act")[CLASSES], TAGS: TAGGER},
    marks={**bert.FORMAT.marks, "pad": "<pad> or [PAD]"},
    config=config,
    values=values,
    classes=classes,
    takes=takes,
)
