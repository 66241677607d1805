"""Fine-tuning of bert-mini while a visitor waits: a new head, and with it as many of the upper layers as are chosen.

Frozen, only the head learns, from what the body says anyway; in full, the body moves, too (Devlin et al. 2019, 5.3). A recorded
run (assets/runs/NAME) is the log of one tuning, which may learn longer than a visitor waits, and how far it moved each weight:

    python -m core.training.finetune.tuning NAME
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

import core.checkpoints
from core.checkpoints.files import need
from core.checkpoints.safety.load_plan import uninitialised_network
from core.checkpoints.safety.safetensors_header import read_header
from core.errors import InputError
from core.model import Model
from core.text import Tokenizer
from core.training import records
from core.training.finetune import fitted_head
from core.training.finetune.finetune_tasks import GOALS, Example, Goal, Rows, collate
from core.training.finetune.weight_delta import apply_delta, encode_delta
from core.training.loop.timed_loop import descend, evenly_spaced, optimiser, run_timed
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
    """Fine-tuning: its goal (a key of GOALS), and how many of the upper layers learn with the head (ALL: the embeddings, too).

    `steps` are those that a visitor waits for; the recorded run may take more, `longer`, from three times as many texts. With
    `converges` a recorded head on a frozen body is fitted to all texts at once, until it changes no more or after `longer` steps.
    """

    name: str
    goal: str
    learns: int
    steps: int
    recorded_steps: int = 0
    n_texts: int = 4000
    n_rows: int = 32
    lr: float = 4e-4
    head_lr: float = 3e-3
    converges: bool = False

    @property
    def goal_spec(self) -> Goal:
        return GOALS[self.goal]

    @property
    def frozen(self) -> bool:
        """Return whether no weight of the base learns."""
        return self.learns == 0

    @property
    def as_recorded(self) -> Tuning:
        """Return the tuning as the recorded run did it: with more steps and texts where it has `recorded_steps`.

        >>> [TUNINGS[name].as_recorded.steps for name in ("tags-full", "pairs-full")]
        [60, 400]
        """
        if not self.recorded_steps:
            return self
        texts = 3 * self.n_texts
        n_rows = texts if self.converges else self.n_rows
        return replace(self, steps=self.recorded_steps, recorded_steps=0, n_texts=texts, n_rows=n_rows)

    @property
    def fits_head(self) -> bool:
        """Return whether each step reads all texts: the recorded form of a tuning that `converges`."""
        return self.converges and self.n_rows == self.n_texts

    @property
    def title(self) -> str:
        return f"{self.goal_spec.title}, {'frozen' if self.frozen else 'in full' if self.learns == ALL else f'upper {self.learns} layers'}"


TUNINGS: Mapping[str, Tuning] = MappingProxyType(
    {
        tuning.name: tuning
        for tuning in (
            Tuning(name="opinions-full", goal="opinions", learns=ALL, steps=220),
            Tuning(name="opinions-frozen", goal="opinions", learns=0, steps=300),
            Tuning(name="pairs-full", goal="pairs", learns=ALL, steps=180, recorded_steps=400),
            Tuning(
                name="pairs-frozen", goal="pairs", learns=0, steps=200, recorded_steps=1000, converges=True
            ),
            Tuning(name="answers-full", goal="answers", learns=ALL, steps=100, recorded_steps=250, n_rows=24),
            Tuning(name="answers-frozen", goal="answers", learns=0, steps=150, n_rows=24),
            Tuning(name="tags-full", goal="tags", learns=ALL, steps=60),
            Tuning(name="tags-frozen", goal="tags", learns=0, steps=200),
        )
    }
)


def load_base(name: str = BODY) -> Model:
    """Return a new copy of the trained model that is tuned."""
    return core.checkpoints.open_model(name)


def add_head(tuning: Tuning, base: Model, seed: int = 0) -> nn.Module:
    """Return the network of `base` with the head that is missing: small normal weights and zero biases; the weights that learn require gradients."""
    network, rng = empty_network(tuning, base), torch.Generator().manual_seed(seed)
    head = {
        name: torch.randn(weight.shape, generator=rng) * 0.02
        if weight.ndim > 1
        else torch.zeros(weight.shape)
        for name, weight in network.named_parameters()
        if name.startswith(HEADS)
    }
    return load_weights(network, base, head)


def empty_network(tuning: Tuning, base: Model) -> nn.Module:
    """Return the network of `base` with a head, without numbers; the weights that learn require gradients."""
    network = uninitialised_network(base.spec, replace(base.config, **tuning.goal_spec.head))
    for name, weight in network.named_parameters():
        weight.requires_grad_(is_trainable(tuning, name, base.config.n_layers))
    return network


def load_weights(network: nn.Module, base: Model, weights: Mapping[str, Tensor]) -> nn.Module:
    """Return the network with these weights, which it takes over, and copies of those of `base` for the others."""
    before = base.network.state_dict()
    numbers = {
        name: weights[name] if name in weights else before[name].clone() for name in network.state_dict()
    }
    network.load_state_dict(numbers, assign=True)
    return network


def is_trainable(tuning: Tuning, name: str, n_layers: int) -> bool:
    """Return whether a weight learns.

    >>> upper = Tuning(name="", goal="tags", learns=2, steps=1)
    >>> [is_trainable(upper, name, 6) for name in ("to_tags.bias", "layers.4.norm1.bias", "layers.3.norm1.bias", "embed.norm.bias")]
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
    base: Model | None = None,
    steps: int | None = None,
    longest: float = LONGEST,
    every: float = 0.0,
    clock: Callable[[], float] = time.perf_counter,
) -> Iterator[tuple[Report, dict[str, Tensor]]]:
    """Tune it: a report, and a copy of all that learns, at MOMENTS even distances, the last one always.

    Moments lie at least `every` seconds apart. It ends after `steps` (default the tuning's)
    or after `longest` seconds of `clock`; the rate of learning is at zero then.
    """
    base = load_base() if base is None else base
    if tuning.fits_head:
        yield from _fit_head(tuning, seed, base, tuning.steps if steps is None else steps, clock)
        return
    last, goal, pad = tuning.steps if steps is None else steps, tuning.goal_spec, base.tokenizer.pad or 0
    texts = goal.examples(base.tokenizer, tuning.n_texts, seed, "train")
    held_out = held_out_batches(goal, base.tokenizer, seed)
    network, rng = add_head(tuning, base, seed), np.random.default_rng(seed)
    optim = optimiser(network, HEADS, lr=tuning.lr, head_lr=tuning.head_lr)

    def learn(factor: float) -> None:
        rows = collate([texts[place] for place in rng.choice(len(texts), tuning.n_rows, replace=False)], pad)
        network.train()
        descend(goal.loss(goal.scores(network, rows.batch), rows.targets), [optim], factor)

    def tell(step: int, seconds: float) -> tuple[Report, dict[str, Tensor]]:
        moved = {
            name: weight.detach().clone()
            for name, weight in network.named_parameters()
            if weight.requires_grad
        }
        return _report(goal, network, held_out, step, seconds), moved

    yield from run_timed(
        learn,
        tell,
        steps=last,
        moments=evenly_spaced(last, MOMENTS),
        longest=longest,
        every=every,
        clock=clock,
    )


