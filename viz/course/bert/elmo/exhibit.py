"""ELMo: two chains that foretell each word from either side, their loss, and a mixture of their layers for each task."""

from __future__ import annotations

import numpy as np

from core.serving.engine import default
from viz.charts import thumbs
from viz.course.bert.elmo import mixture, reading
from viz.course.bert.elmo.maths.chains import Chains, chains
from viz.course.bert.elmo.params import MODEL, Params
from viz.course.lesson import Lesson, Step
from viz.instruments.kit import origin


def compute(params: Params) -> Chains:
    """Both chains over the sentence."""
    return chains(default().open(MODEL), params.text)


def thumbnail() -> str:
    """How probable each chain held the words of the opening sentence."""
    found = compute(Params())
    return thumbs.curves([np.exp(found.forward), np.exp(found.backward)])


LESSON = Lesson(
    __file__,
    Params,
    compute,
    (
        Step(reading.each_word, ("text",)),
        Step(reading.loss, ("text",)),
        Step(reading.turned, ("reads", "text")),
        Step(reading.joint, ("first", "second", "third", "table")),
        Step(mixture.mix, ("place", "w0", "w1", "w2", "gamma", "only"), texts=("text",)),
        Step(mixture.learned, ("task",), alone=True),
        Step(mixture.bank, ("which",), alone=True),
    ),
    of=("text",),
    cost=lambda params: 60 * len(params.text),
    tells=lambda params, data: origin.tell(model=MODEL, text=params.text),
)
