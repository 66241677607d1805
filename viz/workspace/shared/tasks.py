"""Tasks of models: one chip for each, and where several models have the same task, a quiet menu beside the chips."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import streamlit as st

import core.serving.engine
from core.data import doodles
from core.data.texts import texts
from core.errors import InputError
from core.jobs import names
from core.jobs.user_models import SHELF
from core.model import Model
from core.models import Family, families
from core.training.toy.toy_training import TASKS as SMALL_TASKS
from viz.labels import literal
from viz.shell import notices, state
from viz.widgets import controls, engine_client, input_hints
from viz.workspace.shared import presets
from viz.workspace.shared.toy_models import BOX, COPIERS, kind_of


@dataclass(frozen=True)
class Task:
    """A chip: the model it opens with, that model's opening sentence in Look, and what the sentence box is called.

    What a `toy` reads is no sentence; its models have texts of their own (`opening_with`).
    """

    chip: str
    model: str
    text: str = ""
    box: str = ""
    toy: bool = False


TRANSLATE = Task("Translate", "translator-en-es", "She has a white car.", "A sentence in English")
WRITE = Task("Read and write", "", TRANSLATE.text, "A text to read")
"""The task of an encoder-decoder that somebody brought: only its makers know into which text it turns another."""
READ = Task(
    "Read a text", "", "The animal didn't cross the street because it was too tired.", "A text to read"
)
"""The task of an encoder that fills no blanks and has no other output."""
CONTINUE = Task(
    "Continue",
    "gpt-mini",
    "The king and the queen",
    "The beginning of a story",
)
FILL = Task(
    "Fill a blank", "bert-mini", "The cat sat on the [MASK].", "A sentence with [MASK] in the place of a word"
)
TELL = Task(
    "Classify a book by its kind",
    "han-genres",
    next(row.text for row in texts("presets") if row.kind == "genre"),
    "A few sentences, as from a book",
)
TOYS = Task("Toy tasks", COPIERS[0], toy=True)
BOX_OF_OTHER_INPUT = "A picture or a sound, written as a short text"
"""The label of the box of a model that reads no sentence (`Family.reads`)."""
SEE = Task("Look at a picture", "vit-doodles")
SIMILARITY = Task("How alike are two sentences?", "", "A man is eating food.", "A sentence")
CLASSIFY = Task("Classify a text", "", "I loved every minute of it.", "A text to classify")
SCORE = Task("Score a text", "", "How many people live in Berlin?", "A text, or a question with a passage")
TAG = Task("Tag words", "", "Anna Smith lives in Berlin.", "A sentence to tag")
ANSWER = Task("Find an answer", "", "Who lives in Berlin? Anna lives in Berlin.", "A question and a passage")
TUNED = {"embedding": SIMILARITY, "classes": CLASSIFY, "score": SCORE, "tags": TAG, "answer": ANSWER}
"""The tasks of fine-tuned models, by what a folder's head outputs (`Listing.does`)."""
TASKS = (TRANSLATE, WRITE, READ, CONTINUE, FILL, *TUNED.values(), TELL, SEE, TOYS)


def task_of(model: str, family: Family) -> Task:
    """Return the task of a model by its family: to fill blanks if it frames a text, to translate (an uploaded one: to write) if it reads a source, to classify if it reads sentences, to look if it reads a picture."""
    if kind_of(model):
        return TOYS
    if tuned := {**TUNED, "states": READ}.get(_does(model)):
        return tuned
    if family.sentences:
        return TELL
    if family.reads and not family.has_source:
        return SEE
    if not family.framed and not family.writes:
        return READ
    if family.has_source:
        return TRANSLATE if input_hints.is_shipped(model) else WRITE
    return FILL if family.framed else CONTINUE


def _does(model: str) -> str:
    """Return the output of a listed or brought model's head; "" for one without such a head."""
    try:
        entry = engine_client.model_listing(model)
    except InputError:
        return ""
    return getattr(entry, "does", "")


def opening_with(model: str, family: Family) -> Task:
    """Return the task of a model with the text that Look opens with; of a toy task the first of its own, none where the model could not read it."""
    task, kind, small = task_of(model, family), kind_of(model), names.task_of(model)
    if family.reads:
        return replace(task, text=engine_client.open(model).reader.example, box=BOX_OF_OTHER_INPUT)
    if small:
        return replace(task, text=SMALL_TASKS[small].example, box=SMALL_TASKS[small].says)
    if kind is None:
        fits = input_hints.is_shipped(model) or presets.readable(engine_client.open(model), task.text)
        return task if fits else replace(task, text="")
    return replace(task, text=next(row.text for row in texts("presets") if row.kind == kind), box=BOX[kind])


def usable() -> dict[str, Family]:
    """Return the models that can be opened and whose family attends, with their families.

    One that is not listed (`core.jobs.names`) is among them where the visitor brought it, or the link names it.
    """
    named = {
        listing.name: families()[listing.family]
        for listing in (
            *core.serving.engine.default().models(),
            *SHELF.listings(engine_client.session()).values(),
        )
        if listing.ok
    }
    linked = state.peek("model")
    if linked and linked not in named and (entry := _unlisted_family(linked)):
        named[linked] = families()[entry]
    return {name: family for name, family in named.items() if family.kinds}