def _fit_head(
    tuning: Tuning, seed: int, base: Model, max_steps: int, clock: Callable[[], float]
) -> Iterator[tuple[Report, dict[str, Tensor]]]:
    """Fit the head to the vectors of [CLS] that the frozen body computes once: MOMENTS reports at even distances, the last one always."""
    begun, goal, network = clock(), tuning.goal_spec, add_head(tuning, base, seed)
    texts, held_out = (
        goal.examples(base.tokenizer, tuning.n_texts, seed, "train"),
        held_out_batches(goal, base.tokenizer, seed),
    )
    head = {name: weight for name, weight in network.named_parameters() if name.startswith(HEADS)}
    yield (
        _report(goal, network, held_out, 0, 0.0),
        {name: weight.detach().clone() for name, weight in head.items()},
    )
    vectors, wanted = _vectors(network, texts, base.tokenizer.pad or 0)
    decay = fitted_head.choose_decay(vectors, wanted, len(goal.labels), seed, max_steps=max_steps)
    path = fitted_head.fit(
        vectors, wanted, len(goal.labels), decay, max_steps=max_steps, clock=lambda: clock() - begun
    )
    for place in sorted({*evenly_spaced(len(path) - 1, MOMENTS)} - {0}):
        now = path[place]
        found = {"to_classes.weight": now.weight, "to_classes.bias": now.bias}
        network.load_state_dict(found, strict=False)
        yield _report(goal, network, held_out, now.step, now.seconds), found


