"""Fine-tuning while one waits: a new head upon bert-mini, and with it as many of its layers as are asked for.

Frozen, only the head learns, from what the body says anyway; in full, the body moves, too (Devlin et al. 2019, 5.3). A recorded
run (assets/runs/NAME) is the log of one tuning, which may learn longer than a visitor waits, and how far it moved each weight:

    python -m core.training.finetune.tuning NAME
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

import core.checkpoints
from core.checkpoints.files import need
from core.checkpoints.safety.load_plan import unfilled
from core.checkpoints.safety.safetensors_header import read_header
from core.errors import InputError
from core.model import Model
from core.text import Tokenizer
from core.training import records
from core.training.finetune import fitted_head
from core.training.finetune.finetune_tasks import GOALS, Example, Goal, Rows, collated
from core.training.finetune.weight_delta import moved_by, movement
from core.training.loop.timed_loop import course, descend, evenly, optimiser
from core.training.records import Moments, Report

BODY = "bert-mini"
HEADS = ("to_classes.", "to_tags.", "to_answer.")
WEIGHTS = "moved.safetensors"
MOMENTS = 12
LONGEST = 58.0
"""Seconds after which a tuning ends, finished or not."""
CHECKED = 160
"""Texts that no tuning reads, on which it is measured at each moment."""
ALL = 99


@dataclass(frozen=True, kw_only=True)
class Tuning:
    """A fine-tuning: what is taught (a key of GOALS), and how many of the upper layers learn with the head (ALL: the embeddings, too).

    `steps` are those that a visitor waits for; the recorded run may take more, `longer`, from three times as many texts. With
    `converges` a recorded head on a frozen body is fitted to all texts at once, until it changes no more or after `longer` steps.
    """

    name: str
    goal: str
    learns: int
    steps: int
    longer: int = 0
    n_texts: int = 4000
    n_rows: int = 32
    lr: float = 4e-4
    head_lr: float = 3e-3
    converges: bool = False

    @property
    def taught(self) -> Goal:
        return GOALS[self.goal]

    @property
    def frozen(self) -> bool:
        """Whether the body stays as it was."""
        return self.learns == 0

    @property
    def recorded(self) -> Tuning:
        """What the recorded run did.

        >>> [TUNINGS[name].recorded.steps for name in ("tags-full", "pairs-full")]
        [60, 400]
        """
        if not self.longer:
            return self
        texts = 3 * self.n_texts
        n_rows = texts if self.converges else self.n_rows
        return replace(self, steps=self.longer, longer=0, n_texts=texts, n_rows=n_rows)

    @property
    def fits(self) -> bool:
        """Whether each step reads all texts: the recorded form of a tuning that `converges`."""
        return self.converges and self.n_rows == self.n_texts

    @property
    def title(self) -> str:
        return f"{self.taught.title}, {'frozen' if self.frozen else 'in full' if self.learns == ALL else f'upper {self.learns} layers'}"


TUNINGS: Mapping[str, Tuning] = MappingProxyType(
    {
        tuning.name: tuning
        for tuning in (
            Tuning(name="opinions-full", goal="opinions", learns=ALL, steps=220),
            Tuning(name="opinions-frozen", goal="opinions", learns=0, steps=300),
            Tuning(name="pairs-full", goal="pairs", learns=ALL, steps=180, longer=400),
            Tuning(name="pairs-frozen", goal="pairs", learns=0, steps=200, longer=1000, converges=True),
            Tuning(name="answers-full", goal="answers", learns=ALL, steps=100, longer=250, n_rows=24),
            Tuning(name="answers-frozen", goal="answers", learns=0, steps=150, n_rows=24),
            Tuning(name="tags-full", goal="tags", learns=ALL, steps=60),
            Tuning(name="tags-frozen", goal="tags", learns=0, steps=200),
        )
    }
)


def body(name: str = BODY) -> Model:
    """The trained model that is tuned, loaded anew: nobody else's."""
    return core.checkpoints.open_model(name)


def headed(tuning: Tuning, of: Model, seed: int = 0) -> nn.Module:
    """The network of `of` with the head that is missing: small normal weights and zero biases, and what learns of it asks for gradients."""
    network, rng = (
        unfilled(of.spec, replace(of.config, **tuning.taught.head)),
        torch.Generator().manual_seed(seed),
    )
    held = {name: weight.clone() for name, weight in of.network.state_dict().items()}
    for name, weight in network.named_parameters():
        if name.startswith(HEADS):
            many = weight.ndim > 1
            held[name] = (
                torch.randn(weight.shape, generator=rng) * 0.02 if many else torch.zeros(weight.shape)
            )
    network.load_state_dict({name: held[name] for name in network.state_dict()}, assign=True)
    for name, weight in network.named_parameters():
        weight.requires_grad_(learns(tuning, name, of.config.n_layers))
    return network


