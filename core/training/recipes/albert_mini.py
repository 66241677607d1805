"""albert-mini: bert-mini's texts and tokens for a network with one layer's weights, which also predicts the order of two texts.

It does not begin from nothing: see `inherit`, and `Orders.layer_distance` for the teacher that it follows at first. The order of two texts is
learned in a second stage: see `SecondStage`.
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
"""Layer of bert-mini whose weights the one layer begins with."""
STEPS, SECOND_STEPS = 4700, 1600
"""Steps of the first stage and of the second."""
LONG, PARTS = (64, 128, 256), (0.3, 0.75)
"""Windows are this many tokens in the first, second and last part of the first stage, and where the second and the last begin."""
DISTANCE_WEIGHT, DISTANCE_PART = 2.0, 0.5
"""The weight at first of the distance of each layer's output to bert-mini's, and the part of a stage in which it falls to zero."""


@dataclass(frozen=True, eq=False)
class DistillationBatch:
    """Rows, and the weight of the distance to bert-mini's layers at this step."""

    groups: list[Rows]
    teacher_weight: float


class StatePair(NamedTuple):
    """Input of the first layer and outputs of all layers on the same rows, in two networks."""

    rows: Rows
    student: list[Tensor]
    teacher: list[Tensor]


class Streams(Tap):
    """Tap of the input of the first layer and the output of each; nothing inside a layer is recorded, so that it stays fast."""

    __slots__ = ("states",)

    def __init__(self) -> None:
        self.states: list[Tensor] = []

    def __call__(self, name: str, value: Tensor, axes: str) -> Tensor:
        if name in ("embed.out", "resid_out"):
            self.states.append(value)
        return value

    def __truediv__(self, part: str) -> Tap:
        return self if part.startswith("layer.") else OFF


class Orders(bert_mini.Passages):
    """Windows and short texts of bert-mini; the pairs are neighbours, in their order or swapped. `teacher` is bert-mini's network."""

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

    def progress(self, step: int) -> float:
        """Return the share of the present stage that is done, 0 to 1."""
        return step / STEPS

    def mix_for(self, step: int) -> Mix:
        return mix(self.progress(step))

    def pair(self, books: Books, rng: np.random.Generator, mix: Mix) -> Pair | None:
        return books.ordered_pair(int(rng.integers(len(books.book))), rng, bool(rng.integers(2)))

    def pair_scores(self, network: Any, pooled: Tensor) -> Tensor:
        return network.sentence_order(pooled)

    def batch(self, step: int) -> tuple[Any, int]:
        groups, n_tokens = super().batch(step)
        return DistillationBatch(groups, distance_weight(self.progress(step))), n_tokens

    def loss(self, network: Any, batch: Any) -> Tensor:
        """Return the sum of both objectives and, while its weight is not zero, of the distance to bert-mini."""
        taps = [Streams() for _ in batch.groups]
        hidden = [network(rows.batch, tap) for rows, tap in zip(batch.groups, taps, strict=True)]
        loss = self.objectives(network, batch.groups, hidden, self.order_weight(batch.teacher_weight))
        return (
            loss + batch.teacher_weight * self.layer_distance(network, self.state_pairs(batch.groups, taps))
            if batch.teacher_weight
            else loss
        )

    def order_weight(self, teacher_weight: float) -> float:
        """Return the weight of the order of the pairs at this weight of the distance."""
        return 1.0

    def state_pairs(self, groups: list[Rows], taps: list[Streams]) -> list[StatePair]:
        """Return the input of the first layer and the outputs of all layers, here and in bert-mini on the same rows."""
        pairs = []
        for rows, tap in zip(groups, taps, strict=True):
            theirs = Streams()
            with torch.no_grad():
                self.teacher(rows.batch, theirs)
            pairs.append(StatePair(rows, tap.states, theirs.states))
        return pairs

    def layer_distance(self, network: Any, state_pairs: list[StatePair]) -> Tensor:
        """Return the mean squared distance of the layers' outputs to bert-mini's on the same rows, divided by the variance of bert-mini's.

        The mean is over tokens, numbers and layers. A small network that matches the layers of a trained one needs a
        fraction of the text (Sun et al. 2020, MobileBERT, 3.5; Jiao et al. 2020, TinyBERT, 4.1).
        """
        total, n = torch.zeros((), device=self.device), 0
        for rows, ours, theirs in state_pairs:
            real = rows.batch.real
            for own, wanted in zip(ours, theirs, strict=True):
                goal = wanted[real].float()
                total = total + (own[real].float() - goal).square().sum() / goal.var() / goal.shape[1]
                n += len(goal)
        return total / n

    def check(self, network: Any) -> Mapping[str, float]:
        scores = dict(super().check(network))
        return scores | {"order": scores.pop("next")}


