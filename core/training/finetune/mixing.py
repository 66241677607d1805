"""Tasks upon ELMo's layers: a small head on frozen states, of their learned mixture or of one layer alone.

ELMo_k = gamma * sum_j s_j h_kj (Peters et al. 2018, 3.2 and 3.3): the network is run once over all texts, then w, gamma and
the head learn from what it said. A word is tagged by a linear map of its first piece; a sentence is judged by one hidden layer
over each token and the largest of each of its numbers (max over time: Collobert et al. 2011, 3.3.2), linearly.

    python -m core.training.finetune.mixing [elmo-mini]      learns both tasks and records what came out
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

import core.checkpoints
from core.checkpoints import scores, store
from core.errors import InputError
from core.models.elmo import Mixture
from core.training.finetune.finetune_tasks import GOALS, NONE, Example, Goal, collate
from core.training.loop.optim import schedule
from core.training.loop.timed_loop import descend, optimiser

TASKS = ("tags", "opinions")
N_TEXTS = {"tags": 200, "opinions": 1500}
"""Labelled texts to learn from: with more of them every layer above the table tells nearly all, with a few hundred opinions none."""
SEEDS = {"tags": 5, "opinions": 2}
"""Runs of each comparison, on other texts and from other initial weights; their mean is reported."""
N_CHECKED, ROWS_AT_ONCE = 500, 128
STEPS, BATCH, INNER = 300, 32, 64
LR, MIX_LR = 3e-3, 3e-2
MIXED = "the learned mixture"
SPLIT = "labelled texts of our grammar"


@dataclass(frozen=True, eq=False)
class States:
    """States of the tokens of each labelled item, float16 (item pos layer d_model), which of them are `real` (item pos), and
    the numbers of the labels (item,). A word has one token, its first.
    """

    layers: Tensor
    real: Tensor
    labels: Tensor


@dataclass(frozen=True)
class MixtureResult:
    """Result of one head: the accuracy on held-out labels, 0 to 1, s (layer,), w (layer,) and gamma."""

    source: str
    accuracy: float
    s: tuple[float, ...]
    w: tuple[float, ...]
    gamma: float


def collect_states(model: Any, goal: Goal, examples: Sequence[Example]) -> States:
    """Return the frozen states of every labelled word, or of every sentence; the shortest sentences first."""
    network, pad = model.network, model.tokenizer.pad or 0
    order = sorted(examples, key=lambda example: len(example.ids))
    longest = 1 if goal.output == "tags" else len(order[-1].ids)
    layers, real, wanted = list[Tensor](), list[Tensor](), list[Tensor]()
    with torch.inference_mode():
        for first in range(0, len(order), ROWS_AT_ONCE):
            rows = collate(order[first : first + ROWS_AT_ONCE], pad)
            hidden, there, labels = network(rows.batch), rows.batch.real, rows.targets[:, 0]
            if goal.output == "tags":
                asked = rows.targets != NONE
                hidden, there, labels = hidden[asked][:, None], there[asked][:, None], rows.targets[asked]
            missing = longest - hidden.shape[1]
            layers.append(F.pad(hidden.half(), (0, 0, 0, 0, 0, missing)))
            real.append(F.pad(there, (0, missing)))
            wanted.append(labels)
    return States(*(torch.cat(parts).clone() for parts in (layers, real, wanted)))


class Head(nn.Module):
    """Scores of the labels (item label) from states (item pos layer d_model), `real` (item pos) of them: see the first lines of the module.

    With `only` that layer alone is read, as it is, and nothing of the mixture learns. `pooled`: over the tokens of a sentence.
    """

    def __init__(
        self, n_layers: int, d_model: int, n_labels: int, *, pooled: bool, only: int | None = None
    ) -> None:
        super().__init__()
        self.mix, self.only = Mixture(n_layers), only
        self.inner = nn.Linear(d_model, INNER) if pooled else None
        self.to_label = nn.Linear(INNER if pooled else d_model, n_labels)

    def forward(self, layers: Tensor, real: Tensor) -> Tensor:
        read = self.mix(layers.float()) if self.only is None else layers[:, :, self.only].float()
        if self.inner is None:
            return self.to_label(read[:, 0])
        each = torch.tanh(self.inner(read)).masked_fill(~real[:, :, None], -torch.inf)
        return self.to_label(each.amax(1))


def train_head(
    train: States, test: States, n_labels: int, only: int | None = None, seed: int = 0
) -> MixtureResult:
    """Train a head with Adam on the cross-entropy of the labels for STEPS steps and return its result on `test`; the items and their order are the same for every mixture."""
    n, n_pos, n_layers, d_model = train.layers.shape
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        head = Head(n_layers, d_model, n_labels, pooled=n_pos > 1, only=only)
    optim = optimiser(head, ("mix.",), lr=LR, head_lr=MIX_LR)
    rng = np.random.default_rng(seed)
    for step in range(STEPS):
        chosen = torch.from_numpy(rng.integers(n, size=min(n, BATCH)))
        scores = head(train.layers[chosen], train.real[chosen])
        loss = F.cross_entropy(scores, train.labels[chosen])
        descend(loss, [optim], schedule(step / STEPS, step, 10))
    with torch.inference_mode():
        parts = zip(test.layers.split(BATCH), test.real.split(BATCH), strict=True)
        told = torch.cat([head(*part).argmax(-1) for part in parts])
        w = head.mix.w.double()
        of = MIXED if only is None else f"layer {only} alone"
        right = float((told == test.labels).float().mean())
        return MixtureResult(of, right, _numbers(w.softmax(0)), _numbers(w), float(head.mix.gamma))


def _numbers(vector: Tensor) -> tuple[float, ...]:
    return tuple(vector.tolist())


def compare_layers(model: Any, task: str) -> tuple[MixtureResult, ...]:
    """Return the results of the mixture, then of each layer alone from the token table up, on a task of TASKS.

    Raises InputError for a model that is no ELMo, and for a task that is not among them.
    """
    if model.family != "elmo" or task not in TASKS:
        wrong = f"{model.name} does not learn a mixture for '{task}'."
        raise InputError(wrong, f"Models of the family elmo do, for {' and '.join(TASKS)}.", "Choose one.")
    goal, choices = GOALS[task], (None, *range(model.config.n_layers + 1))
    test = collect_states(model, goal, goal.examples(model.tokenizer, N_CHECKED, 0, "test"))
    found: list[list[MixtureResult]] = []
    for seed in range(SEEDS[task]):
        train = collect_states(model, goal, goal.examples(model.tokenizer, N_TEXTS[task], seed, "train"))
        found.append([train_head(train, test, len(goal.labels), only, seed) for only in choices])
    return tuple(_mean(each) for each in zip(*found, strict=True))


def _mean(results: Sequence[MixtureResult]) -> MixtureResult:
    """Return the mean of the same result with several seeds."""
    accuracy, gamma = (
        float(np.mean([getattr(each, name) for each in results])) for name in ("accuracy", "gamma")
    )
    s, w = (np.mean([getattr(each, name) for each in results], axis=0).tolist() for name in ("s", "w"))
    return MixtureResult(results[0].source, accuracy, tuple(s), tuple(w), gamma)


def make_score_tables(results: Mapping[str, Sequence[MixtureResult]]) -> dict[str, dict[str, Any]]:
    """Return the tables of scores.json: for each task the accuracies, and the learned mixture."""
    tables: dict[str, dict[str, Any]] = {}
    for task, learnt in results.items():
        tables[f"{task}_by_mixture"] = {each.source: round(each.accuracy, 5) for each in learnt}
        tables[f"{task}_mixture"] = {f"s {j}": round(s, 5) for j, s in enumerate(learnt[0].s)}
    return tables


def main(argv: list[str] | None = None) -> int:
    ask = argparse.ArgumentParser(prog="python -m core.training.finetune.mixing", description=__doc__)
    ask.add_argument("name", nargs="?", default="elmo-mini", help="a shipped model of the family elmo")
    name = ask.parse_args(argv).name
    try:
        found = {task: compare_layers(core.checkpoints.open_model(name), task) for task in TASKS}
        scores.record(store.shipped_folder() / name, SPLIT, make_score_tables(found))
        store.write_manifest(store.shipped_folder())
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    print(json.dumps(make_score_tables(found)))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
