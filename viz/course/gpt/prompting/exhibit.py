"""Prompts: one set of weights, the task chosen by what stands in front; zero-shot, few-shot, and what a small model cannot."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import streamlit as st

from core.errors import InputError
from core.serving.engine import default
from viz.charts import thumbs
from viz.course.gpt.prompting import few, steps
from viz.course.gpt.prompting.maths import Written, written
from viz.course.gpt.prompting.steps import LONGEST, SLUG, STRINGS, TINY
from viz.course.shared.maths.prompts import Toy, toy_prompts
from viz.course.shared.shown import folds
from viz.shell import errors, state
from viz.shell.pages import Chapter, Cite, Exhibit
from viz.widgets import compute as ask
from viz.widgets import controls, lesson, parts

EXHIBIT = Exhibit(
    title="Prompting", chapter=Chapter.GPT, order=30, minutes=10,
    claim="One set of weights does several tasks. Which one, the text in front says.",
    cites=(
        Cite("beigy2024", "GPT-2", "(translate to french, english text, french text)", step=3),
        Cite("beigy2021", "GPT-2", "one token at a time; the first input <$>", step=1),
        Cite("ghojogh2023", "GPT", "GPT-3, few-shot", step=4),
        Cite("ghojogh2020", "5", "GPT-2, GPT-3", step=4),
        Cite("lifei2022", "GPT", "zero-shot", step=3),
        Cite("radford2019", "2", "p(output | input, task)", step=1),
    ),
)  # fmt: skip
STEPS = (
    lesson.Step("One word", "The same letters after three different words. No weight is changed in between."),
    lesson.Step("How well", "Many strings that it never saw, short and long. It learned from strings of up to ten letters."),
    lesson.Step("Task as text", "The task is put as text, and nothing is trained for it. A model that goes on with text may do it, or not."),
    lesson.Step("Some examples", "Few-shot: solved examples in front of the question. Nothing is trained. Do they help this small model?"),
)


@dataclass(frozen=True)
class Params:
    """What the visitor chose: the string."""

    string: str = STRINGS[0]


@dataclass(frozen=True, eq=False)
class Data:
    """The string under each prompt word, and what the model wrote."""

    asked: tuple[Toy, ...]
    answers: tuple[Written, ...]


def compute(params: Params = Params()) -> Data:
    """The string behind each word. Raises InputError for other than 1 to 14 letters."""
    asked = toy_prompts(params.string)
    if len(params.string) > LONGEST:
        raise InputError(f"The string has {len(params.string)} letters.", f"Question and answer must fit in what {TINY} reads: {LONGEST} letters at most.", "Shorten it.")
    model = default().open(TINY)
    return Data(asked, tuple(written(model, toy.prompt, LONGEST + 2) for toy in asked))


def thumbnail() -> str:
    """How sure it is of each letter, word by word."""
    found = compute().answers
    most = max(len(each.p) for each in found)
    return thumbs.cells(np.array([[*each.p, *[0.0] * (most - len(each.p))] for each in found]))


SHOWN = (steps.one_word, steps.how_well, few.described, few.examples)


def page() -> None:
    """Claim, steps, one picture and its sentence, the control of the step; everything else folded."""
    parts.title(EXHIBIT)
    at = lesson.steps(STEPS, SLUG)
    params = Params(state.read(SLUG + "string", Params.string).strip())
    show = st.container()
    if at == 0:
        controls.text("Letters", SLUG + "string", Params.string, placeholder="Type letters, a to z")
        controls.preset_row(STRINGS, SLUG + "string", Params.string)
    with errors.guard():
        with show:
            told = SHOWN[at](ask.submit(("prompting", params), lambda: compute(params), 300) if at == 0 else None)
        folds(EXHIBIT, SLUG.rstrip("."), STEPS[at].name, told, lambda: None, lambda: lesson.errata("E57", "E52"))
