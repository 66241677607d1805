"""albert-mini: bert-mini's texts and tokens for a network with one layer's weights, which also tells the order of two texts.

It does not begin from nothing: see `inherit`, and `Orders.apart` for what it follows at first. The order of two texts is
learned in a second stage: see `Compared`.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

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
STEPS, THEN = 4700, 1600
"""Of the first stage and of the second."""
LONG, PARTS = (64, 128, 256), (0.3, 0.75)
"""Windows are this many tokens in the first, second and last part of the first stage, and where the second and the last begin."""
PULL, PULLED = 2.0, 0.5
"""How much it counts at first that each layer's output be bert-mini's; over this part of a stage that falls to nothing."""


@dataclass(frozen=True, eq=False)
class Lesson:
    """Rows, and how much the distance to bert-mini's layers counts at this step."""

    groups: list[Rows]
    pull: float


class Both(NamedTuple):
    """Of the same rows what enters the first layer and leaves each, in two networks."""

    rows: Rows
    ours: list[Tensor]
    theirs: list[Tensor]


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

    def part(self, step: int) -> float:
        """How much of the stage lies behind."""
        return step / STEPS

    def mixed(self, step: int) -> Mix:
        return mix(self.part(step))

    def pair(self, books: Books, rng: np.random.Generator, of: Mix) -> Pair | None:
        return books.ordered(int(rng.integers(len(books.book))), rng, bool(rng.integers(2)))

    def scored(self, network: Any, pooled: Tensor) -> Tensor:
        return network.sentence_order(pooled)

    def batch(self, step: int) -> tuple[Any, int]:
        groups, n_tokens = super().batch(step)
        return Lesson(groups, pull(self.part(step))), n_tokens

    def loss(self, network: Any, batch: Any) -> Tensor:
        """Both objectives, and as long as it counts the distance to bert-mini."""
        taps = [Streams() for _ in batch.groups]
        hidden = [network(rows.batch, tap) for rows, tap in zip(batch.groups, taps, strict=True)]
        loss = self.objectives(network, batch.groups, hidden, self.told(batch.pull))
        return loss + batch.pull * self.apart(network, self.both(batch.groups, taps)) if batch.pull else loss

    def told(self, pull: float) -> float:
        """How much the order of the pairs counts where the distance counts so much."""
        return 1.0

    def both(self, groups: list[Rows], taps: list[Streams]) -> list[Both]:
        """What entered the first layer and left each here, and in bert-mini on the same rows."""
        found = []
        for rows, tap in zip(groups, taps, strict=True):
            theirs = Streams()
            with torch.no_grad():
                self.teacher(rows.batch, theirs)
            found.append(Both(rows, tap.found, theirs.found))
        return found

    def apart(self, network: Any, found: list[Both]) -> Tensor:
        """How far what leaves the layers lies from bert-mini's, on the same rows: squared, in parts of the variance there.

        The mean over tokens, numbers and layers. A hidden word is one bit of news in seven tokens, a layer's output is 256
        numbers at each of them: matching a trained network's layers teaches a small one in a fraction of the text (Sun et al.
        2020, MobileBERT, 3.5; Jiao et al. 2020, TinyBERT, 4.1).
        """
        total, n = torch.zeros((), device=self.device), 0
        for rows, ours, theirs in found:
            real = rows.batch.real
            for own, wanted in zip(ours, theirs, strict=True):
                goal = wanted[real].float()
                total = total + (own[real].float() - goal).square().sum() / goal.var() / goal.shape[1]
                n += len(goal)
        return total / n

    def check(self, network: Any) -> Mapping[str, float]:
        found = dict(super().check(network))
        return found | {"order": found.pop("next")}