def _unlisted_family(name: str) -> str:
    """Return the family of a model that opens without being listed; "" for any other name."""
    try:
        entry = engine_client.model_listing(name)
    except InputError:
        return ""  # `named` says why
    return entry.family if entry and entry.ok else ""


def in_view(models: dict[str, Family], preferred: str, lacks: Callable[[Model], str]) -> str | None:
    """Return the model that is asked for, if it is one of `models`; for any other draw why it is not shown and offer others, and return None.

    `lacks(model)` says what a model has not that this page needs.
    """
    first = opening(models, preferred)
    now = state.peek("model") or first
    problem = _problem(now, models, lacks)
    if problem is None:
        return state.read("model", first)
    notices.box(problem.wrong, problem.rule, problem.remedy)
    family = usable().get(now)
    others = {name: family for name, family in models.items() if name != now}
    kin = [name for name in others if family and task_of(name, others[name]) is task_of(now, family)]
    if not (state.peek("text") or "").startswith(
        doodles.PREFIX
    ):  # a drawing is kept, and not shown as letters
        controls.text("A text", "text", "", quiet=True, placeholder="Type a sentence and press Enter")
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        if kin:
            st.button(
                f"Read it with {literal(kin[0])}", icon=":material/memory:", on_click=take, args=(kin[0],)
            )
        chips(others, None)
    return None


def _problem(name: str, models: dict[str, Family], lacks: Callable[[Model], str]) -> InputError | None:
    try:
        model = engine_client.open(name)
    except InputError as error:
        return error
    lack = lacks(model)
    if name in models and not lack:
        return None
    lack = lack or model.lacks("attend")
    return InputError(
        f"This page cannot show {name}.",
        f"{lack[:1].upper()}{lack[1:]}",
        f"{_input_name()} is kept: choose another model here, or go back.",
    )


def _input_name() -> str:
    """Return the name of the input in the link: a drawing or a text."""
    return "Your drawing" if (state.peek("text") or "").startswith(doodles.PREFIX) else "Your text"


def none_fits(name: str, lacks: Callable[[Model], str]) -> InputError:
    """Return the error of a page for which no model can be opened: for the one that was asked for, with its reason."""
    problem = _problem(name, usable(), lacks) if name else None
    return InputError(
        problem.wrong if problem else "No model that this page needs can be opened.",
        problem.rule if problem else "The models lie in assets/models.",
        "See More, Models for those that ship.",
    )


def by_task(models: dict[str, Family]) -> dict[Task, list[str]]:
    """Return the models of each task, the one it opens with first; tasks without a model are left out."""
    found: dict[Task, list[str]] = {task: [] for task in TASKS}
    for name, family in models.items():
        if not names.is_unlisted(name):
            found[task_of(name, family)].append(name)
    return {
        task: sorted(those, key=lambda name: name != task.model) for task, those in found.items() if those
    }


def opening(models: dict[str, Family], preferred: str) -> str:
    """Return the model a page opens with: the preferred one, else the first of the first task."""
    return preferred if preferred in models else next(iter(by_task(models).values()))[0]


def chips(models: dict[str, Family], model: str | None) -> None:
    """Draw pills for the tasks; a touch opens the first model of a task. None: no model is in view, none is lit."""
    offered, now = by_task(models), task_of(model, models[model]) if model else None
    key = f"tasks:{state.page()}" + ("" if model else ":none")
    lit = state.seed_widget(key, now and now.chip)

    def store() -> None:
        task = next((task for task in offered if task.chip == st.session_state.get(key)), now)
        if task and task is not now:
            take(offered[task][0])

    st.pills(
        "What the model does",
        [task.chip for task in offered],
        key=key,
        default=lit,
        required=bool(model),
        on_change=store,
        label_visibility="collapsed",
    )


def menu(models: dict[str, Family], model: str) -> None:
    """Draw the models of the present task by name, where there is more than one."""
    others = by_task(models).get(task_of(model, models[model]), [])
    if len({*others, model}) < 2:
        return
    key = f"models:{state.page()}"
    st.menu_button(
        literal(model),
        others,
        key=key,
        type="tertiary",
        icon=":material/memory:",
        help="Another model for the same task",
        format_func=literal,
        on_click=lambda: take(st.session_state[key]),
    )


def take(model: str) -> None:
    """Go on with another model. What the visitor typed stays; a ready-made sentence for another task goes."""
    presets.leave(model, usable()[model])
    state.write(model=model)


def written_by(model: Model) -> str:
    """Return what a model that reads a source writes to it.

    >>> written_by(core.serving.engine.default().open("translator-en-es"))
    'translation'
    """
    return "translation" if task_of(model.name, model.spec) is TRANSLATE else "text"
