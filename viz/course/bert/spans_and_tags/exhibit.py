"""Answers and tags: bert-mini fine-tuned to score every token as the start or end of an answer, and to tag it."""

from __future__ import annotations

import numpy as np

from core.jobs.names import RECORDED
from core.training.finetune import tuning
from viz.charts import thumbs
from viz.course.bert import tuning_live
from viz.course.bert.spans_and_tags import answers, looks, maths, pairs, promises, tags
from viz.course.bert.spans_and_tags.params import GOALS, LONGEST, SENTENCES, SLUG, Models, Params
from viz.course.exhibit import Exhibit, Step
from viz.widgets import engine_client


def compute(params: Params) -> Models:
    """Return the models of both tunings: recorded, or the visitor's own."""
    return {goal: tuning_live.using(f"{goal}-{params.body}", SLUG) for goal in GOALS}


def thumbnail() -> str:
    """Draw start and end of the answer in the opening text; a question mark where there is no recorded run."""
    name, params = "answers-full", Params()
    if name not in tuning.RecordedRun.names():
        return thumbs.plain("?")
    model = engine_client.open(RECORDED + name)
    found = maths.answer(model, params.question, params.passage, LONGEST).span_scores
    return thumbs.bars(np.maximum(found.start, found.end))


def watch(params: Params, models: Models) -> None:
    """Keep a running training alive, whichever step is in view."""
    for goal in models:
        tuning_live.watch(f"{goal}-{params.body}")


QUESTION_TEXTS = ("question", "passage")
EXHIBIT = Exhibit(
    __file__,
    Params,
    compute,
    (
        Step(answers.marking, texts=QUESTION_TEXTS, promises=promises.MARKING),
        Step(pairs.pairs, texts=QUESTION_TEXTS, promises=promises.PAIRS),
        Step(tags.tagging, texts=("text",), promises=promises.TAGGING),
        Step(looks.looked, texts=QUESTION_TEXTS, promises=promises.LOOKED),
        Step(looks.trained, promises=promises.TRAINED),
    ),
    presets=tuple({"text": text} for text in SENTENCES[1:]),
    tells=watch,
)
