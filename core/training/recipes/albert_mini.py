"""albert-mini: bert-mini's texts and tokens for a network with one layer's weights, which also tells the order of two texts.

It does not begin from nothing: see `inherit`, and `Orders.apart` for what it follows at first.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from core.checkpoints import store
from core.data.corpora import BOOKS
from core.data.passages import SHARE, Books, Pair
from core.models.albert import ALBERTConfig
from core.trace import OFF, Tap
from core.training.recipe import Recipe
from core.training.recipes import bert_mini
from core.training.recipes.bert_mini import HIDDEN, IDS, Mix, Rows

FROM = bert_mini.RECIPE.name
LAYER = 2
"""Which of bert-mini's layers the one layer begins as."""
LONG, PARTS = (64, 128, 256), (0.3, 0.75)
"""Windows are this many tokens in the first, second and last part of the training, and where the second and the last begin."""
PULL, PULLED = 2.0, 0.5
"""How much it counts at first that each layer's output be bert-mini's; over this part of the training that falls to nothing."""


@dataclass(frozen=True, eq=False)
class Lesson:
    """Rows, and how much the distance to bert-mini's layers counts at this step."""

    groups: list[Rows]
    pull: float


class Streams(Tap):
    """Keeps what enters the first layer and what leaves each; within a layer nobody looks, so that it is as fast as ever."""

    __slots__ = ("found",)

    def __init__(self) -> None:
        self.found: list[Tensor] = []

    def __call__(self, name: str, value: Tensor, axes: str) -> Tensor:
        if name in ("embed.out", "resid_out"):
            self.found.append(value)
        return value

    def __truediv__(self, part: str) -> Tap:
        return self if part.startswith("layer.") else OFF


class Orders(bert_mini.Passages):
    """bert-mini's windows and short texts; the pairs are neighbours, in their order or swapped. `teacher` is bert-mini's network."""

    def __init__(
        self,
        train: Books,
        valid: Books,
        tokenizer: Any,
        seed: int,
        device: torch.device,
        teacher: nn.Module,
    ) -> None:
        super().__init__(train, valid, tokenizer, seed, device)
        self.teacher = teacher.to(device).eval().requires_grad_(False)

    @property
    def config(self) -> ALBERTConfig:
        return RECIPE.config

    def mixed(self, step: int) -> Mix:
        return mix(step)

    def pair(self, books: Books, rng: np.random.Generator, of: Mix) -> Pair | None:
        return books.ordered(int(rng.integers(len(books.book))), rng, bool(rng.integers(2)))

    def scored(self, network: Any, pooled: Tensor) -> Tensor:
        return network.sentence_order(pooled)

    def batch(self, step: int) -> tuple[Any, int]:
        groups, n_tokens = super().batch(step)
        return Lesson(groups, pull(step)), n_tokens

    def loss(self, network: Any, batch: Any) -> Tensor:
        """Both objectives, and as long as it counts the distance to bert-mini."""
        taps = [Streams() for _ in batch.groups]
        hidden = [network(rows.batch, tap) for rows, tap in zip(batch.groups, taps, strict=True)]
        loss = self.objectives(network, batch.groups, hidden)
        return loss + batch.pull * self.apart(batch.groups, taps) if batch.pull else loss

    def apart(self, groups: list[Rows], taps: list[Streams]) -> Tensor:
        """How far what leaves the layers lies from bert-mini's, on the same rows: squared, in parts of the variance there.

        The mean over tokens, numbers and layers. A hidden word is one bit of news in seven tokens, a layer's output is 256
        numbers at each of them: matching a trained network's layers teaches a small one in a fraction of the text (Sun et al.
        2020, MobileBERT, 3.5; Jiao et al. 2020, TinyBERT, 4.1).
        """
        total, n = torch.zeros((), device=self.device), 0
        for rows, tap in zip(groups, taps, strict=True):
            real, theirs = rows.batch.real, Streams()
            with torch.no_grad():
                self.teacher(rows.batch, theirs)
            for own, wanted in zip(tap.found, theirs.found, strict=True):
                goal = wanted[real].float()
                total = total + (own[real].float() - goal).square().sum() / goal.var() / goal.shape[1]
                n += len(goal)
        return total / n

    def check(self, network: Any) -> Mapping[str, float]:
        found = dict(super().check(network))
        return found | {"order": found.pop("next")}


def pull(step: int) -> float:
    """How much the distance to bert-mini counts at this step.

    >>> pull(0), pull(RECIPE.steps)
    (2.0, 0.0)
    """
    return PULL * max(0.0, 1 - step / (PULLED * RECIPE.steps))


def mix(step: int) -> Mix:
    """What the batch of this step is made of: about 9,000 tokens, since two cores take seconds for as many; bert-mini's has 31,000.

    Pairs are most of it: their order is the harder objective.
    """
    part = step / RECIPE.steps
    long = LONG[sum(part >= begins for begins in PARTS)]
    share = HIDDEN + (SHARE - HIDDEN) * min(1.0, part / PARTS[1])
    return Mix(long, windows=8, pairs=88, short=4, share=share)


def prepare(data: Path, work: Path, seed: int, device: torch.device) -> Orders:
    """What bert-mini reads, by the tokens of the shipped bert-mini: its table is what this one begins with."""
    folder, saved = store.shipped_folder() / FROM, work / "tokenizer.json"
    if not saved.is_file():
        shutil.copyfile(folder / saved.name, saved)
    found = bert_mini.prepare(data, work, seed, device)
    teacher = store.load_model(folder, FROM, shipped=True).network
    return Orders(found.train, found.valid, found.tokenizer, seed, device, teacher)


@torch.no_grad()
def inherit(network: Any) -> None:
    """Take over bert-mini: its tables in the directions that matter most to its words, one of its layers, its heads.

    The table of V x H is cut to V x E by its singular vectors (the best of that rank; Eckart and Young 1936), which are
    the map behind it; segments and positions go into the same directions. Only the order of two texts is begun anew.
    """
    held = store.load_weights(store.shipped_folder() / FROM)
    words, gain = held["embed.token.weight"], held["embed.norm.weight"]
    directions = torch.linalg.svd(words - words.mean(0), full_matrices=False).Vh[: network.cfg.d_embed]
    for name in ("token", "segment", "position"):
        network.embed[name].weight.copy_(held[f"embed.{name}.weight"] @ directions.T)
    wider = (
        network.cfg.d_model / network.cfg.d_embed
    ) ** 0.5  # a normed vector is as long as the root of its width
    network.embed["to_model"].weight.copy_(wider * gain[:, None] * directions.T)
    network.embed["to_model"].bias.copy_(held["embed.norm.bias"])
    prefix = f"layers.{LAYER}."
    block = {name.removeprefix(prefix): value for name, value in held.items() if name.startswith(prefix)}
    network.layers[0].load_state_dict(block)
    for part in ("weight", "bias"):
        getattr(network.masked_lm.to_hidden, part).copy_(directions @ held[f"masked_lm.to_hidden.{part}"])
        getattr(network.pooler, part).copy_(held[f"pooler.{part}"])
    network.masked_lm.bias.copy_(held["masked_lm.bias"])


RECIPE = Recipe(
    name="albert-mini",
    family="albert",
    config=ALBERTConfig(
        n_layers=6, n_heads=8, d_model=256, d_ff=1024, d_embed=64, n_vocab=8000, n_ctx=256, activation="gelu"
    ),
    steps=6000,
    prepare=prepare,
    begin=bert_mini.begin,
    inherit=inherit,
    ids=IDS,
    reads=BOOKS,
    lr=2e-3,
    matrix_lr=0.01,
    warm_up=100,
)
