"""The claims of the exhibit on freezing, each a condition on the tunings that a page shows."""

from __future__ import annotations

import math

from core.training.finetune.finetune_tasks import GOALS
from core.training.finetune.tuning import BODY, measure_change
from viz.course.bert.frozen_or_full import read
from viz.course.bert.frozen_or_full.maths import attention_change
from viz.course.bert.frozen_or_full.params import FROZEN, FULL, TASKS, TWO, WAYS, Params
from viz.course.bert.frozen_or_full.read import Task
from viz.widgets import engine_client

NEAR, FAR = 0.05, 0.2


def gaps() -> dict[str, float]:
    """Return by how much full fine-tuning is better than a frozen body, task by task."""
    return {name: read.task(name).gap for name in TASKS}


def frozen_body_stays(params: Params, task: Task) -> bool:
    """Check that the frozen body is the same in every bit, and that each layer of the other changed."""
    went = {
        way: measure_change(
            engine_client.open(str(task.ways[way].model)), engine_client.open(BODY), task.ways[way].tuning
        )
        for way in WAYS
    }
    return went[FROZEN].body == 0 and min(went[FULL].layers) > 0


def only_full_moves_attention(params: Params, task: Task) -> bool:
    """Check that the frozen model's attention is the same as before, and that full fine-tuning changed a weight by a tenth."""
    first, second = params.texts
    pair = {"pair": second} if task.name in TWO else {}
    runs = [
        engine_client.open(name).run(first, keep=("*pattern", "*allowed"), **pair)
        for name in (BODY, *(str(task.ways[way].model) for way in WAYS))
    ]
    frozen, full = (attention_change(runs[0], run).max() for run in runs[1:])
    return bool(frozen == 0 and full > 0.1)


def text_is_cheaper(params: Params, task: Task) -> bool:
    """Check that a frozen head took at most two thirds of the seconds per text of full fine-tuning."""
    last = {way: task.ways[way].reports[-1] for way in WAYS}
    each = {way: last[way].seconds / (last[way].step * task.ways[way].rows) for way in WAYS}
    return each[FROZEN] <= each[FULL] * 2 / 3


def frozen_head_overfits(params: Params, task: Task) -> bool:
    """Check that the loss of the frozen head of opinions, on unseen texts, ends above that of chance between two labels."""
    reports = task.ways[FROZEN].reports
    return task.name != "opinions" or reports[-1].loss > max(reports[0].loss, math.log(2))


def fitted_head_converged(params: Params, task: Task) -> bool:
    """Check that the loss of the fitted head of pairs changed by less than a hundredth over the last third of its reports."""
    reports = task.ways[FROZEN].reports
    late = [report.loss for report in reports[-len(reports) // 3 :]]
    return task.name != "pairs" or max(late) - min(late) < 0.01


ENOUGH = {
    "for tags the head is nearly enough": lambda params, task: gaps()["tags"] <= NEAR,
    "for opinions, pairs and answers it is not": lambda params, task: (
        min(gap for name, gap in gaps().items() if name != "tags") >= FAR
    ),
}
PARTS = {
    "the head is one linear map, the body has over a thousand times as many weights": lambda params, task: (
        read.parts(task.name)[-1].size == (256 + 1) * (len(GOALS[task.name].labels) or 2)
        and sum(part.size for part in read.parts(task.name)[:-1]) > 1000 * read.parts(task.name)[-1].size
    ),
}
COURSE = {
    "a text costs a frozen head at most two thirds": text_is_cheaper,
    "the frozen head of opinions overfits": frozen_head_overfits,
    "the frozen head of pairs has converged": fitted_head_converged,
}
DISTANCE = {"frozen, no bit of the body moved; in full every layer did": frozen_body_stays}
ATTENTION = {"frozen, attention is the same; in full it moved": only_full_moves_attention}