class Compared(Orders):
    """The second stage: windows fill the context, pairs are most of the tokens, and the first token follows bert-mini's.

    Each text is as often the first as the second, so no word and no place in one of them says anything of the order, and
    there is no slope to go down before the two are compared: the first stage ended at chance. Whether one text follows
    another is such a comparison, and bert-mini has learned it. So the order begins as that.
    """

    def part(self, step: int) -> float:
        return (step - STEPS) / THEN

    def mixed(self, step: int) -> Mix:
        return Mix(self.config.n_ctx, windows=96, pairs=384, short=16)

    def told(self, pull: float) -> float:
        """The less bert-mini counts, the more does the order: before it is of any use, to be right is to say nothing."""
        return 1 - pull / PULL

    @torch.no_grad()
    def follow(self, network: Any) -> None:
        """Read the first token as bert-mini does, for whether the second text follows."""
        teacher: Any = self.teacher
        network.pooler.load_state_dict(teacher.pooler.state_dict())
        network.to_sentence_order.load_state_dict(teacher.to_next_sentence.state_dict())

    def apart(self, network: Any, found: list[Both]) -> Tensor:
        """The same, and again at the first token of pairs alone, which among a hundred would hardly count: there, and as it is read.

        The mean square in parts of the numbers' own variances, as what all texts have in common at this token says nothing.
        What enters the first layer is the same for all.
        """
        teacher: Any = self.teacher
        layers, read = [], []
        for rows, ours, theirs in found:
            if rows.follows is None:
                continue
            layers += [spread(own[:, 0], goal[:, 0]) for own, goal in zip(ours[1:], theirs[1:], strict=True)]
            read.append(spread(network.pooled(ours[-1]), teacher.pooled(theirs[-1])))
        return super().apart(network, found) + torch.stack(layers).mean() + torch.stack(read).mean()


def spread(own: Tensor, goal: Tensor) -> Tensor:
    """The mean square between rows of numbers, in parts of the variance of the goal's columns.

    >>> spread(torch.tensor([[2.0, 7.0], [2.0, 7.0]]), torch.tensor([[1.0, 7.0], [3.0, 7.0]]))  # its means: as good as nothing
    tensor(1.)
    """
    return (own.float() - goal.float()).square().mean() / goal.float().var(0, correction=0).mean()


def pull(part: float) -> float:
    """How much the distance to bert-mini counts where this part of a stage is over.

    >>> pull(0.0), pull(0.25), pull(1.0)
    (2.0, 1.0, 0.0)
    """
    return PULL * max(0.0, 1 - part / PULLED)


def mix(part: float) -> Mix:
    """What a batch of the first stage is made of where this part of it is over: about 33,000 tokens, most of them in pairs."""
    long = LONG[sum(part >= begins for begins in PARTS)]
    share = HIDDEN + (SHARE - HIDDEN) * min(1.0, part / PARTS[1])
    return Mix(long, windows=24, pairs=320, short=12, share=share)


def prepare(data: Path, work: Path, seed: int, device: torch.device, kind: type[Orders] = Orders) -> Orders:
    """What bert-mini reads, by the tokens of the shipped bert-mini: its table is what this one begins with."""
    folder, saved = store.shipped_folder() / FROM, work / "tokenizer.json"
    if not saved.is_file():
        shutil.copyfile(folder / saved.name, saved)
    found = bert_mini.prepare(data, work, seed, device)
    teacher = store.load_model(folder, FROM, shipped=True).network
    return kind(found.train, found.valid, found.tokenizer, seed, device, teacher)


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


WORDS = Recipe(
    name="albert-mini",
    family="albert",
    config=ALBERTConfig(
        n_layers=6, n_heads=8, d_model=256, d_ff=1024, d_embed=64, n_vocab=8000, n_ctx=256, activation="gelu"
    ),
    steps=STEPS,
    prepare=prepare,
    begin=bert_mini.begin,
    inherit=inherit,
    ids=IDS,
    reads=BOOKS,
    lr=2e-3,
    matrix_lr=0.01,
    warm_up=100,
)
RECIPE = replace(
    WORDS,
    then=replace(WORDS, steps=THEN, prepare=partial(prepare, kind=Compared), lr=1.5e-3, matrix_lr=0.01),
)