class SecondStage(Orders):
    """The second stage: windows fill the context, pairs are most of the tokens, and the first token follows bert-mini's.

    Each text is as often the first as the second, so only a comparison of the two tells their order, and the first stage
    ended at chance. Whether one text follows another is such a comparison, and bert-mini has learned it: the head for the
    order begins with its weights.
    """

    def progress(self, step: int) -> float:
        return (step - STEPS) / SECOND_STEPS

    def mix_for(self, step: int) -> Mix:
        return Mix(self.config.n_ctx, windows=96, pairs=384, short=16)

    def order_weight(self, teacher_weight: float) -> float:
        """Return the weight of the loss of sentence order, which grows as `teacher_weight`, the weight of the distance to bert-mini, falls."""
        return 1 - teacher_weight / DISTANCE_WEIGHT

    @torch.no_grad()
    def follow(self, network: Any) -> None:
        """Copy into the network bert-mini's pooler and its head for whether the second text follows."""
        teacher: Any = self.teacher
        network.pooler.load_state_dict(teacher.pooler.state_dict())
        network.to_sentence_order.load_state_dict(teacher.to_next_sentence.state_dict())

    def layer_distance(self, network: Any, state_pairs: list[StatePair]) -> Tensor:
        """Return the distance of `Passages`' layers plus that of the first token, in rows with two texts: at each layer output, and after the pooler.

        Each is a mean square error divided by the teacher's variance. The first token needs its own term: it is one of a hundred tokens.
        """
        teacher: Any = self.teacher
        layers, read = [], []
        for rows, ours, theirs in state_pairs:
            if rows.follows is None:
                continue
            layers += [
                relative_error(own[:, 0], goal[:, 0]) for own, goal in zip(ours[1:], theirs[1:], strict=True)
            ]
            read.append(relative_error(network.pooled(ours[-1]), teacher.pooled(theirs[-1])))
        return (
            super().layer_distance(network, state_pairs)
            + torch.stack(layers).mean()
            + torch.stack(read).mean()
        )


def relative_error(values: Tensor, targets: Tensor) -> Tensor:
    """Return the mean squared difference divided by the mean variance of the targets' columns: 0 is equal, 1 as good as each column's mean.

    >>> relative_error(torch.tensor([[2.0, 7.0], [2.0, 7.0]]), torch.tensor([[1.0, 7.0], [3.0, 7.0]]))  # its means: as good as nothing
    tensor(1.)
    """
    return (values.float() - targets.float()).square().mean() / targets.float().var(0, correction=0).mean()


def distance_weight(part: float) -> float:
    """Return the weight of the distance to bert-mini when this part of a stage is over.

    >>> distance_weight(0.0), distance_weight(0.25), distance_weight(1.0)
    (2.0, 1.0, 0.0)
    """
    return DISTANCE_WEIGHT * max(0.0, 1 - part / DISTANCE_PART)


def mix(part: float) -> Mix:
    """Return the mixture of a batch of the first stage when this part of it is over: about 33,000 tokens, most of them in pairs."""
    long = LONG[sum(part >= begins for begins in PARTS)]
    share = HIDDEN + (SHARE - HIDDEN) * min(1.0, part / PARTS[1])
    return Mix(long, windows=24, pairs=320, short=12, share=share)


def prepare(data: Path, work: Path, seed: int, device: torch.device, kind: type[Orders] = Orders) -> Orders:
    """Return the texts of bert-mini in the tokens of the shipped bert-mini, whose table this network begins with."""
    folder, saved = store.shipped_folder() / FROM, work / "tokenizer.json"
    if not saved.is_file():
        shutil.copyfile(folder / saved.name, saved)
    passages = bert_mini.prepare(data, work, seed, device)
    teacher = store.load_model(folder, FROM, shipped=True).network
    return kind(passages.train, passages.valid, passages.tokenizer, seed, device, teacher)


@torch.no_grad()
def inherit(network: Any) -> None:
    """Initialise from bert-mini: its tables projected to the directions that matter most to its words, one of its layers, its heads.

    The table of V x H is cut to V x E by its singular vectors (the best of that rank; Eckart and Young 1936), which are
    the map behind it; segments and positions go into the same directions. Only the head for the order of two texts begins untrained.
    """
    weights = store.load_weights(store.shipped_folder() / FROM)
    words, gain = weights["embed.token.weight"], weights["embed.norm.weight"]
    directions = torch.linalg.svd(words - words.mean(0), full_matrices=False).Vh[: network.cfg.d_embed]
    for name in ("token", "segment", "position"):
        network.embed[name].weight.copy_(weights[f"embed.{name}.weight"] @ directions.T)
    wider = (
        network.cfg.d_model / network.cfg.d_embed
    ) ** 0.5  # a normed vector is as long as the root of its width
    network.embed["to_model"].weight.copy_(wider * gain[:, None] * directions.T)
    network.embed["to_model"].bias.copy_(weights["embed.norm.bias"])
    prefix = f"layers.{LAYER}."
    block = {name.removeprefix(prefix): value for name, value in weights.items() if name.startswith(prefix)}
    network.layers[0].load_state_dict(block)
    for part in ("weight", "bias"):
        getattr(network.masked_lm.to_hidden, part).copy_(directions @ weights[f"masked_lm.to_hidden.{part}"])
        getattr(network.pooler, part).copy_(weights[f"pooler.{part}"])
    network.masked_lm.bias.copy_(weights["masked_lm.bias"])


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
    then=replace(
        WORDS, steps=SECOND_STEPS, prepare=partial(prepare, kind=SecondStage), lr=1.5e-3, matrix_lr=0.01
    ),
)
