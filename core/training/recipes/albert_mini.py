"""albert-mini: bert-mini's texts and tokens for a network with one layer's weights, which also tells the order of two texts."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from core.checkpoints import store
from core.data.corpora import BOOKS
from core.data.passages import SHARE, Books, Pair
from core.models.albert import ALBERT, ALBERTConfig
from core.training.recipe import Recipe
from core.training.recipes import bert_mini
from core.training.recipes.bert_mini import IDS, Mix

FROM = bert_mini.RECIPE.name
LAYER = 2
"""Which of bert-mini's layers the one layer begins as."""
LONG = (64, 128, 256)
"""Windows are this many tokens in the first, second and last part of the training."""
PARTS = (0.35, 0.8)
"""Where the second and the last part begin."""


class Orders(bert_mini.Passages):
    """bert-mini's windows and short texts; the pairs are neighbours, in their order or swapped."""

    @property
    def config(self) -> ALBERTConfig:
        return RECIPE.config

    def mixed(self, step: int) -> Mix:
        return mix(step)

    def pair(self, books: Books, rng: np.random.Generator, of: Mix) -> Pair | None:
        return books.ordered(int(rng.integers(len(books.book))), rng, bool(rng.integers(2)))

    def scored(self, network: Any, pooled: Tensor) -> Tensor:
        return network.sentence_order(pooled)

    def check(self, network: Any) -> dict[str, float]:
        found = dict(super().check(network))
        return found | {"order": found.pop("next")}


def mix(step: int) -> Mix:
    """What the batch of this step is made of: about 8,000 tokens, where a processor's two cores take bert-mini's 31,000 too long."""
    part = step / RECIPE.steps
    long = LONG[sum(part >= begins for begins in PARTS)]
    return Mix(long, windows=10, pairs=56, short=8, share=SHARE)


def prepare(data: Path, work: Path, seed: int, device: torch.device) -> Orders:
    """What bert-mini reads, by the tokens of the shipped bert-mini: its table is what this one begins with."""
    saved = work / "tokenizer.json"
    if not saved.is_file():
        shutil.copyfile(store.shipped_folder() / FROM / saved.name, saved)
    passages = bert_mini.prepare(data, work, seed, device)
    return Orders(passages.train, passages.valid, passages.tokenizer, seed, device)


def begin(network: nn.Module) -> None:
    """bert-mini's beginning: places as waves, patterns that are not flat."""
    bert_mini.begin(network)


@torch.no_grad()
def inherit(network: ALBERT) -> None:
    """Take over bert-mini: its tables in the directions that matter most to its words, one of its layers, its heads.

    The table of V x H is cut to V x E by its singular vectors (the best of that rank; Eckart and Young 1936), which are
    the map behind it; segments and positions go into the same directions. Only the order of two texts is begun anew.
    """
    held = store.load_weights(store.shipped_folder() / FROM)
    words, gain = held["embed.token.weight"], held["embed.norm.weight"]
    directions = torch.linalg.svd(words - words.mean(0), full_matrices=False).Vh[: network.cfg.d_embed]
    for name in ("token", "segment", "position"):
        network.embed[name].weight.copy_(held[f"embed.{name}.weight"] @ directions.T)
    wider = (network.cfg.d_model / network.cfg.d_embed) ** 0.5
    network.embed["to_model"].weight.copy_(wider * gain[:, None] * directions.T)
    network.embed["to_model"].bias.copy_(held["embed.norm.bias"])
    prefix = f"layers.{LAYER}."
    block = {name.removeprefix(prefix): value for name, value in held.items() if name.startswith(prefix)}
    network.layers[0].load_state_dict(block)
    network.masked_lm.to_hidden.weight.copy_(directions @ held["masked_lm.to_hidden.weight"])
    network.masked_lm.to_hidden.bias.copy_(directions @ held["masked_lm.to_hidden.bias"])
    network.masked_lm.bias.copy_(held["masked_lm.bias"])
    network.pooler.weight.copy_(held["pooler.weight"])
    network.pooler.bias.copy_(held["pooler.bias"])


RECIPE = Recipe(
    name="albert-mini",
    family="albert",
    config=ALBERTConfig(
        n_layers=6, n_heads=8, d_model=256, d_ff=1024, d_embed=64, n_vocab=8000, n_ctx=256, activation="gelu"
    ),
    steps=8000,
    prepare=prepare,
    begin=begin,
    inherit=inherit,
    ids=IDS,
    reads=BOOKS,
    lr=2e-3,
    matrix_lr=0.01,
    warm_up=100,
)
