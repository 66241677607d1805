"""Prompts: one set of weights, the task chosen by what stands in front; zero-shot, few-shot, and what a small model cannot."""

from __future__ import annotations

import numpy as np

from core.errors import InputError
from core.serving.engine import default
from viz.charts import thumbs
from viz.course.gpt.prompting import few, promises, steps
from viz.course.gpt.prompting.maths import TASKS, written
from viz.course.gpt.prompting.params import LONGEST, STRINGS, TINY, Data, Params
from viz.course.lesson import Lesson, Step
from viz.course.shared.maths.prompts import toy_prompts


def compute(params: Params) -> Data:
    """The string behind each word. Raises InputError for other than 1 to 14 letters."""
    string = params.string.strip()
    asked = toy_prompts(string)
    if len(string) > LONGEST:
        rule = f"Question and answer must fit in what {TINY} reads: {LONGEST} letters at most."
        raise InputError(f"The string has {len(string)} letters.", rule, "Shorten it.")
    model = default().open(TINY)
    return Data(asked, tuple(written(model, toy.prompt, LONGEST + 2) for toy in asked))


def thumbnail() -> str:
    """How sure it is of each letter, word by word."""
    found = compute(Params()).answers
    most = max(len(each.p) for each in found)
    return thumbs.cells(np.array([[*each.p, *[0.0] * (most - len(each.p))] for each in found]))


LESSON = Lesson(
    __file__,
    Params,
    compute,
    (
        Step(steps.one_word, ("string",), promises=promises.ONE_WORD),
        Step(steps.how_well, ("draw",), alone=True, promises=promises.HOW_WELL),
        Step(few.described, ("asked",), alone=True, promises=promises.DESCRIBED),
        Step(few.examples, ("task",), alone=True, promises=promises.EXAMPLES),
    ),
    of=("string",),
    cost=300,
    presets=(
        *({"string": string} for string in STRINGS[1:]),
        *({"task": name} for name in tuple(TASKS)[1:]),
    ),
)
