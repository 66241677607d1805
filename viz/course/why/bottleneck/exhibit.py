"""The bottleneck: an encoder reads a word letter by letter; one vector is all that the decoder gets of it."""

from __future__ import annotations

import numpy as np

from viz.charts import thumbs
from viz.course.lesson import Lesson, Step
from viz.course.why.bottleneck import steps
from viz.course.why.bottleneck.maths import copies
from viz.course.why.bottleneck.params import Params
from viz.instruments.kit import origin


def compute(params: Params) -> copies.Data:
    """Both models of the cell on the word."""
    one, looks = (f"copy-{params.cell}{attends}" for attends in ("", "-attention"))
    return copies.Data(copies.copied(one, params.letters), copies.copied(looks, params.letters))


def thumbnail() -> str:
    """Letters right by length: one vector, and looking back."""
    found = copies.tables()
    rows = [found[f"copy-gru{attends}"] for attends in ("-attention", "")]
    lengths = np.arange(1, max(map(max, rows)) + 1)
    return thumbs.curves([np.interp(lengths, sorted(row), [row[n] for n in sorted(row)]) for row in rows])


SET = ("word", "cell")
LESSON = Lesson(
    __file__,
    Params,
    compute,
    (
        Step(steps.guess, SET),
        Step(steps.read, SET),
        Step(steps.write, SET),
        Step(steps.look_back, SET),
        Step(steps.length, SET),
        Step(steps.slope, (*SET, "draw")),
    ),
    of=("letters", "cell"),
    cost=lambda params: 40 * len(params.letters),
    tells=lambda params, data: origin.tell(model=data.one.model, text=params.letters),
)
