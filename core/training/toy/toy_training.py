"""Train it here: small tasks that a tiny model learns within two minutes on one core, and one recorded run of each.

A line of a task holds a question and its answer, `d b a = a b d`; the answer counts. While a model learns, a share is
measured for each of its heads: how much of its weight goes to the place that holds what comes next. A recorded run
(assets/runs/TASK) is the log of one training and the weights of some moments:

    python -m core.training.toy.toy_training TASK
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, cached_property
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from core.checkpoints import history
from core.data.grammar import Split
from core.data.tasks import TaskLine, sample_length
from core.model import Model
from core.models import Batch, families
from core.text import Tokenizer
from core.trace import Recorder
from core.training import records
from core.training.loop.optim import enlarge_initial_weights, optimisers
from core.training.loop.synthetic_stream import Row, SyntheticStream
from core.training.loop.timed_loop import descend, run_timed
from core.training.recipe import initial_network
from core.training.records import Moments, Report
from core.training.toy.toy_tasks import END, TASKS, Task

LONGEST = 120.0
"""Seconds after which a training ends, finished or not."""
MEASURED = 64
"""Held-out lines on which the heads are measured."""
N_KEPT = 8
"""Moments of a recorded run whose weights are kept."""


def training(
    task: Task,
    seed: int = 0,
    *,
    steps: int | None = None,
    longest: float = LONGEST,
    every: float = 0.0,
    clock: Callable[[], float] = time.perf_counter,
) -> Iterator[tuple[Report, dict[str, Tensor]]]:
    """Train the task and yield a report with a copy of the weights at selected steps, the last one always.

    Reports are at rising distances of steps, and at least `every` seconds apart. It ends after `steps` (default the task's)
    or after `longest` seconds of `clock`; the rate of learning is at zero then.
    """
    task = replace(task, steps=task.steps if steps is None else steps)
    data = training_lines(task, seed)
    network = initial_network(families()["gpt"], task.config, seed, enlarge_initial_weights)
    optims = optimisers(network, lr=3e-3, matrix_lr=0.02, weight_decay=0.01)
    batches = count()

    def learn(factor: float) -> None:
        network.train()
        descend(data.loss(network, data.batch(next(batches))[0]), optims, factor)

    def tell(step: int, seconds: float) -> tuple[Report, dict[str, Tensor]]:
        return _report(task, network, data, step, seconds), {
            name: value.detach().clone() for name, value in network.state_dict().items()
        }

    yield from run_timed(
        learn,
        tell,
        steps=task.steps,
        moments=report_steps(task.steps),
        warm_up=20,
        longest=longest,
        every=every,
        clock=clock,
    )


def report_steps(last: int) -> list[int]:
    """Return the steps with a report: all up to 4, then each about an eighth further than the one before.

    >>> report_steps(20)
    [0, 1, 2, 3, 4, 6, 8, 10, 12, 14, 16, 18, 20]
    """
    steps = [0]
    while steps[-1] < last:
        steps.append(min(last, steps[-1] + max(1, 2 if steps[-1] >= 4 else 1, steps[-1] // 8)))
    return steps


def training_lines(task: Task, seed: int = 0) -> SyntheticStream:
    """Return the lines of a task as a training stream of a model from left to right; those of a step are equally long."""
    tokenizer = task.tokenizer

    def draw(rng: np.random.Generator, n: int, split: Split) -> list[Row]:
        length = sample_length(rng, task.lengths)
        return [_row(tokenizer, task.draw(rng, length, split)) for _ in range(n)]

    return SyntheticStream(draw, task.n_rows, tokenizer, seed, torch.device("cpu"))


def _row(tokenizer: Tokenizer, line: TaskLine) -> Row:
    ids = [*tokenizer.encode(line.text).ids, END]
    known = [place >= line.first for place in range(len(ids))]
    known[-1] = "=" in line.signs  # a string that comes twice may go on: its end cannot be foretold
    return ids, known


def _report(task: Task, network: Any, data: SyntheticStream, step: int, seconds: float) -> Report:
    network.eval()
    with torch.inference_mode():
        metrics = data.check(network)
        looks = measure_looks(network, task)
    rows = tuple(tuple(round(float(value), 4) for value in layer) for layer in looks)
    return Report(step, round(metrics["valid_nats"], 5), round(metrics["right"], 5), rows, round(seconds, 2))


def measure_looks(network: Any, task: Task) -> np.ndarray:
    """Return the mean weight on the position that holds the next symbol, over held-out lines and their answers (layer, head)."""
    rng, tokenizer = np.random.default_rng(1), task.tokenizer
    total, count = np.zeros((task.config.n_layers, task.config.n_heads)), 0
    for length in task.lengths:
        asked = [task.draw(rng, length, "test") for _ in range(max(4, MEASURED // len(task.lengths)))]
        longest = max(len(line.signs) for line in asked)
        ids = torch.tensor(
            [[*tokenizer.encode(line.text).ids, *[END] * (longest - len(line.signs))] for line in asked]
        )
        tap = Recorder(("layer.*.self_attn.pattern",))
        network(Batch(ids=ids, real=torch.ones_like(ids, dtype=torch.bool)), tap=tap)
        trace = tap.close()
        weights = torch.stack(
            [trace[f"layer.{i}.self_attn.pattern"] for i in range(task.config.n_layers)]
        )  # layer batch head query key
        places = [
            (row, line.first + i - 1, key)
            for row, line in enumerate(asked)
            for i, key in enumerate(line.source)
            if key is not None
        ]
        rows, queries, keys = map(list, zip(*places, strict=True))
        total += (
            weights[:, rows, :, queries, keys].double().sum(0).numpy()
        )  # the two lists of places come first: (place, layer, head)
        count += len(places)
    return total / count


def model(task: Task, weights: Mapping[str, Tensor], name: str) -> Model:
    """Return a `Model` called `name` of the task's network with these weights."""
    with torch.random.fork_rng(devices=[]):
        network = families()["gpt"].network(task.config)
    network.load_state_dict({key: value.float() for key, value in weights.items()}, strict=True)
    return Model(name, families()["gpt"], task.config, network, task.tokenizer)


class RecordedRun(records.RecordedRun[Task]):
    """Training that was recorded: all of its reports, and the weights of some of its steps."""

    module, jobs, training = "core.training.toy.toy_training", TASKS, training

    @classmethod
    def keep(cls, folder: Path, job: Task, seed: int, moments: Moments) -> Sequence[Report]:
        """Store the weights of N_KEPT moments at rising distances; return the reports."""
        chosen = np.unique(np.linspace(0, len(moments) - 1, N_KEPT).round().astype(int))
        history.write_history(folder, {moments[i][0].step: moments[i][1] for i in chosen})
        return [report for report, _ in moments]

    def check(self) -> None:
        """Raise ValueError for weights without a report, or none."""
        if not self.steps or not {*self.steps} <= {report.step for report in self.reports}:
            raise ValueError("weights without a report")

    @cached_property
    def steps(self) -> tuple[int, ...]:
        """Return the steps whose weights are stored."""
        return history.steps(self.folder)

    def open_step(self, step: int, name: str | None = None) -> Model:
        """Return the model of a stored step. Raises InputError for a step that was not stored."""
        model = history.open_step(_blank(self.job.name), self.folder, step)
        return replace(model, name=name) if name else model

    def model(self, name: str) -> Model:
        """Return the trained model."""
        return self.open_step(self.steps[-1], name)


@cache
def _blank(name: str) -> Model:
    task = TASKS[name]
    return model(task, families()["gpt"].network(task.config).state_dict(), f"recorded: {name}")


if __name__ == "__main__":
    raise SystemExit(RecordedRun.main())
