"""The whole Transformer as a map: click a box and see what goes in and out of it for your own sentence."""

from __future__ import annotations

from core.analysis.boxes import value
from core.engine import RunRequest, default
from core.errors import InputError
from viz.charts import thumbs
from viz.course.lesson import Lesson, Step
from viz.course.transformer.walk_through import maths, steps
from viz.course.transformer.walk_through.params import LONGEST, MODEL, Params
from viz.instruments.kit import origin


def compute(params: Params) -> maths.Data:
    """The sentence through the translator, with every tensor. Raises InputError for more pieces than the map
    can hold."""
    n = len(default().open(MODEL).tokenizer.encode(params.text).ids)
    if n > LONGEST:
        raise InputError(
            f"The sentence has {n} tokens.",
            f"The map holds up to {LONGEST}.",
            "Shorten it, or take an example.",
        )
    return maths.opened(default().run(RunRequest(MODEL, params.text)))


def thumbnail() -> str:
    """Where the last layer looks across in the sentence that the page opens with."""
    run = compute(Params()).run
    last = f"decoder.layer.{run.model.config.n_layers - 1}.cross_attn.pattern"
    return thumbs.cells(value(run, last).mean(0))


LESSON = Lesson(
    __file__,
    Params,
    compute,
    (
        Step(steps.minute),
        Step(steps.feed),
        Step(steps.opened),
        Step(steps.count),
        Step(steps.walk),
    ),
    of=("text",),
    cost=lambda params: 40 * len(params.text),
    controls=("text",),
    tells=lambda params, data: origin.tell_run(data.run),
)