def _vectors(network: Any, texts: Sequence[Example], pad: int) -> tuple[Tensor, Tensor]:
    """Return the vector of [CLS] of each text (text d_model), and its label (text,)."""
    network.eval()
    rows = [collate(texts[place : place + 64], pad) for place in range(0, len(texts), 64)]
    with torch.no_grad():
        vectors = torch.cat([network(row.batch)[:, 0] for row in rows])
    return vectors, torch.cat([row.targets[:, 0] for row in rows])


def held_out_batches(goal: Goal, tokenizer: Tokenizer, seed: int) -> list[Rows]:
    """Return CHECKED texts that no tuning reads, in batches."""
    texts = goal.examples(tokenizer, CHECKED, seed, "test")
    return [collate(texts[place : place + 32], tokenizer.pad or 0) for place in range(0, CHECKED, 32)]


def _report(goal: Goal, network: nn.Module, held_out: list[Rows], step: int, seconds: float) -> Report:
    network.eval()
    losses, right = [], list[np.ndarray]()
    with torch.inference_mode():
        for rows in held_out:
            scores = goal.scores(network, rows.batch)
            losses.append(float(goal.loss(scores, rows.targets)))
            right.append(goal.mark_correct(scores, rows.targets))
    return Report(
        step,
        round(float(np.mean(losses)), 5),
        round(float(np.concatenate(right).mean()), 5),
        (),
        round(seconds, 2),
    )


def model(tuning: Tuning, weights: Mapping[str, Tensor], name: str, base: Model | None = None) -> Model:
    """Return the base with its head, and these weights, which it takes over, in place of its own.

    Raises InputError for weights that are not those of this tuning.
    """
    base = load_base() if base is None else base
    network = empty_network(tuning, base)
    wanted = {name: weight for name, weight in network.named_parameters() if weight.requires_grad}
    if {name: weight.shape for name, weight in wanted.items()} != {
        name: weight.shape for name, weight in weights.items()
    }:
        raise InputError(
            f"The weights are not those of {tuning.name}.",
            "They are all that the tuning moves.",
            "Tune it again.",
        )
    load_weights(network, base, {name: weight.float() for name, weight in weights.items()})
    return Model(name, base.spec, network.cfg, network, base.tokenizer)


@dataclass(frozen=True)
class WeightChange:
    """Distance that a tuning moved weights: how many learn, how many there are, and |W - W_0| / |W_0| over the body, its embeddings, each of its layers."""

    learning: int
    total: int
    body: float
    embeddings: float
    layers: tuple[float, ...]


def measure_change(tuned: Model, before: Model, tuning: Tuning) -> WeightChange:
    """Return how far the body of a tuned model is from the one it began with."""
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
        if is_trainable(tuning, name, before.config.n_layers)
    )
    return WeightChange(
        learning,
        tuned.n_parameters,
        far(inside),
        far([name for name in inside if name.startswith("embed.")]),
        layers,
    )


class RecordedRun(records.RecordedRun[Tuning]):
    """Tuning that was made before: its reports, and the weights that it moved. It may have learned longer than a visitor waits (`Tuning.as_recorded`)."""

    module, jobs = "core.training.finetune.tuning", TUNINGS

    @staticmethod
    def training(job: Tuning, *args: Any, **options: Any) -> Iterator[tuple[Report, dict[str, Tensor]]]:
        return training(job.as_recorded, *args, **options)

    @classmethod
    def keep(cls, folder: Path, job: Tuning, seed: int, moments: Moments) -> Sequence[Report]:
        """Store the change of the weights and return the reports; the last report is measured on the weights as read back, rounding included."""
        save_file(encode_delta(moments[-1][1], load_base().network.state_dict()), folder / WEIGHTS)
        *before, last = (report for report, _ in moments)
        read_back = cls(job, "", seed, (), (), folder).model(job.name)
        return [
            *before,
            _report(
                job.goal_spec,
                read_back.network,
                held_out_batches(job.goal_spec, read_back.tokenizer, seed),
                last.step,
                last.seconds,
            ),
        ]

    def model(self, name: str) -> Model:
        """Return the tuned model."""
        path, base = need(self.folder, WEIGHTS), load_base()
        read_header(path)
        weights = apply_delta(load_file(path), base.network.state_dict(), overwrite=True)
        return model(self.job, weights, name, base)


if __name__ == "__main__":
    raise SystemExit(RecordedRun.main())
