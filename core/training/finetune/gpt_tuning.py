"""Fine-tuning of a GPT while one waits: three new tokens, a head, and a loss of two terms (Radford et al. 2018, 3.2 and 3.3).

    L = lambda L_1 + L_2, L_2 = log P(y | x), L_1 = the log-probability of the text itself

Trained is minus L, and L_1 is the mean over the tokens of the texts, as in the published code. The table of tokens stays as it is, but for
the rows of Start, Delim and Extract, which begin as small random numbers; positions stay; the layers and the head learn. A recorded run:

    python -m core.training.finetune.gpt_tuning NAME
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
import torch.nn.functional as F
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

import core.checkpoints
from core.checkpoints.files import need
from core.checkpoints.safety.load_plan import unfilled
from core.checkpoints.safety.safetensors_header import read_header
from core.data.gpt_inputs import CHOICE, CLASSIFICATION, ENTAILMENT, MARKS, SIMILARITY
from core.errors import InputError
from core.model import Model
from core.training import records
from core.training.finetune.gpt_finetune_tasks import GOALS, GPTGoal, Rows, collated, marked, read, terms
from core.training.loop.timed_loop import course, descend, evenly, optimiser
from core.training.records import Moments, Report

BODY = "gpt-twin"
LAMBDAS = (0.0, 0.1, 0.25, 0.5, 1.0, 2.0)
FIRST = 0.5
"""Lambda of the recorded tunings with which others begin."""
SMALL = 0.02
"""The standard deviation of the weights that are new."""
NEW = "marks"
WEIGHTS = "moved.safetensors"
LONGEST = 58.0
"""Seconds after which a tuning ends, finished or not."""
MOMENTS = 15
CHECKED = 160
"""Texts that no tuning reads, on which it is measured at each moment."""


@dataclass(frozen=True, kw_only=True)
class GPTTuning:
    """A fine-tuning: the task (a key of GOALS), and lambda, how much the text itself counts."""

    name: str
    task: str
    weight: float
    steps: int
    n_rows: int
    n_texts: int = 4000
    lr: float = 3e-3
    head_lr: float = 3e-3

    @property
    def goal(self) -> GPTGoal:
        return GOALS[self.task]

    @property
    def title(self) -> str:
        return f"{self.task.capitalize()}, λ = {self.weight:g}"


STEPS = {CLASSIFICATION: (300, 32), ENTAILMENT: (200, 24), SIMILARITY: (160, 20), CHOICE: (160, 12)}
"""Steps, and texts in each."""
BEGINS = {CLASSIFICATION: "", CHOICE: CLASSIFICATION, ENTAILMENT: CHOICE, SIMILARITY: ENTAILMENT}
"""The task with whose recorded tuning a tuning begins; "": with BODY. Straight from BODY, a choice was at 31% after 300 steps; from the
tuning to opinions it is at 92% after 160."""


def named(task: str, weight: float) -> str:
    """The name of a tuning.

    >>> named("choice", 0.5), named("classification", 0.0)
    ('gpt-choice-0.5', 'gpt-classification-0')
    """
    return f"gpt-{task}-{weight:g}"


TUNINGS: Mapping[str, GPTTuning] = MappingProxyType(
    {
        named(task, weight): GPTTuning(
            name=named(task, weight), task=task, weight=weight, steps=steps, n_rows=n_rows
        )
        for task, (steps, n_rows) in STEPS.items()
        for weight in LAMBDAS
    }
)


def body(name: str = BODY) -> Model:
    """The trained model that is tuned, loaded anew: nobody else's."""
    return core.checkpoints.open_model(name)


def start(tuning: GPTTuning) -> Model:
    """Where a tuning begins: with BODY, or with that body tuned to another task."""
    before = BEGINS[tuning.task]
    return Recorded.read(named(before, FIRST)).model(BODY) if before else body()


@cache
def _body() -> Model:
    return body()


def marks(of: Model) -> tuple[int, int, int]:
    """The ids of Start, Delim and Extract in a model that was tuned."""
    last = of.config.n_vocab
    return last - 3, last - 2, last - 1


def headed(tuning: GPTTuning, of: Model, seed: int = 0) -> Model:
    """The body with three more rows and a head, all drawn small; what learns of it asks for gradients.

    A body that was tuned before keeps its rows.
    """
    again = of.config.n_classes > 0
    n = of.config.n_vocab - again * len(MARKS)
    config = replace(of.config, n_vocab=n + len(MARKS), n_classes=tuning.goal.n_outputs)
    network: Any = unfilled(of.spec, config)
    rng, table = torch.Generator().manual_seed(seed), "embed.token.weight"
    held = {
        name: weight.clone()
        for name, weight in of.network.state_dict().items()
        if not name.startswith("to_classes.")
    }
    new = torch.randn(len(MARKS), config.d_model, generator=rng) * SMALL
    held[table] = held[table] if again else torch.cat((held[table], new))
    classes = network.to_classes.weight.shape
    held["to_classes.weight"] = torch.randn(classes, generator=rng) * SMALL
    held["to_classes.bias"] = torch.zeros(classes[:1])
    network.load_state_dict(held, assign=True)
    model = Model(of.name, of.spec, config, network, of.tokenizer if again else marked(of.tokenizer))
    if len(model.tokenizer) != config.n_vocab:
        raise InputError(
            f"{of.name} has {n:,} rows and {len(of.tokenizer):,} tokens.",
            "New tokens come right after the old ones.",
            "Tune another model.",
        )
    for name, weight in network.named_parameters():
        weight.requires_grad_(learns(name))
    network.get_parameter(table).register_hook(
        lambda gradient: F.pad(gradient[n:], (0, 0, n, 0))
    )  # the old rows stay
    return model


