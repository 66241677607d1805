"""ELMo: two chains that predict each word from either side, their loss, and a mixture of their layers for each task."""

from __future__ import annotations

import numpy as np

from core.serving.engine import default
from viz.charts import thumbs
from viz.course.bert.elmo import mixture, promises, reading
from viz.course.bert.elmo.chains import Chains, chains
from viz.course.bert.elmo.params import MODEL, SENTENCES, Params
from viz.course.exhibit import Exhibit, Step
from viz.instruments.kit import origin


def compute(params: Params) -> Chains:
    """Return both chains over the sentence."""
    return chains(default().open(MODEL), params.text)


def thumbnail() -> str:
    """Draw the probability of each word of the opening sentence under each chain."""
    found = compute(Params())
    return thumbs.curves([np.exp(found.forward), np.exp(found.backward)])


EXHIBIT = Exhibit(
    __file__,
    Params,
    compute,
    (
        Step(reading.each_word, ("text",), promises=promises.EACH_WORD),
        Step(reading.loss, ("text",), promises=promises.LOSS),
        Step(reading.turned, ("reads", "text"), promises=promises.TURNED),
        Step(reading.joint, ("first", "second", "third", "table"), promises=promises.JOINT),
        Step(
            mixture.mix,
            ("place", "only"),
            change=("w0", "w1", "w2", "gamma"),
            texts=("text",),
            promises=promises.MIX,
        ),
        Step(mixture.learned, ("task",), without_data=True, promises=promises.LEARNED),
        Step(mixture.bank, ("which",), without_data=True, promises=promises.BANK),
    ),
    compute_fields=("text",),
    cost=lambda params: 60 * len(params.text),
    tells=lambda params, data: origin.tell(model=MODEL, text=params.text),
    presets=tuple({"text": text} for text in SENTENCES[1:]),
)