def learns(tuning: Tuning, name: str, n_layers: int) -> bool:
    """Whether a weight learns.

    >>> upper = Tuning(name="", goal="tags", learns=2, steps=1)
    >>> [learns(upper, name, 6) for name in ("to_tags.bias", "layers.4.norm1.bias", "layers.3.norm1.bias", "embed.norm.bias")]
    [True, True, False, False]
    """
    if name.startswith(HEADS):
        return True
    if name.startswith("layers."):
        return int(name.split(".")[1]) >= n_layers - tuning.learns
    return tuning.learns == ALL and name.startswith("embed.")


def training(
    tuning: Tuning,
    seed: int = 0,
    *,
    of: Model | None = None,
    steps: int | None = None,
    longest: float = LONGEST,
    every: float = 0.0,
    clock: Callable[[], float] = time.perf_counter,
) -> Iterator[tuple[Report, dict[str, Tensor]]]:
    """Tune it: a report, and a copy of all that learns, at MOMENTS even distances, the last one always.

    Moments lie at least `every` seconds apart. It ends after `steps` (default the tuning's)
    or after `longest` seconds of `clock`; the rate of learning is at zero then.
    """
    of = body() if of is None else of
    if tuning.fits:
        yield from _fitted(tuning, seed, of, tuning.steps if steps is None else steps, clock)
        return
    last, goal, pad = tuning.steps if steps is None else steps, tuning.taught, of.tokenizer.pad or 0
    texts = goal.examples(of.tokenizer, tuning.n_texts, seed, "train")
    held_out = checked(goal, of.tokenizer, seed)
    network, rng = headed(tuning, of, seed), np.random.default_rng(seed)
    optim = optimiser(network, HEADS, lr=tuning.lr, head_lr=tuning.head_lr)

    def learn(factor: float) -> None:
        rows = collated([texts[place] for place in rng.choice(len(texts), tuning.n_rows, replace=False)], pad)
        network.train()
        descend(goal.loss(goal.scores(network, rows.batch), rows.wanted), [optim], factor)

    def tell(step: int, seconds: float) -> tuple[Report, dict[str, Tensor]]:
        moved = {
            name: weight.detach().clone()
            for name, weight in network.named_parameters()
            if weight.requires_grad
        }
        return _report(goal, network, held_out, step, seconds), moved

    yield from course(
        learn, tell, steps=last, moments=evenly(last, MOMENTS), longest=longest, every=every, clock=clock
    )


def _fitted(
    tuning: Tuning, seed: int, of: Model, most: int, clock: Callable[[], float]
) -> Iterator[tuple[Report, dict[str, Tensor]]]:
    """Fit the head to the vectors of [CLS] that the frozen body computes once: MOMENTS reports at even distances, the last one always."""
    begun, goal, network = clock(), tuning.taught, headed(tuning, of, seed)
    texts, held_out = (
        goal.examples(of.tokenizer, tuning.n_texts, seed, "train"),
        checked(goal, of.tokenizer, seed),
    )
    head = {name: weight for name, weight in network.named_parameters() if name.startswith(HEADS)}
    yield (
        _report(goal, network, held_out, 0, 0.0),
        {name: weight.detach().clone() for name, weight in head.items()},
    )
    vectors, wanted = _vectors(network, texts, of.tokenizer.pad or 0)
    decay = fitted_head.chosen_decay(vectors, wanted, len(goal.labels), seed, most=most)
    path = fitted_head.fit(vectors, wanted, len(goal.labels), decay, most=most, clock=lambda: clock() - begun)
    for place in sorted({*evenly(len(path) - 1, MOMENTS)} - {0}):
        now = path[place]
        found = {"to_classes.weight": now.weight, "to_classes.bias": now.bias}
        network.load_state_dict(found, strict=False)
        yield _report(goal, network, held_out, now.step, now.seconds), found


def _vectors(network: Any, texts: Sequence[Example], pad: int) -> tuple[Tensor, Tensor]:
    """Return the vector of [CLS] of each text (text d_model), and its label (text,)."""
    network.eval()
    rows = [collated(texts[place : place + 64], pad) for place in range(0, len(texts), 64)]
    with torch.no_grad():
        vectors = torch.cat([network(row.batch)[:, 0] for row in rows])
    return vectors, torch.cat([row.wanted[:, 0] for row in rows])