def learns(name: str) -> bool:
    """Whether a weight learns; of the table of tokens the new rows only.

    >>> [learns(name) for name in ("to_classes.bias", "layers.0.norm1.bias", "embed.token.weight", "embed.position.weight")]
    [True, True, True, False]
    """
    return name == "embed.token.weight" or name.startswith(("layers.", "final_norm.", "to_classes."))


def training(
    tuning: GPTTuning,
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
    of = start(tuning) if of is None else of
    last = tuning.steps if steps is None else steps
    model = headed(tuning, of, seed)
    network, ids = model.network, marks(model)
    texts = _examples(tuning, model, tuning.n_texts, seed, "train")
    found = _examples(tuning, model, CHECKED, seed, "test")
    checked = [collated(found[place : place + 32], ids) for place in range(0, CHECKED, 32)]
    rng, optim = (
        np.random.default_rng(seed),
        optimiser(network, ("to_classes.",), lr=tuning.lr, head_lr=tuning.head_lr),
    )

    def learn(factor: float) -> None:
        rows = collated([texts[place] for place in rng.choice(len(texts), tuning.n_rows, replace=False)], ids)
        network.train()
        both = terms(network, tuning.task, rows, text=tuning.weight > 0)
        descend(
            both.l_2.mean() if both.l_1 is None else tuning.weight * both.l_1 + both.l_2.mean(),
            [optim],
            factor,
        )

    yield from course(
        learn,
        lambda step, seconds: (_report(network, tuning.task, checked, step, seconds), moved(network)),
        steps=last,
        moments=evenly(last, MOMENTS),
        longest=longest,
        every=every,
        clock=clock,
    )


def _examples(
    tuning: GPTTuning, model: Model, n: int, seed: int, split: Any
) -> list[tuple[tuple[tuple[int, ...], ...], int]]:
    return [
        (read(model.tokenizer, tuning.task, one.texts, marks(model)), one.wanted)
        for one in tuning.goal.draw(n, seed, split)
    ]


def _report(network: nn.Module, task: str, checked: list[Rows], step: int, seconds: float) -> Report:
    network.eval()
    with torch.inference_mode():
        found = [terms(network, task, rows, text=True) for rows in checked]
    l_2, l_1 = (
        torch.cat([each.l_2 for each in found]).mean(),
        torch.stack([each.l_1 for each in found if each.l_1 is not None]).mean(),
    )
    right = (
        torch.cat([each.scores.argmax(-1) == rows.wanted for each, rows in zip(found, checked, strict=True)])
        .float()
        .mean()
    )
    return Report(
        step, round(float(l_2), 5), round(float(right), 5), (), round(seconds, 2), round(float(l_1), 5)
    )


def moved(network: Any) -> dict[str, Tensor]:
    """A copy of all that learns; of the table of tokens its new rows, as NEW."""
    found = {name: weight.detach().clone() for name, weight in network.named_parameters() if learns(name)}
    found[NEW] = found.pop("embed.token.weight")[-len(MARKS) :].clone()
    return found


def model(tuning: GPTTuning, weights: Mapping[str, Tensor], name: str, of: Model | None = None) -> Model:
    """A model like any other: the body with three more tokens and its head, and these weights in place of its own.

    Raises InputError for weights that are not those of this tuning.
    """
    made = headed(tuning, _body() if of is None else of)
    wanted = {key: weight.shape for key, weight in moved(made.network).items()}
    if wanted != {key: weight.shape for key, weight in weights.items()}:
        raise InputError(
            f"The weights are not those of {tuning.name}.",
            "They are all that the tuning moves.",
            "Tune it again.",
        )
    table = made.network.get_parameter("embed.token.weight").detach()
    held = {key: weight.float() for key, weight in weights.items() if key != NEW}
    made.network.load_state_dict(
        {**held, "embed.token.weight": torch.cat((table[: -len(MARKS)], weights[NEW].float()))}, strict=False
    )
    return Model(name, made.spec, made.config, made.network, made.tokenizer)


class Recorded(records.Recorded[GPTTuning]):
    """A tuning that was made before: its reports, those of other random seeds, and what it moved."""

    module, jobs, training = "core.training.finetune.gpt_tuning", TUNINGS, training

    @classmethod
    def keep(cls, folder: Path, job: GPTTuning, seed: int, moments: Moments) -> Sequence[Report]:
        """All that learns, in half precision."""
        save_file({name: weight.half() for name, weight in moments[-1][1].items()}, folder / WEIGHTS)
        return [report for report, _ in moments]

    def model(self, name: str) -> Model:
        """The tuned model."""
        path = need(self.folder, WEIGHTS)
        read_header(path)
        return model(self.job, load_file(path), name)


if __name__ == "__main__":
    raise SystemExit(Recorded.main())
