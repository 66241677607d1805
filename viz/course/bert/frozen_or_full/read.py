"""Data of the exhibit on freezing: the two tunings of a task, the change of each body, one text through all models."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from core.errors import InputError
from core.training.finetune import tuning
from core.training.finetune.finetune_tasks import GOALS
from core.training.finetune.tuning import BODY, TUNINGS, WeightChange, is_trainable, measure_change
from viz.course.bert import tuning_live
from viz.course.bert.frozen_or_full.maths import attention_change, describe_output
from viz.course.bert.frozen_or_full.params import FULL, LONGEST, NAMES, SLUG, TWO, WAYS
from viz.labels import distinct
from viz.widgets import engine_client

BEFORE = "before"


@dataclass(frozen=True, eq=False)
class Task:
    """A task and its two tunings, those with a model, by way."""

    name: str
    ways: dict[str, tuning_live.Using]

    @property
    def title(self) -> str:
        return GOALS[self.name].title

    @property
    def is_complete(self) -> bool:
        """Return whether both ways have a model."""
        return all(self.ways[way].model for way in WAYS)

    def right(self, way: str) -> float | None:
        """Return the accuracy at the end."""
        reports = self.ways[way].reports
        return reports[-1].right if reports else None

    @property
    def gap(self) -> float:
        """Return the difference in accuracy between full fine-tuning and a frozen body."""
        frozen, full = (self.right(way) or 0.0 for way in WAYS)
        return full - frozen


@dataclass(frozen=True, eq=False)
class Part:
    """A part of a tuned model: its number of weights, and the ways that train it."""

    name: str
    size: int
    taught: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Read:
    """One text through the model before tuning, frozen and fully fine-tuned.

    By way: weights (layer, head, query, key), their changes (layer, head), the outputs as text.
    """

    tokens: tuple[str, ...]
    weights: dict[str, np.ndarray]
    changes: dict[str, np.ndarray]
    outputs: dict[str, str]

    @property
    def most(self) -> tuple[int, int]:
        """Return the head that full fine-tuning changed most."""
        found = self.changes[FULL]
        layer, head = np.unravel_index(int(found.argmax()), found.shape)
        return int(layer), int(head)


def task(name: str) -> Task:
    """Return the two tunings of a task as the visitor uses them: recorded, or their own."""
    return Task(name, {way: tuning_live.using(f"{name}-{NAMES[way]}", SLUG) for way in WAYS})


def recorded_right(name: str, way: str) -> float | None:
    """Return the accuracy at the end of a recorded run; None where there is none."""
    run = f"{name}-{NAMES[way]}"
    return tuning.RecordedRun.read(run).reports[-1].right if run in tuning.RecordedRun.names() else None


def far(used: tuning_live.Using) -> WeightChange:
    """Return the change of the body by a tuning. The model has a name of its own, or is recorded and never changes."""
    name = used.model
    assert name
    return engine_client.submit(
        ("frozen.moved", name),
        lambda: measure_change(engine_client.open(name), engine_client.open(BODY), used.tuning),
        300,
    )


@cache
def parts(goal: str) -> tuple[Part, ...]:
    """Return the parts of a tuned model, from below: embeddings, layers, new head; only those that the task uses."""
    config = engine_client.open(BODY).config
    sizes = {"embeddings": 0} | {f"layer {i}": 0 for i in range(config.n_layers)}
    for name, weight in engine_client.open(BODY).network.named_parameters():
        kind, number = name.split(".")[:2]
        if kind == "embed":
            sizes["embeddings"] += weight.numel()
        elif kind == "layers":
            sizes[f"layer {number}"] += weight.numel()
    body = tuple(
        Part(name, size, tuple(way for way in WAYS if _taught(goal, way, name)))
        for name, size in sizes.items()
    )
    return *body, Part("new head", head_size(goal, config.d_model), WAYS)


def head_size(goal: str, d_model: int) -> int:
    """Return weights and biases of the new head: one linear map to a score for each label, or for start and end.

    >>> head_size("opinions", 256), head_size("answers", 256)
    (514, 514)
    """
    return (d_model + 1) * (len(GOALS[goal].labels) or 2)


def _taught(goal: str, way: str, part: str) -> bool:
    of = engine_client.open(BODY).config.n_layers
    return is_trainable(
        TUNINGS[f"{goal}-{NAMES[way]}"],
        "embed.token.weight" if part == "embeddings" else f"layers.{part.split()[1]}.x",
        of,
    )


def texts(tuned: Task, text: str, second: str) -> Read:
    """Run the visitor's text through the three models. Errors: InputError for no word, or too many tokens."""
    pair = {"pair": second} if tuned.name in TWO else {}
    models = {BEFORE: BODY} | {way: str(tuned.ways[way].model) for way in WAYS}
    keep = ("*pattern", "*allowed")
    runs = {way: engine_client.run(name, text, keep=keep, **pair) for way, name in models.items()}
    tokens = runs[BEFORE].tokens
    if len(tokens) > LONGEST:
        raise InputError(
            f"The text has {len(tokens)} tokens.",
            f"This page draws up to {LONGEST}.",
            "Shorten it, or restore the opening text (R).",
        )
    labels = GOALS[tuned.name].labels
    return Read(
        tuple(distinct(tokens)),
        {way: run.attention().weights for way, run in runs.items()},
        {way: attention_change(runs[BEFORE], runs[way]) for way in WAYS},
        {way: describe_output(runs[way], labels) for way in WAYS},
    )