def checked(goal: Goal, tokenizer: Tokenizer, seed: int) -> list[Rows]:
    """CHECKED texts that no tuning reads, in batches."""
    texts = goal.examples(tokenizer, CHECKED, seed, "test")
    return [collated(texts[place : place + 32], tokenizer.pad or 0) for place in range(0, CHECKED, 32)]


def _report(goal: Goal, network: nn.Module, held_out: list[Rows], step: int, seconds: float) -> Report:
    network.eval()
    losses, right = [], list[np.ndarray]()
    with torch.inference_mode():
        for rows in held_out:
            scores = goal.scores(network, rows.batch)
            losses.append(float(goal.loss(scores, rows.wanted)))
            right.append(goal.right(scores, rows.wanted))
    return Report(
        step,
        round(float(np.mean(losses)), 5),
        round(float(np.concatenate(right).mean()), 5),
        (),
        round(seconds, 2),
    )


def model(tuning: Tuning, weights: Mapping[str, Tensor], name: str, of: Model | None = None) -> Model:
    """A model like any other: the body with its head, and these weights in place of its own.

    Raises InputError for weights that are not those of this tuning.
    """
    of = _body() if of is None else of
    network = headed(tuning, of)
    wanted = {name: weight for name, weight in network.named_parameters() if weight.requires_grad}
    if {name: weight.shape for name, weight in wanted.items()} != {
        name: weight.shape for name, weight in weights.items()
    }:
        raise InputError(
            f"The weights are not those of {tuning.name}.",
            "They are all that the tuning moves.",
            "Tune it again.",
        )
    network.load_state_dict({name: weight.float() for name, weight in weights.items()}, strict=False)
    return Model(name, of.spec, network.cfg, network, of.tokenizer)


@dataclass(frozen=True)
class Moved:
    """How far a tuning went: weights that learn, all weights, and |W - W_0| / |W_0| over the body, its embeddings, each of its layers."""

    learning: int
    total: int
    body: float
    embeddings: float
    layers: tuple[float, ...]


def moved(tuned: Model, before: Model, tuning: Tuning) -> Moved:
    """How far the body of a tuned model is from what it was."""
    old = before.network.state_dict()
    new = {name: weight for name, weight in tuned.network.named_parameters() if name in old}

    def far(names: list[str]) -> float:
        gap = sum(float((new[name] - old[name]).double().square().sum()) for name in names)
        return (gap / sum(float(old[name].double().square().sum()) for name in names)) ** 0.5

    inside = [name for name in new if name.startswith(("embed.", "layers."))]
    layers = tuple(
        far([name for name in inside if name.startswith(f"layers.{i}.")])
        for i in range(before.config.n_layers)
    )
    learning = sum(
        weight.numel()
        for name, weight in tuned.network.named_parameters()
        if learns(tuning, name, before.config.n_layers)
    )
    return Moved(
        learning,
        tuned.n_parameters,
        far(inside),
        far([name for name in inside if name.startswith("embed.")]),
        layers,
    )


class Recorded(records.Recorded[Tuning]):
    """A tuning that was made before: its reports, and what it moved. It may have learned longer than a visitor waits (`Tuning.recorded`)."""

    module, jobs = "core.training.finetune.tuning", TUNINGS

    @staticmethod
    def training(job: Tuning, *given: Any, **options: Any) -> Iterator[tuple[Report, dict[str, Tensor]]]:
        return training(job.recorded, *given, **options)

    @classmethod
    def keep(cls, folder: Path, job: Tuning, seed: int, moments: Moments) -> Sequence[Report]:
        """What moved. The last report is of the model as it is read back: what the file rounds off counts."""
        save_file(movement(moments[-1][1], _body().network.state_dict()), folder / WEIGHTS)
        *before, last = (report for report, _ in moments)
        read_back = cls(job, "", seed, (), (), folder).model(job.name)
        return [
            *before,
            _report(
                job.taught,
                read_back.network,
                checked(job.taught, read_back.tokenizer, seed),
                last.step,
                last.seconds,
            ),
        ]

    def model(self, name: str) -> Model:
        """The tuned model."""
        path = need(self.folder, WEIGHTS)
        read_header(path)
        return model(self.job, moved_by(load_file(path), _body().network.state_dict()), name)


@cache
def _body() -> Model:
    return body()


if __name__ == "__main__":
    raise SystemExit(Recorded.main())
