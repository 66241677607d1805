"""Trainings that this visitor starts: the latest one, and its progress as a sentence and a share. Their queue is `core.jobs.trainer`."""

from __future__ import annotations

from core.jobs import trainer
from core.jobs.trainer import Training
from viz.labels import percent
from viz.languages import _, ngettext
from viz.widgets import engine_client

BEAT = 1.0
"""Seconds between two looks at a training that runs."""


def latest_training(task: str) -> Training | None:
    """Return this visitor's last training of a task, over or not; None where there is none."""
    return trainer.default().latest(engine_client.session(), task)


def running(task: str = "") -> bool:
    """Return whether a training of this visitor waits or runs: that of a task, or any."""
    now = latest_training(task) if task else trainer.default().progress(engine_client.session())
    return now is not None and not now.over


def start(task: str, seed: int | None = None) -> None:
    """Begin a training; one of this visitor that runs ends."""
    trainer.default().start(engine_client.session(), task, seed)


def stop() -> None:
    """Stop this visitor's training; its weights so far are kept."""
    trainer.default().stop(engine_client.session())


def share(training: Training, steps: int, longest: float) -> float:
    """Return how much of a training is done, 0 to 1: of its steps or of its seconds, whichever end comes first."""
    if training.state == "done":
        return 1.0
    report = training.reports[-1] if training.reports else None
    return 0.0 if report is None else min(1.0, max(report.step / steps, report.seconds / longest))


def progress_sentence(training: Training, steps: int, counted: str) -> str:
    """Return one sentence on the progress of a training; `counted` names the things that are right or wrong, in the plural.

    >>> from pathlib import Path
    >>> progress_sentence(Training("yours: copy (1)", "copy", "waiting", 2, (), Path()), 100, "signs")
    'Waiting: 2 trainings before yours. One runs at a time, so that nobody is slowed down.'
    """
    if training.state == "waiting":
        before = (
            ngettext("{n} training before yours", "{n} trainings before yours", training.place)
            if training.place
            else _("yours is next")
        )
        return _("Waiting: {before}. One runs at a time, so that nobody is slowed down.", before=before)
    if not training.reports:
        return training.reason or _("Yours: it begins.")
    report = training.reports[-1]
    so_far = _(
        "step {step:,} of {steps:,}, {seconds:.0f} seconds, {right} of the {counted} right",
        step=report.step,
        steps=steps,
        seconds=report.seconds,
        right=percent(report.right),
        counted=counted,
    )
    if training.state == "running":
        return _("Yours is learning: {so_far}.", so_far=so_far)
    return (
        _("Yours, done: {so_far}.", so_far=so_far)
        if training.state == "done"
        else _("Yours ended early: {so_far}. {reason}", so_far=so_far, reason=training.reason)
    )
