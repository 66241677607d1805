"""The tuned GPT that answers on the page, and its output for a text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from core.jobs.names import RECORDED
from core.training.finetune import gpt_tuning
from core.training.finetune.gpt_tuning import LAMBDAS, tuning_name
from viz.course.gpt.gpt_tasks.maths import Extracted, extracted
from viz.course.gpt.gpt_tasks.params import PAPER, Example
from viz.widgets import engine_client, training_jobs


@dataclass(frozen=True)
class Used:
    """A model that answers: its name, the lambda it was tuned with, and whether the visitor trained it."""

    name: str
    weight: float
    yours: bool


Models = Mapping[str, Used]
"""The models that answer, by their task."""


def recorded_of(task: str) -> tuple[float, ...]:
    """Return the lambdas for which this task has a recorded run."""
    there = set(gpt_tuning.RecordedRun.names())
    return tuple(weight for weight in LAMBDAS if tuning_name(task, weight) in there)


def recorded(task: str, weight: float = PAPER) -> Used:
    """Return the recorded model of a task."""
    return Used(RECORDED + tuning_name(task, weight), weight, False)


def used(task: str, weight: float) -> Used:
    """Return the model of a task: the visitor's own if one was trained with this lambda, else the recorded one."""
    own = training_jobs.latest_training(tuning_name(task, weight))
    if own is not None and own.over and own.reports:
        return Used(own.name, weight, True)
    return recorded(task)


def read_example(example: Example, by: Used) -> Extracted:
    """Run a model on the texts of an example."""
    task, texts = example.task, example.texts
    key, cost = ("gpt_tasks", by.name, task, texts), 30 + len("".join(texts))
    return engine_client.submit(key, lambda: extracted(engine_client.open(by.name), task, texts), cost)
