"""Train it here: small tasks that a tiny model learns within two minutes on one core, and one recorded run of each.

A line of a task holds a question and its answer, `d b a = a b d`; the answer counts. While a model learns, a share is
measured for each of its heads: how much of its weight goes to the place that holds what comes next. A recorded run
(assets/runs/TASK) is the log of one training and the weights of some moments:

    python -m core.training.live TASK
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from core.checkpoints import history
from core.checkpoints.files import json_object
from core.checkpoints.writing import whole_folder, write_json
from core.errors import InputError
from core.home import assets
from core.model import Model
from core.models import Batch, families
from core.text import Tokenizer
from core.trace import Recorder
from core.training.drawn import Drawn, Row
from core.training.grammar import Split
from core.training.optim import full_size, optimisers, schedule
from core.training.recipe import drawn
from core.training.small import END, TASKS, Task
from core.training.tasks import Asked, drawn_length

LOG = "run.json"
LONGEST = 120.0
"""Seconds after which a training ends, finished or not."""
MEASURED = 64
"""Held-out lines on which the heads are measured."""
KEPT = 8
"""Moments of a recorded run whose weights are kept."""
RUNS = assets("runs")


@dataclass(frozen=True)
class Report:
    """What is known at a moment of a training: `loss` in nats an answered sign, `right` the share of right signs, both on
    lines that no training draws; `looks` (layer, head), how much of each head's weight goes to the place that holds what comes next.
    Of a GPT that is tuned `loss` is minus L_2 in nats a text, and `text` minus L_1 in nats a token.
    """

    step: int
    loss: float
    right: float
    looks: tuple[tuple[float, ...], ...]
    seconds: float
    text: float | None = None

    @classmethod
    def read(cls, row: Mapping[str, Any]) -> Report:
        """From JSON. Raises ValueError, TypeError or KeyError for anything else than a report."""
        looks = tuple(tuple(float(value) for value in layer) for layer in row["looks"])
        return cls(int(row["step"]), float(row["loss"]), float(row["right"]), looks, float(row["seconds"]), None if row.get("text") is None else float(row["text"]))


def training(task: Task, seed: int = 0, *, steps: int | None = None, longest: float = LONGEST, every: float = 0.0,
             clock: Callable[[], float] = time.perf_counter) -> Iterator[tuple[Report, dict[str, Tensor]]]:  # fmt: skip
    """Train it: a report and a copy of the weights at the moments that are worth looking at, the last one always.

    Moments lie at rising distances of steps, and at least `every` seconds apart. It ends after `steps` (default the task's)
    or after `longest` seconds of `clock`; the rate of learning is at zero then.
    """
    task = replace(task, steps=task.steps if steps is None else steps)
    data = lines(task, seed)
    network = drawn(families()["gpt"], task.config, seed, full_size)
    optims = optimisers(network, lr=3e-3, matrix_lr=0.02, weight_decay=0.01)
    begun, told, worth = clock(), -every, set(moments(task.steps))
    step = 0
    while True:
        seconds = clock() - begun
        progress = max(step / task.steps, seconds / longest)
        if progress >= 1 or (step in worth and seconds - told >= every):
            told = seconds
            yield _report(task, network, data, step, seconds), {name: value.detach().clone() for name, value in network.state_dict().items()}
        if progress >= 1:
            return
        _step(network, data, optims, step, schedule(progress, step, warm_up=20))
        step += 1


def moments(last: int) -> list[int]:
    """The steps that are looked at: all up to 4, then each about an eighth further than the one before.

    >>> moments(20)
    [0, 1, 2, 3, 4, 6, 8, 10, 12, 14, 16, 18, 20]
    """
    found = [0]
    while found[-1] < last:
        found.append(min(last, found[-1] + max(1, 2 if found[-1] >= 4 else 1, found[-1] // 8)))
    return found


def lines(task: Task, seed: int = 0) -> Drawn:
    """The lines of a task as the training loop of a model from left to right asks for them; those of a step are equally long."""
    tokenizer = task.tokenizer

    def draw(rng: np.random.Generator, n: int, split: Split) -> list[Row]:
        length = drawn_length(rng, task.lengths)
        return [_row(tokenizer, task.draw(rng, length, split)) for _ in range(n)]

    return Drawn(draw, task.n_rows, tokenizer, seed, torch.device("cpu"))


def _row(tokenizer: Tokenizer, asked: Asked) -> Row:
    ids = [*tokenizer.encode(asked.text).ids, END]
    known = [place >= asked.first for place in range(len(ids))]
    known[-1] = "=" in asked.signs  # a string that comes twice may go on: its end cannot be foretold
    return ids, known


def _step(network: nn.Module, data: Drawn, optims: list[torch.optim.Optimizer], step: int, factor: float) -> None:
    network.train()
    loss = data.loss(network, data.batch(step)[0])
    for optim in optims:
        optim.zero_grad(set_to_none=True)
    loss.backward()
    nn.utils.clip_grad_norm_(network.parameters(), 1.0)
    for optim in optims:
        for group in optim.param_groups:
            group["lr"] = group["base_lr"] * factor
        optim.step()


def _report(task: Task, network: Any, data: Drawn, step: int, seconds: float) -> Report:
    network.eval()
    with torch.inference_mode():
        found = data.check(network)
        looks = looks_of(network, task)
    rows = tuple(tuple(round(float(value), 4) for value in layer) for layer in looks)
    return Report(step, round(found["valid_nats"], 5), round(found["right"], 5), rows, round(seconds, 2))


def looks_of(network: Any, task: Task) -> np.ndarray:
    """(layer, head): the mean weight on the place that holds the sign that comes next, over held-out lines and their answers."""
    rng, tokenizer = np.random.default_rng(1), task.tokenizer
    total, count = np.zeros((task.config.n_layers, task.config.n_heads)), 0
    for length in task.lengths:
        asked = [task.draw(rng, length, "test") for _ in range(max(4, MEASURED // len(task.lengths)))]
        longest = max(len(line.signs) for line in asked)
        ids = torch.tensor([[*tokenizer.encode(line.text).ids, *[END] * (longest - len(line.signs))] for line in asked])
        tap = Recorder(("layer.*.self_attn.pattern",))
        network(Batch(ids=ids, real=torch.ones_like(ids, dtype=torch.bool)), tap=tap)
        trace = tap.close()
        weights = torch.stack([trace[f"layer.{i}.self_attn.pattern"] for i in range(task.config.n_layers)])  # layer batch head query key
        places = [(row, line.first + i - 1, key) for row, line in enumerate(asked) for i, key in enumerate(line.source) if key is not None]
        rows, queries, keys = map(list, zip(*places, strict=True))
        total += weights[:, rows, :, queries, keys].double().sum(0).numpy()  # the two lists of places come first: (place, layer, head)
        count += len(places)
    return total / count


def model(task: Task, weights: Mapping[str, Tensor], name: str) -> Model:
    """A model like any other, with these weights."""
    with torch.random.fork_rng(devices=[]):
        network = families()["gpt"].network(task.config)
    network.load_state_dict({key: value.float() for key, value in weights.items()}, strict=True)
    return Model(name, families()["gpt"], task.config, network, task.tokenizer)


@dataclass(frozen=True)
class Recorded:
    """A training that was recorded: all of its reports, and of some of its steps the weights."""

    task: Task
    machine: str
    reports: tuple[Report, ...]
    steps: tuple[int, ...]
    folder: Path

    def at(self, step: int, name: str | None = None) -> Model:
        """The model of a kept step. Raises InputError for another one."""
        found = history.at(_blank(self.task.name), self.folder, step)
        return replace(found, name=name) if name else found


def record(task: Task, folder: Path, seed: int = 0, *, steps: int | None = None) -> Recorded:
    """Train it and write what the page opens with: run.json, and the weights of a few moments at rising distances.

    Its seconds are those of the processor, so that nothing else on the machine counts.
    """
    found = list(training(task, seed, steps=steps, clock=time.process_time))
    chosen = np.unique(np.linspace(0, len(found) - 1, KEPT).round().astype(int))
    log = [{**vars(report), "looks": [list(row) for row in report.looks]} for report, _ in found]
    with whole_folder(folder) as new:
        write_json(new / LOG, {"command": f"python -m core.training.live {task.name} --seed {seed}", "seed": seed, "machine": "1 CPU thread", "reports": log})
        history.write_history(new, {found[i][0].step: found[i][1] for i in chosen})
    return read(task.name, folder)


def read(name: str, folder: Path | None = None) -> Recorded:
    """The recorded run of a task. Raises InputError where there is none, or its files cannot be read."""
    folder = RUNS / name if folder is None else folder
    if name not in TASKS or not (folder / LOG).is_file():
        raise InputError(f"There is no recorded run of '{name}'.", f"Tasks: {', '.join(TASKS)}.", "Choose one of them, or train it.")
    try:
        held = json_object(folder, LOG)
        reports, steps = tuple(Report.read(row) for row in held["reports"]), history.steps(folder)
        if not steps or not {*steps} <= {report.step for report in reports}:
            raise ValueError("weights without a report")
        return Recorded(TASKS[name], str(held["machine"]), reports, steps, folder)
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"The recorded run of {name} cannot be read ({type(error).__name__}).", "It is written by core.training.live.", "Write it again.") from None


def recorded() -> tuple[str, ...]:
    """The tasks that have a recorded run."""
    return tuple(name for name in TASKS if (RUNS / name / LOG).is_file())


@cache
def _blank(name: str) -> Model:
    task = TASKS[name]
    return model(task, families()["gpt"].network(task.config).state_dict(), f"recorded: {name}")


def main(argv: list[str] | None = None) -> int:
    return recording("core.training.live", TASKS, record, argv)


def recording(module: str, jobs: Mapping[str, Any], write: Callable[..., Any], argv: list[str] | None) -> int:
    """The command line that records one of `jobs` in assets/runs by `write(job, folder, seed, steps=)`, on one thread."""
    ask = argparse.ArgumentParser(prog=f"python -m {module}", description="Record a training in assets/runs.")
    ask.add_argument("name", choices=sorted(jobs))
    ask.add_argument("--steps", type=int)
    ask.add_argument("--seed", type=int, default=0)
    opts = ask.parse_args(argv)
    torch.set_num_threads(1)
    if hasattr(os, "nice"):
        os.nice(10)
    found = write(jobs[opts.name], RUNS / opts.name, opts.seed, steps=opts.steps)
    for report in found.reports:
        print(json.dumps(vars(report)))
    print(f"{opts.name}: {sum(path.stat().st_size for path in found.folder.iterdir()) / 1e6:.2f} MB")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
