"""Recorded trainings: what one reported, in assets/runs/NAME, with what it learned, so that a page opens with it.

A kind of training is a module with its jobs by name, `training(job, seed, ...)` and a `Recorded`; `python -m MODULE NAME` records one.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Generic, Self, TypeVar

import torch
from torch import Tensor

from core.checkpoints.files import json_object
from core.checkpoints.writing import whole_folder, write_json
from core.data.home import assets
from core.errors import InputError
from core.model import Model

LOG = "run.json"
RUNS = assets("runs")
Job = TypeVar("Job")


@dataclass(frozen=True)
class Report:
    """Measures at a moment of a training: `loss` in nats an answered symbol, `right` the share of right symbols, both on
    lines that no training samples; `looks` (layer, head), how much of each head's weight goes to the position that holds what comes next.
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
        """Return the report in a row of JSON. Raises ValueError, TypeError or KeyError where it is none."""
        looks = tuple(tuple(float(value) for value in layer) for layer in row["looks"])
        return cls(
            int(row["step"]),
            float(row["loss"]),
            float(row["right"]),
            looks,
            float(row["seconds"]),
            None if row.get("text") is None else float(row["text"]),
        )


Moments = Sequence[tuple[Report, Mapping[str, Tensor]]]


@dataclass(frozen=True)
class RecordedRun(ABC, Generic[Job]):
    """Training that was made before: its reports, those of other random seeds, and in `folder` what it learned."""

    job: Job
    machine: str
    seed: int
    reports: tuple[Report, ...]
    other_runs: tuple[tuple[Report, ...], ...]
    folder: Path

    module: ClassVar[str]
    jobs: ClassVar[Mapping[str, Any]]
    training: ClassVar[Callable[..., Iterator[tuple[Report, dict[str, Tensor]]]]]

    @classmethod
    @abstractmethod
    def keep(cls, folder: Path, job: Job, seed: int, moments: Moments) -> Sequence[Report]:
        """Write the trained weights into `folder` and return the reports, measured on the weights as they can be read back."""

    @abstractmethod
    def model(self, name: str) -> Model:
        """Return the trained model."""

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """Return the jobs of this kind that have a recorded run."""
        return tuple(name for name in cls.jobs if (RUNS / name / LOG).is_file())

    @classmethod
    def read(cls, name: str, folder: Path | None = None) -> Self:
        """Return the recorded run of a job. Raises InputError where there is none, or its files cannot be read."""
        folder = RUNS / name if folder is None else folder
        if name not in cls.jobs or not (folder / LOG).is_file():
            raise InputError(
                "There is no recorded run of '{name}'.",
                "Recorded: {names}." if cls.names() else "Recorded: none.",
                "Choose one of them, or train it.",
                name=name,
                names=", ".join(cls.names()),
            )
        try:
            values = json_object(folder, LOG)
            reports, *again = (
                tuple(Report.read(row) for row in rows)
                for rows in (values["reports"], *values.get("again", ()))
            )
            recorded = cls(
                cls.jobs[name], str(values["machine"]), int(values["seed"]), reports, tuple(again), folder
            )
            recorded.check()
            return recorded
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(
                "The recorded run of {name} cannot be read ({kind}).",
                "It is written by {module}.",
                "Write it again.",
                name=name,
                kind=type(error).__name__,
                module=cls.module,
            ) from None

    def check(self) -> None:
        """Raise ValueError where reports and files do not belong together."""

    @classmethod
    def record(
        cls, job: Any, folder: Path, seed: int = 0, *, steps: int | None = None, n_other_runs: int = 0
    ) -> Self:
        """Train the job and write the files that a page opens with, with the reports of `again` other seeds; times are in seconds of the processor."""
        first, *others = (
            list(cls.training(job, seed + more, steps=steps, longest=float("inf"), clock=time.process_time))
            for more in range(1 + n_other_runs)
        )
        with whole_folder(folder) as new:
            reports = cls.keep(new, job, seed, first)
            log = {
                "command": f"python -m {cls.module} {job.name} --seed {seed}",
                "seed": seed,
                "machine": "1 CPU thread",
                "reports": [*map(vars, reports)],
            }
            write_json(
                new / LOG,
                log
                | ({"again": [[vars(report) for report, _ in other] for other in others]} if others else {}),
            )
        return cls.read(job.name, folder)

    @classmethod
    def main(cls, argv: list[str] | None = None) -> int:
        """Run the command that records one of the jobs, on one thread; return its exit status."""
        ask = argparse.ArgumentParser(
            prog=f"python -m {cls.module}", description="Record a training in assets/runs."
        )
        ask.add_argument("name", choices=sorted(cls.jobs))
        ask.add_argument("--steps", type=int)
        ask.add_argument("--seed", type=int, default=0)
        opts = ask.parse_args(argv)
        torch.set_num_threads(1)
        if hasattr(os, "nice"):
            os.nice(10)
        recorded = cls.record(cls.jobs[opts.name], RUNS / opts.name, opts.seed, steps=opts.steps)
        for report in recorded.reports:
            print(json.dumps(vars(report)))
        print(f"{opts.name}: {sum(path.stat().st_size for path in recorded.folder.iterdir()) / 1e6:.2f} MB")
        return 0
