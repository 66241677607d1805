"""A class from [CLS]: bert-mini fine-tuned to classify a sentence, or a pair, from a single vector."""

from __future__ import annotations

from core.jobs.names import RECORDED
from core.training.finetune import tuning
from viz.charts import thumbs
from viz.course.bert import tuning_live
from viz.course.bert.cls_and_pairs import pairs, promises, read, steps, training
from viz.course.bert.cls_and_pairs.params import EXAMPLES, SINGLE, SLUG, TUNED, Models, Params
from viz.course.bert.cls_and_pairs.promises import EXPECTED
from viz.course.exhibit import Exhibit, Step


def compute(params: Params) -> Models:
    """Return the models of both tunings: recorded, or the visitor's own."""
    return {goal: tuning_live.using(name, SLUG) for goal, name in TUNED.items()}


def thumbnail() -> str:
    """Draw the attention of [CLS] in each layer after tuning; where there is no recorded run, before it."""
    there = SINGLE in tuning.RecordedRun.names()
    seed = tuning.RecordedRun.read(SINGLE).seed if there else 0
    found = read.read(Params().text, RECORDED + SINGLE if there else None, seed)
    return thumbs.cells(found.after.mean(1))


def watch(params: Params, models: Models) -> None:
    """Keep a running training alive, whichever step is in view."""
    for name in TUNED.values():
        tuning_live.watch(name)


EXHIBIT = Exhibit(
    __file__,
    Params,
    compute,
    (
        Step(steps.one_vector, texts=("text",), promises=promises.ONE_VECTOR),
        Step(steps.what_it_reads, texts=("text",), promises=promises.READS),
        Step(steps.arithmetic, texts=("text",), promises=promises.ARITHMETIC),
        Step(training.gradient, texts=("text",), promises=promises.GRADIENT),
        Step(pairs.pairs, texts=("first", "second"), promises=promises.PAIRS),
        Step(training.trained, promises=promises.TRAINED),
    ),
    tells=watch,
    presets=(
        *({"text": text} for text in EXAMPLES[1:]),
        *({"first": first, "second": second} for first, second in EXPECTED),
    ),
)
