"""Everything that a visitor may train here, by name: small tasks from nothing (`toy`), and fine-tunings of a BERT (`tuning`) or a GPT (`gpt_tuning`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from torch import Tensor

from core.model import Model
from core.training.finetune import gpt_tuning, tuning
from core.training.finetune.gpt_tuning import GPTTuning
from core.training.finetune.tuning import TUNINGS, Tuning
from core.training.records import Report
from core.training.toy import toy_training
from core.training.toy.toy_tasks import TASKS, Task

Job = Task | Tuning | GPTTuning
JOBS: Mapping[str, Job] = MappingProxyType({**TASKS, **TUNINGS, **gpt_tuning.TUNINGS})


def training(
    job: Job, seed: int, *, steps: int | None, longest: float | None, every: float
) -> Iterator[tuple[Report, dict[str, Tensor]]]:
    """Yield the reports of a job, each with the weights of that moment; `longest` and `every` in seconds, by default LONGEST of its kind."""
    kind = _kind(job)
    return kind.training(
        job, seed, steps=steps, longest=kind.LONGEST if longest is None else longest, every=every
    )


def _kind(job: Job) -> Any:
    return gpt_tuning if isinstance(job, GPTTuning) else tuning if isinstance(job, Tuning) else toy_training


def model(job: Job, weights: Mapping[str, Tensor], name: str) -> Model:
    """Return the model with the weights of a job."""
    return _kind(job).model(job, weights, name)


def weights_file(job: Job, step: int) -> str:
    """Return the file name of the weights of a moment: of a small task each has its own file, of a tuning, which is large, only the last is stored."""
    return f"{step}.safetensors" if isinstance(job, Task) else "last.safetensors"


def model_family(name: str) -> str:
    """Return the family of the model that a job trains."""
    return "bert" if name in TUNINGS else "gpt"


def recorded_model(name: str, step: int | None, called: str) -> Model:
    """Return the model of a recorded run: its last weights, or of a small task those of a stored step.

    Raises InputError where there is no such run.
    """
    run = _run(name)
    return run.open_step(step) if name in TASKS and step is not None else run.model(called)


def recorded_steps(name: str) -> tuple[int, ...]:
    """Return the steps of a recorded run that can be opened. Raises InputError where there is no such run."""
    run = _run(name)
    return run.steps if name in TASKS else (run.reports[-1].step,)


def _run(name: str) -> Any:
    return (
        tuning if name in TUNINGS else gpt_tuning if name in gpt_tuning.TUNINGS else toy_training
    ).RecordedRun.read(name)
