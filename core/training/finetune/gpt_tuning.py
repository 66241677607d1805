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
from core.checkpoints.safety.load_plan import uninitialised_network
from core.checkpoints.safety.safetensors_header import read_header
from core.data.gpt_inputs import CHOICE, CLASSIFICATION, ENTAILMENT, SIMILARITY, SPECIAL_TOKENS
from core.errors import InputError
from core.model import Model
from core.training import records
from core.training.finetune.gpt_finetune_tasks import (
    GOALS,
    GPTGoal,
    Rows,
    add_special_tokens,
    collate,
    encode_rows,
    terms,
)
from core.training.loop.timed_loop import descend, evenly_spaced, optimiser, run_timed
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
    """Fine-tuning: the task (a key of GOALS), and lambda, the weight of the text's own loss."""

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


def tuning_name(task: str, weight: float) -> str:
    """Return the name of a tuning.

    >>> tuning_name("choice", 0.5), tuning_name("classification", 0.0)
    ('gpt-choice-0.5', 'gpt-classification-0')
    """
    return f"gpt-{task}-{weight:g}"


TUNINGS: Mapping[str, GPTTuning] = MappingProxyType(
    {
        tuning_name(task, weight): GPTTuning(
            name=tuning_name(task, weight), task=task, weight=weight, steps=steps, n_rows=n_rows
        )
        for task, (steps, n_rows) in STEPS.items()
        for weight in LAMBDAS
    }
)


def load_base(name: str = BODY) -> Model:
    """Return a new copy of the trained model that is tuned."""
    return core.checkpoints.open_model(name)


def load_start(tuning: GPTTuning) -> Model:
    """Return the model that a tuning begins with: BODY, or that body tuned to another task."""
    before = BEGINS[tuning.task]
    return RecordedRun.read(tuning_name(before, FIRST)).model(BODY) if before else load_base()


@cache
def _base() -> Model:
    return load_base()


def mark_ids(model: Model) -> tuple[int, int, int]:
    """Return the ids of Start, Delim and Extract in a model that was tuned."""
    last = model.config.n_vocab
    return last - 3, last - 2, last - 1


def add_head(tuning: GPTTuning, base: Model, seed: int = 0) -> Model:
    """Return the base with three more rows and a head of small random weights; the weights that learn require gradients.

    A body that was tuned before keeps its rows.
    """
    again = base.config.n_classes > 0
    n = base.config.n_vocab - again * len(SPECIAL_TOKENS)
    config = replace(base.config, n_vocab=n + len(SPECIAL_TOKENS), n_classes=tuning.goal.n_outputs)
    network: Any = uninitialised_network(base.spec, config)
    rng, table = torch.Generator().manual_seed(seed), "embed.token.weight"
    state = {
        name: weight.clone()
        for name, weight in base.network.state_dict().items()
        if not name.startswith("to_classes.")
    }
    new = torch.randn(len(SPECIAL_TOKENS), config.d_model, generator=rng) * SMALL
    state[table] = state[table] if again else torch.cat((state[table], new))
    classes = network.to_classes.weight.shape
    state["to_classes.weight"] = torch.randn(classes, generator=rng) * SMALL
    state["to_classes.bias"] = torch.zeros(classes[:1])
    network.load_state_dict(state, assign=True)
    model = Model(
        base.name, base.spec, config, network, base.tokenizer if again else add_special_tokens(base.tokenizer)
    )
    if len(model.tokenizer) != config.n_vocab:
        raise InputError(
            f"{base.name} has {n:,} rows and {len(base.tokenizer):,} tokens.",
            "New tokens come right after the old ones.",
            "Tune another model.",
        )
    for name, weight in network.named_parameters():
        weight.requires_grad_(is_trainable(name))
    network.get_parameter(table).register_hook(
        lambda gradient: F.pad(gradient[n:], (0, 0, n, 0))
    )  # the old rows stay
    return model


def is_trainable(name: str) -> bool:
    """Return whether a weight learns; of the table of tokens the new rows only.

    >>> [is_trainable(name) for name in ("to_classes.bias", "layers.0.norm1.bias", "embed.token.weight", "embed.position.weight")]
    [True, True, True, False]
    """
    return name == "embed.token.weight" or name.startswith(("layers.", "final_norm.", "to_classes."))


