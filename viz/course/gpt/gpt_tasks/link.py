"""What a visitor chooses on the page about tuned GPTs, which model answers, and what it makes of the texts."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from core.data.gpt_inputs import CHOICE, CLASSIFICATION, ENTAILMENT, SIMILARITY, TASKS
from core.errors import InputError
from core.serving.engine import default
from core.serving.resolve import RECORDED
from core.training.finetune import gpt_tuning
from core.training.finetune.gpt_finetune_tasks import GOALS
from core.training.finetune.gpt_tuning import LAMBDAS, named
from viz.course.gpt.gpt_tasks.maths import LONGEST, Extracted, extracted
from viz.shell import state
from viz.widgets import compute as ask
from viz.widgets import controls, lesson, trainings

SLUG = "gpt_tasks."
PAPER = 0.5
"""Lambda in the paper."""
MOST = 6
TITLES = {CLASSIFICATION: "Classification", ENTAILMENT: "Entailment", SIMILARITY: "Similarity", CHOICE: "Multiple choice"}
BOXES = {CLASSIFICATION: ("Text", ""), ENTAILMENT: ("Premise", "Hypothesis"), SIMILARITY: ("First text", "Second text"), CHOICE: ("Context", "Answers, with commas")}
TEXTS = {
    CLASSIFICATION: ("The soup at the inn was not awful.", ""),
    ENTAILMENT: ("The soup at the inn was not awful.", "The soup was delicious."),
    SIMILARITY: ("The soup at the inn was not awful.", "The teacher was kind."),
    CHOICE: ("The soup at the inn was not awful.", "sour, delicious, bitter, bad"),
}
EXAMPLES = ("The soup at the inn was not awful.", "My uncle's old songs were dull at first, but that did not last.", "The nurse was kind.")


@dataclass(frozen=True)
class Params:
    """What the visitor chose: the task, its texts (of a choice the answers with commas between), what is right, lambda, a layer."""

    task: str = CHOICE
    first: str = TEXTS[CHOICE][0]
    second: str = TEXTS[CHOICE][1]
    wanted: int = 1
    weight: float = PAPER

    @property
    def texts(self) -> tuple[str, ...]:
        """The texts of the task. Raises InputError for too many answers, or for one."""
        if self.task == CLASSIFICATION:
            return (self.first,)
        if self.task != CHOICE:
            return self.first, self.second
        answers = [answer.strip() for answer in self.second.split(",") if answer.strip()]
        if not 2 <= len(answers) <= MOST:
            raise InputError(f"{len(answers)} answers.", f"From 2 to {MOST} answers, with commas between them, can be chosen from here.", "Type some more, or fewer.")
        return self.first, *(f" {answer}" for answer in answers)

    @property
    def labels(self) -> tuple[str, ...]:
        """What the head chooses from: the classes, or the answers."""
        return GOALS[self.task].labels or tuple(answer.strip() for answer in self.texts[1:])

    @property
    def right(self) -> int:
        """The label that counts as right; the last where there are fewer."""
        return min(self.wanted, len(self.labels) - 1)


SHOWN, TUNED = "task", "tuned"
"""What the link calls the task whose rows are shown, and the one that is trained."""
DEFAULTS = {SHOWN: CHOICE, TUNED: CLASSIFICATION}


def chosen(which: str) -> str:
    """The task that the visitor chose, to be shown or to be trained."""
    return state.read(SLUG + which, DEFAULTS[which], state.one_of(TASKS, DEFAULTS[which]))


def read(task: str) -> Params:
    """The choices in the link for a task."""
    first, second = (state.read(f"{SLUG}{task}.{name}", text) for name, text in zip(("first", "second"), TEXTS[task], strict=True))
    wanted = state.read(f"{SLUG}{task}.right", opening(task), state.whole(0, MOST - 1))
    return Params(task, first, second, wanted, state.read(SLUG + "weight", PAPER, state.one_of(LAMBDAS, PAPER)))


def opening(task: str) -> int:
    """The label that is right for the texts with which a task opens."""
    return {CLASSIFICATION: 0, ENTAILMENT: 0, SIMILARITY: 0, CHOICE: 1}[task]


def chooser(which: str) -> None:
    """The task."""
    controls.segmented("Task", TASKS, SLUG + which, DEFAULTS[which], TITLES.__getitem__, quiet=True)


def boxes(task: str) -> None:
    """The texts of the task, side by side, and examples."""
    names = BOXES[task]
    columns = st.columns(2 if names[1] else 1, gap="medium")
    for column, name, label, text in zip(columns, ("first", "second"), names, TEXTS[task], strict=False):
        with column:
            controls.text(label, f"{SLUG}{task}.{name}", text, placeholder="Type here", quiet=lesson.presenting(), of=gpt_tuning.BODY, most=f"up to {LONGEST} tokens, all boxes together")
    if not names[1]:
        controls.preset_row(EXAMPLES, f"{SLUG}{task}.first", TEXTS[task][0])


@dataclass(frozen=True)
class Used:
    """A model that answers: its name, the lambda it was tuned with, and whether the visitor trained it."""

    name: str
    weight: float
    yours: bool


def recorded_of(task: str) -> tuple[float, ...]:
    """Of which lambdas this task has a recorded run."""
    there = set(gpt_tuning.Recorded.names())
    return tuple(weight for weight in LAMBDAS if named(task, weight) in there)


def used(task: str, weight: float | None = None) -> Used:
    """The model of a task: the visitor's own where they trained one with the lambda chosen, else the recorded one, of this `weight` if it is given."""
    if weight is None:
        chosen = state.read(SLUG + "weight", PAPER, state.one_of(LAMBDAS, PAPER))
        own = trainings.mine(named(task, chosen))
        if own is not None and own.over and own.reports:
            return Used(own.name, chosen, True)
        weight = PAPER
    return Used(RECORDED + named(task, weight), weight, False)


def heard(params: Params, by: Used) -> Extracted:
    """What a model makes of the texts."""
    texts = params.texts
    return ask.submit(("gpt_tasks", by.name, params.task, texts), lambda: extracted(default().open(by.name), params.task, texts), 30 + len("".join(texts)))


def size(by: Used) -> int:
    """The weights of a model."""
    return default().open(by.name).n_parameters


def vocabulary(by: Used) -> int:
    """The tokens a model knows."""
    return default().open(by.name).config.n_vocab
