"""Frozen or full: a new head on top of bert-mini, four tasks, and the body either stays frozen or learns with it."""

from __future__ import annotations

from viz.charts import thumbs
from viz.course.bert import tuning_live
from viz.course.bert.frozen_or_full import body_change, promises, read, steps
from viz.course.bert.frozen_or_full.params import NAMES, TASKS, WAYS, Params
from viz.course.exhibit import Exhibit, Step


def compute(params: Params) -> read.Task:
    """Return the two tunings of the task."""
    return read.task(params.task)


def thumbnail() -> str:
    """Draw the accuracy at the end of the recorded runs, task by task, those of full fine-tuning in ink."""
    rights = [(name, read.recorded_right(name, way)) for name in TASKS for way in WAYS]
    found = [(name, right) for name, right in rights if right is not None]
    return (
        thumbs.bars([right for _, right in found], [name for name, _ in found])
        if found
        else thumbs.plain("W")
    )


def watch(params: Params, task: read.Task) -> None:
    """Keep a running training alive, whichever step is in view."""
    for way in WAYS:
        tuning_live.watch(f"{task.name}-{NAMES[way]}")


EXHIBIT = Exhibit(
    __file__,
    Params,
    compute,
    (
        Step(steps.enough, ("task",), promises=promises.ENOUGH),
        Step(steps.what_learns, ("task",), promises=promises.PARTS),
        Step(steps.course, promises=promises.COURSE),
        Step(body_change.how_far, ("task",), promises=promises.DISTANCE),
        Step(body_change.attention, texts=("task", "text", "second"), promises=promises.ATTENTION),
    ),
    presets=tuple({"task": name} for name in TASKS[1:]),
    tells=watch,
)
