"""What a task makes of ELMo's layers: a linear head upon frozen states, of their learned mixture or of one layer alone.

ELMo_k = gamma * sum_j s_j h_kj (Peters et al. 2018, 3.2 and 3.3): the network is run once over all texts, then w, gamma and
the head learn from what it said. A word is tagged by its first piece; a sentence is judged by the mean over its tokens.

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
from core.training.finetune.finetune_tasks import GOALS, NONE, Example, Goal, collated
from core.training.loop.optim import schedule

TASKS = ("tags", "opinions")
N_TEXTS, N_CHECKED, ROWS_AT_ONCE = 1200, 600, 128
STEPS, BATCH, LR = 300, 256, 1e-2
MIXED = "the learned mixture"
SPLIT = "labelled texts of our grammar"


@dataclass(frozen=True, eq=False)
class States:
    """Of each thing that gets a label its states (item layer d_model), and the label's number (item,)."""

    layers: Tensor
    wanted: Tensor


@dataclass(frozen=True)
class Learnt:
    """What came out: the share of held-out labels told rightly, s (layer,), w (layer,) and gamma."""

    of: str
    accuracy: float
    s: tuple[float, ...]
    w: tuple[float, ...]
    gamma: float


def states(model: Any, goal: Goal, examples: Sequence[Example]) -> States:
    """The frozen states of every labelled word, or of every sentence: the mean over its tokens."""
    network, pad = model.network, model.tokenizer.pad or 0
    layers, wanted = list[Tensor](), list[Tensor]()
    order = sorted(examples, key=lambda example: len(example.ids))
    with torch.inference_mode():
        for first in range(0, len(order), ROWS_AT_ONCE):
            rows = collated(order[first : first + ROWS_AT_ONCE], pad)
            hidden = network(rows.batch)
            if goal.output == "tags":
                asked = rows.wanted != NONE
                layers.append(hidden[asked])
                wanted.append(rows.wanted[asked])
            else:
                real = rows.batch.real[:, :, None, None]
                layers.append((hidden * real).sum(1) / real.sum(1))
                wanted.append(rows.wanted[:, 0])
    return States(torch.cat(layers).clone(), torch.cat(wanted).clone())


class Head(nn.Module):
    """A linear map of a mixture of layers; with `only` that layer alone, as it is, and nothing of the mixture learns."""

    def __init__(self, n_layers: int, d_model: int, n_labels: int, only: int | None = None) -> None:
        super().__init__()
        self.mix, self.only = Mixture(n_layers), only
        self.to_label = nn.Linear(d_model, n_labels)
        nn.init.normal_(self.to_label.weight, std=0.02)
        nn.init.zeros_(self.to_label.bias)

    def forward(self, layers: Tensor) -> Tensor:
        return self.to_label(self.mix(layers) if self.only is None else layers[:, self.only])


def learn(train: States, test: States, n_labels: int, only: int | None = None, seed: int = 0) -> Learnt:
    """Adam down the cross-entropy of the labels for STEPS steps, the same items in the same order whatever is mixed."""
    n, n_layers, d_model = train.layers.shape
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        head = Head(n_layers, d_model, n_labels, only)
    optim = torch.optim.Adam(head.parameters(), lr=LR)
    rng = np.random.default_rng(seed)
    for step in range(STEPS):
        chosen = torch.from_numpy(rng.integers(n, size=min(n, BATCH)))
        for group in optim.param_groups:
            group["lr"] = LR * schedule(step / STEPS, step, 10)
        optim.zero_grad(set_to_none=True)
        F.cross_entropy(head(train.layers[chosen]), train.wanted[chosen]).backward()
        optim.step()
    with torch.inference_mode():
        right = (head(test.layers).argmax(-1) == test.wanted).float().mean()
        w = head.mix.w.double()
        of = MIXED if only is None else f"layer {only} alone"
        return Learnt(of, float(right), *_numbers(w.softmax(0), w), float(head.mix.gamma))


def _numbers(*vectors: Tensor) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(vector.tolist()) for vector in vectors)


def compared(model: Any, task: str, seed: int = 0) -> tuple[Learnt, ...]:
    """The mixture, then each layer alone from the token table up, on a task of TASKS.

    Raises InputError for a model that is no ELMo, and for a task that is not among them.
    """
    if model.family != "elmo" or task not in TASKS:
        wrong = f"{model.name} does not learn a mixture for '{task}'."
        raise InputError(wrong, f"Models of the family elmo do, for {' and '.join(TASKS)}.", "Choose one.")
    goal = GOALS[task]
    train, test = (
        states(model, goal, goal.examples(model.tokenizer, n, seed, split))
        for n, split in ((N_TEXTS, "train"), (N_CHECKED, "test"))
    )
    choices = (None, *range(model.config.n_layers + 1))
    return tuple(learn(train, test, len(goal.labels), only, seed) for only in choices)


def measured(found: Mapping[str, Sequence[Learnt]]) -> dict[str, dict[str, Any]]:
    """The tables that stand in scores.json: of each task the accuracies, and the learned mixture."""
    tables: dict[str, dict[str, Any]] = {}
    for task, learnt in found.items():
        tables[f"{task}_by_mixture"] = {each.of: round(each.accuracy, 5) for each in learnt}
        tables[f"{task}_mixture"] = {f"s {j}": round(s, 5) for j, s in enumerate(learnt[0].s)}
    return tables


def main(argv: list[str] | None = None) -> int:
    ask = argparse.ArgumentParser(prog="python -m core.training.finetune.mixing", description=__doc__)
    ask.add_argument("name", nargs="?", default="elmo-mini", help="a shipped model of the family elmo")
    name = ask.parse_args(argv).name
    try:
        found = {task: compared(core.checkpoints.open_model(name), task) for task in TASKS}
        scores.record(store.shipped_folder() / name, SPLIT, measured(found))
        store.write_manifest(store.shipped_folder())
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    print(json.dumps(measured(found)))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
