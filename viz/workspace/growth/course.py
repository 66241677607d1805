"""Courses of trainings, wherever they come from: a shipped model with kept moments, a recorded run, the visitor's own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from core.analysis.heads.habits import HABIT_NAMES
from core.checkpoints import history
from core.checkpoints.manifest import shipped_folder
from core.data.texts import texts
from core.jobs import names, trainer
from core.run import Attention
from core.training import growth
from core.training.records import Report
from core.training.toy import toy_training
from viz.labels import head_name
from viz.languages import _, mark
from viz.widgets import engine_client
from viz.workspace.shared.tasks import CONTINUE
from viz.workspace.shared.toy_models import kind_of

KEEP = ("*.pattern",)
NEXT = "next"
"""The habit of models of small tasks: to look at the position that holds what comes next."""
SENTENCE_NAMES = {NEXT: mark("what comes next")}


@dataclass(frozen=True, eq=False)
class Course:
    """A training: `steps` have weights, `loss` and `scores` (moment, layer, head) were measured at `measured` steps, too.

    `habit` is what the scores are about, one of `habits`; `text` the line on which the heads are drawn.
    """

    name: str
    steps: tuple[int, ...]
    measured: tuple[int, ...]
    loss: tuple[float, ...]
    scores: np.ndarray
    habit: str
    text: str
    right: tuple[float, ...] = ()
    habits: tuple[str, ...] = ()

    @property
    def heads(self) -> dict[str, tuple[int, int]]:
        """Return every head by its name."""
        layers, heads = self.scores.shape[1:]
        return {head_name(layer, head): (layer, head) for layer in range(layers) for head in range(heads)}

    @property
    def best(self) -> str:
        """Return the head that has the habit most at the end."""
        return max(self.heads, key=lambda name: self.scores[-1][self.heads[name]])

    @property
    def says(self) -> str:
        return _(SENTENCE_NAMES.get(self.habit) or HABIT_NAMES[self.habit])

    def curve(self, head: str) -> np.ndarray:
        return self.scores[(slice(None), *self.heads[head])]

    def index_of(self, step: int) -> int:
        """Return the index of a step among the measured ones."""
        return self.measured.index(step)

    def model(self, step: int) -> str:
        """Return the name under which the weights of this step open on every page."""
        return f"{self.name}{history.STEP_MARK}{step}"


def shipped(name: str, habit: str = "") -> Course:
    """Return the course of a shipped model, as it was measured once and ships with it; without a habit the clearest one."""
    found = engine_client.submit(("growth", name), lambda: growth.read(shipped_folder() / name), cost=1.0)
    assert found is not None
    habits = (found.telling(), *(other for other in found.scores if other != found.telling()))
    habit = habit if habit in habits else habits[0]
    kind = kind_of(name)
    text = next(row.text for row in texts("presets") if row.kind == kind) if kind else CONTINUE.text
    return Course(name, found.steps, found.steps, found.nats, found.scores[habit], habit, text, habits=habits)


def recorded(task: str) -> Course:
    """Return the recorded run of a small task."""
    run = engine_client.submit(
        ("growth.recorded", task), lambda: toy_training.RecordedRun.read(task), cost=1.0
    )
    return _reported(f"{names.RECORDED}{task}", task, run.reports, run.steps)


def own_course(training: trainer.Training) -> Course | None:
    """Return the visitor's training so far; None before its first report."""
    if not training.reports:
        return None
    return _reported(
        training.name, training.task, training.reports, tuple(report.step for report in training.reports)
    )


def _reported(name: str, task: str, reports: tuple[Report, ...], steps: tuple[int, ...]) -> Course:
    scores = np.array([report.looks for report in reports])
    loss, right = tuple(report.loss for report in reports), tuple(report.right for report in reports)
    return Course(
        name,
        steps,
        tuple(report.step for report in reports),
        loss,
        scores,
        NEXT,
        toy_training.TASKS[task].example,
        right,
    )


def patterns(course: Course, step: int) -> Attention:
    """Return the patterns of all heads on the text at a step; the patterns only, so that no model stays in memory."""
    name, text = course.model(step), course.text

    def look() -> Attention:
        return engine_client.open(name).run(text, keep=KEEP).attention("causal", by="word")

    return engine_client.submit(("growth.patterns", name, text), look, cost=60.0 + len(text) * 4)


def table(course: Course) -> Mapping[str, object]:
    """Return all measures, a row for each moment."""
    curves = {f"{name}, {course.says}": course.curve(name) for name in course.heads}
    share = {_("token accuracy"): course.right} if course.right else {}
    return {_("step"): course.measured, _("loss, nats per token"): course.loss, **share, **curves}
