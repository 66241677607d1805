"""A tuned GPT: every task as rows of tokens between three marks, one vector read at the end, and a loss of two terms."""

from __future__ import annotations

import streamlit as st

from core.data.gpt_inputs import CLASSIFICATION
from viz.charts import thumbs
from viz.course.gpt.gpt_tasks import link, live, loss, rows
from viz.course.gpt.gpt_tasks.link import SLUG, Params
from viz.course.gpt.gpt_tasks.maths import Extracted
from viz.course.shared.shown import folds
from viz.shell import errors
from viz.shell.pages import Chapter, Cite, Exhibit
from viz.widgets import lesson, parts

EXHIBIT = Exhibit(
    title="GPT, tuned", chapter=Chapter.GPT, order=20, minutes=12,
    claim="Any task becomes rows of tokens between three marks. A small head reads one vector, at the end.",
    cites=(
        Cite("beigy2024", "GPT, fine-tuning", "L_2, L = lambda L_1 + L_2", step=4),
        Cite("beigy2024", "GPT, input transformations", "Start, Delim, Extract", step=2),
        Cite("lifei2022", "GPT", "fine-tuning", step=5),
        Cite("radford2018", "3.2", "P(y | x), L_2, L_3", step=4),
        Cite("radford2018", "3.3", "Figure 1", step=2),
    ),
)  # fmt: skip
STEPS = (
    lesson.Step("One position", "The text is given to GPT between two marks. A new, small head reads one of its vectors."),
    lesson.Step("Four tasks", "One text, a pair, two to compare, a question with answers: each becomes rows of the same kind."),
    lesson.Step("What it says", "The same network, tuned to the task. Where does Extract look, and what does the head make of it?"),
    lesson.Step("Two terms", "The label counts, and the text itself as well, with the weight λ."),
    lesson.Step("Train it", "Tuned with and without the text's term, recorded before. Train one yourself, with a λ of your own."),
)
SHOWN = (*rows.SHOWN, loss.losses, live.train)
TRAINING = len(STEPS) - 1
START = Params()


def compute(params: Params = START) -> Extracted:
    """What the recorded model of the task makes of the texts. Raises InputError for texts that it does not take."""
    return link.heard(params, link.used(params.task, link.PAPER))


def thumbnail() -> str:
    """The probabilities of the four answers with which it opens."""
    found = compute()
    return thumbs.bars(found.said.probabilities, START.labels, marked=int(found.said.probabilities.argmax()))


def page() -> None:
    """Claim, steps, one picture and its sentence, the texts; everything else folded."""
    parts.title(EXHIBIT)
    at = lesson.steps(STEPS, SLUG)
    task = (CLASSIFICATION, link.chosen(link.SHOWN), link.chosen(link.TUNED))[(at + 1) // 2]
    show = st.container()
    if at != TRAINING:
        link.boxes(task)
    with errors.guard():
        params = link.read(task)
        with show:
            told = SHOWN[at](params)
        if at != TRAINING:
            live.watch()
        folds(EXHIBIT, SLUG.rstrip("."), STEPS[at].name, told, lambda: None, lambda: lesson.errata("E57"))
