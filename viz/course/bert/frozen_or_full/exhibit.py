"""Frozen or full: a new head upon bert-mini, four tasks, and the body either stays or learns with it."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from viz.charts import thumbs
from viz.course.bert import tuning_live as live
from viz.course.bert.frozen_or_full import read as reading
from viz.course.bert.frozen_or_full import steps
from viz.course.bert.frozen_or_full.charts import FROZEN, WAYS
from viz.course.shared.shown import folds
from viz.shell import errors, state
from viz.shell.pages import Chapter, Cite, Exhibit
from viz.widgets import controls, lesson, parts

EXHIBIT = Exhibit(
    title="Frozen or full fine-tuning", chapter=Chapter.BERT, order=60, minutes=10,
    claim="A new head upon a trained model: train only the head, or the whole model.",
    cites=(
        Cite("ghojogh2023", "BERT", "transfer learning: freeze, or also fine-tune", step=1),
        Cite("ghojogh2020", "section 4", "transfer learning: freeze, or also fine-tune", step=1),
        Cite("beigy2024", "GPT, fine-tuning", "a linear layer upon the trained transformer", step=2),
        Cite("lifei2022", "Generative Pre-Training (GPT)", "a final output layer, trained on labelled data", step=2),
        Cite("devlin2019", "section 5.3", "fine-tuning and the feature-based approach", step=3),
        Cite("howard2018", "section 3.3", "gradual unfreezing", step=4),
    ),
)  # fmt: skip
SLUG = reading.SLUG
STEPS = (
    lesson.Step("Is it enough?", "bert-mini was trained to fill blanks. With a new head it gets a new task. May its body stay frozen?"),
    lesson.Step("What learns", "Frozen: train only the head. Full fine-tuning: train every weight."),
    lesson.Step("Training curves", "What was right on the way, and what it cost. Then train both yourself."),
    lesson.Step("How far", "How far is each part of the body from what it was?"),
    lesson.Step("Attention", "One head, one text: before, frozen, fully fine-tuned."),
)
SHOW = (steps.enough, steps.what_learns, steps.course, steps.how_far, steps.attention)
LAYERS, HEADS = 6, 8


@dataclass(frozen=True)
class Params:
    """What the visitor chose: the task, the axis, which way is trained, the texts, the head (-1: the one that changed most)."""

    task: str = reading.TASKS[0]
    over: str = "steps"
    train: str = FROZEN
    text: str = reading.EXAMPLES[reading.TASKS[0]][0]
    second: str = ""
    layer: int = -1
    head: int = -1


def compute(params: Params = Params()) -> reading.Task:
    """The two tunings of the task."""
    return reading.task(params.task)


def thumbnail() -> str:
    """What was right at the end of the recorded runs, task by task, those in full in ink."""
    rights = [(name, reading.recorded_right(name, way)) for name in reading.TASKS for way in WAYS]
    found = [(name, right) for name, right in rights if right is not None]
    return thumbs.bars([right for _, right in found], [name for name, _ in found]) if found else thumbs.plain("W")


def chosen() -> Params:
    """The visitor's choices."""
    start = Params()
    params = state.read_all(SLUG, start, {"task": state.one_of(reading.TASKS), "over": state.one_of(("steps", "seconds")), "train": state.one_of(tuple(reading.TRAINED))})
    text, second = reading.EXAMPLES[params["task"]]
    return Params(**params, text=state.read("text", text), second=state.read(SLUG + "second", second),
                  layer=state.read("layer", -1, state.whole(0, LAYERS - 1)), head=state.read("head", -1, state.whole(0, HEADS - 1)))  # fmt: skip


def page() -> None:
    """Claim, steps, and of the chosen step: question, picture, one sentence, the control; at the last the texts; the rest folded."""
    parts.title(EXHIBIT)
    at, show = lesson.steps(STEPS, SLUG), st.container()
    params = chosen()
    if at == 4 and not lesson.presenting():
        text, second = reading.EXAMPLES[params.task]
        steps.choose()
        controls.text("Question" if params.task == "answers" else "Sentence", "text", text, of=reading.BODY, most=f"up to {reading.LONGEST} tokens")
        if params.task in reading.TWO:
            controls.text("Text" if params.task == "answers" else "Second sentence", SLUG + "second", second, of=reading.BODY, most=f"up to {reading.LONGEST} tokens")
    with errors.guard():
        with show:
            shown = SHOW[at](params)
        folds(EXHIBIT, "frozen_or_full", STEPS[at].name, shown, lambda: st.markdown(steps.TRY), lambda: None)
    if at != 2:
        for way in WAYS:
            live.watch(f"{params.task}-{reading.NAMES[way]}")