def training(
    tuning: GPTTuning,
    seed: int = 0,
    *,
    base: Model | None = None,
    steps: int | None = None,
    longest: float = LONGEST,
    every: float = 0.0,
    clock: Callable[[], float] = time.perf_counter,
) -> Iterator[tuple[Report, dict[str, Tensor]]]:
    """Fine-tune the model and yield a report with a copy of the trained weights at MOMENTS even distances, at the last step always.

    Moments lie at least `every` seconds apart. It ends after `steps` (default the tuning's)
    or after `longest` seconds of `clock`; the rate of learning is at zero then.
    """
    base = load_start(tuning) if base is None else base
    last = tuning.steps if steps is None else steps
    model = add_head(tuning, base, seed)
    network, ids = model.network, mark_ids(model)
    texts = _examples(tuning, model, tuning.n_texts, seed, "train")
    examples = _examples(tuning, model, CHECKED, seed, "test")
    checked = [collate(examples[place : place + 32], ids) for place in range(0, CHECKED, 32)]
    rng, optim = (
        np.random.default_rng(seed),
        optimiser(network, ("to_classes.",), lr=tuning.lr, head_lr=tuning.head_lr),
    )

    def learn(factor: float) -> None:
        rows = collate([texts[place] for place in rng.choice(len(texts), tuning.n_rows, replace=False)], ids)
        network.train()
        both = terms(network, tuning.task, rows, text=tuning.weight > 0)
        descend(
            both.l_2.mean() if both.l_1 is None else tuning.weight * both.l_1 + both.l_2.mean(),
            [optim],
            factor,
        )

    yield from run_timed(
        learn,
        lambda step, seconds: (_report(network, tuning.task, checked, step, seconds), tuned_weights(network)),
        steps=last,
        moments=evenly_spaced(last, MOMENTS),
        longest=longest,
        every=every,
        clock=clock,
    )


def _examples(
    tuning: GPTTuning, model: Model, n: int, seed: int, split: Any
) -> list[tuple[tuple[tuple[int, ...], ...], int]]:
    return [
        (encode_rows(model.tokenizer, tuning.task, one.texts, mark_ids(model)), one.target)
        for one in tuning.goal.draw(n, seed, split)
    ]


def _report(network: nn.Module, task: str, checked: list[Rows], step: int, seconds: float) -> Report:
    network.eval()
    with torch.inference_mode():
        terms_by_batch = [terms(network, task, rows, text=True) for rows in checked]
    l_2, l_1 = (
        torch.cat([each.l_2 for each in terms_by_batch]).mean(),
        torch.stack([each.l_1 for each in terms_by_batch if each.l_1 is not None]).mean(),
    )
    right = (
        torch.cat(
            [
                each.scores.argmax(-1) == rows.targets
                for each, rows in zip(terms_by_batch, checked, strict=True)
            ]
        )
        .float()
        .mean()
    )
    return Report(
        step, round(float(l_2), 5), round(float(right), 5), (), round(seconds, 2), round(float(l_1), 5)
    )


def tuned_weights(network: Any) -> dict[str, Tensor]:
    """Return a copy of all weights that learn; of the table of tokens its new rows, as NEW."""
    weights = {
        name: weight.detach().clone() for name, weight in network.named_parameters() if is_trainable(name)
    }
    weights[NEW] = weights.pop("embed.token.weight")[-len(SPECIAL_TOKENS) :].clone()
    return weights


def model(tuning: GPTTuning, weights: Mapping[str, Tensor], name: str, base: Model | None = None) -> Model:
    """Return the base with three more tokens, its head, and these weights in place of its own.

    Raises InputError for weights that are not those of this tuning.
    """
    made = add_head(tuning, _base() if base is None else base)
    wanted = {key: weight.shape for key, weight in tuned_weights(made.network).items()}
    if wanted != {key: weight.shape for key, weight in weights.items()}:
        raise InputError(
            f"The weights are not those of {tuning.name}.",
            "They are all that the tuning moves.",
            "Tune it again.",
        )
    table = made.network.get_parameter("embed.token.weight").detach()
    loaded = {key: weight.float() for key, weight in weights.items() if key != NEW}
    made.network.load_state_dict(
        {**loaded, "embed.token.weight": torch.cat((table[: -len(SPECIAL_TOKENS)], weights[NEW].float()))},
        strict=False,
    )
    return Model(name, made.spec, made.config, made.network, made.tokenizer)


class RecordedRun(records.RecordedRun[GPTTuning]):
    """Tuning that was made before: its reports, those of other random seeds, and the weights that it moved."""

    module, jobs, training = "core.training.finetune.gpt_tuning", TUNINGS, training

    @classmethod
    def keep(cls, folder: Path, job: GPTTuning, seed: int, moments: Moments) -> Sequence[Report]:
        """Store all weights that learn, in half precision; return the reports."""
        save_file({name: weight.half() for name, weight in moments[-1][1].items()}, folder / WEIGHTS)
        return [report for report, _ in moments]

    def model(self, name: str) -> Model:
        """Return the tuned model."""
        path = need(self.folder, WEIGHTS)
        read_header(path)
        return model(self.job, load_file(path), name)


if __name__ == "__main__":
    raise SystemExit(RecordedRun.main())
