"""A tuned GPT: every task as rows of tokens between three marks, one vector read, a loss of two terms."""

from __future__ import annotations

from core.data.gpt_inputs import CHOICE, CLASSIFICATION, TASKS
from viz.charts import thumbs
from viz.course.exhibit import Exhibit, Step
from viz.course.gpt.gpt_tasks import live, loss, maths, promises, read, rows
from viz.course.gpt.gpt_tasks.params import EXAMPLES, Params, boxes
from viz.widgets import engine_client, exhibit_parts


def compute(params: Params) -> read.Models:
    """Return the models that answer, by task: recorded, or the visitor's own."""
    return {task: read.used(task, params.weight) for task in TASKS}


def thumbnail() -> str:
    """Draw the probabilities of the opening example's four answers."""
    example = Params().example(CHOICE)
    model = engine_client.open(read.recorded(CHOICE).name)
    said = maths.extracted(model, CHOICE, example.texts).output.probabilities
    return thumbs.bars(said, example.labels, marked=int(said.argmax()))


def _weighed(params: Params) -> tuple[str, ...]:
    right = () if exhibit_parts.presenting() else (f"{params.tuned}_right",)
    return "weight", *right, *boxes(params.tuned)


EXHIBIT = Exhibit(
    __file__,
    Params,
    compute,
    (
        Step(rows.place, boxes(CLASSIFICATION), promises=promises.PLACE),
        Step(rows.tasks, lambda params: ("task", *boxes(params.task)), promises=promises.ROWS),
        Step(rows.says, lambda params: ("task", "layer", *boxes(params.task)), promises=promises.SAYS),
        Step(loss.losses, _weighed, promises=promises.LOSSES),
        Step(live.train, promises=promises.TRAIN),
    ),
    tells=lambda params, models: live.watch(),
    presets=(
        *({"classification_first": text} for text in EXAMPLES[1:]),
        *({"task": task, "tuned": task} for task in TASKS),
    ),
)
