"""Encoder, hidden space, decoder: a concept squeezed into a few numbers, and what comes back of it."""

from __future__ import annotations

import numpy as np

from viz.charts import thumbs
from viz.course.lesson import Lesson, Step
from viz.course.why.autoencoder import pictures, words
from viz.course.why.autoencoder.maths import squeezed
from viz.course.why.autoencoder.params import Params


def compute(params: Params) -> squeezed.Word:
    """The word in p numbers, and what every language writes from them. Errors: InputError for an unknown
    one."""
    return squeezed.word(params.word, params.p)


def thumbnail() -> str:
    """An R as it comes back from eight numbers."""
    return thumbs.cells(np.clip(squeezed.letter("R", 8).exits["plain"], 0, 1))


LESSON = Lesson(
    __file__,
    Params,
    compute,
    (
        Step(words.guess, ("p",), texts=("word",)),
        Step(words.three_boxes, ("p", "word")),
        Step(words.many_targets, ("p", "word")),
        Step(pictures.letters, ("p", "letter"), alone=True),
        Step(pictures.lost, ("p", "draw"), alone=True),
    ),
    of=("word", "p"),
    cost=30,
)
