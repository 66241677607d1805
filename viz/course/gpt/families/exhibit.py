"""Encoder, decoder, both: one sentence through BERT, GPT and a translator; their masks, and which inputs move which output."""

from __future__ import annotations

from viz.charts import thumbs
from viz.course.gpt.families import promises, read, steps
from viz.course.gpt.families.params import SENTENCES, Params
from viz.course.lesson import Lesson, Step
from viz.instruments.kit import origin


def compute(params: Params) -> read.Data:
    """The sentence through the three models. Errors: InputError for no word, or too many pieces."""
    return read.read(params.text)


def thumbnail() -> str:
    """GPT's mask with its weights."""
    gpt = compute(Params()).gpt
    return thumbs.cells(gpt.weights, gpt.allowed)


LESSON = Lesson(
    __file__,
    Params,
    compute,
    (
        Step(steps.masks, ("text",), promises=promises.MASKS),
        Step(steps.ripple, promises=promises.RIPPLE),
        Step(steps.who_moves_whom, promises=promises.WHO),
        Step(steps.chains, ("draw",), promises=promises.CHAINS),
        Step(steps.table, promises=promises.TABLE),
    ),
    of=("text",),
    cost=lambda params: 20 * max(1, len(params.text)),
    controls=("text",),
    tells=lambda params, data: origin.tell(text=params.text),
    presets=tuple({"text": text} for text in SENTENCES[1:]),
)
