"""What models are asked to do: one chip a task, and where several models do the same, a quiet menu beside the chips."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import streamlit as st

import core.engine
from core import names
from core.errors import InputError
from core.lessons.texts import texts
from core.models import Family, families
from core.training.live import TASKS as SMALL_TASKS
from viz.labels import literal
from viz.ui import state
from viz.workspace import _presets
from viz.workspace._toys import BOX, COPIERS, kind_of


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
CONTINUE = Task("Continue", "gpt-mini", "The animal didn't cross the street because it was too tired.", "The beginning of a story")
FILL = Task("Fill a blank", "bert-mini", "The cat sat on the [MASK].", "A sentence with [MASK] in the place of a word")
TOYS = Task("Toy tasks", COPIERS[0], toy=True)
TASKS = (TRANSLATE, CONTINUE, FILL, TOYS)


def asked_of(model: str, family: Family) -> Task:
    """The task of a model; by its family to fill blanks where it frames a text, to translate where it reads a source."""
    if kind_of(model):
        return TOYS
    return FILL if family.framed else TRANSLATE if family.has_source else CONTINUE


def opening_with(model: str, family: Family) -> Task:
    """The task of a model with the text that Look opens with; of a toy task the first of its own."""
    task, kind, small = asked_of(model, family), kind_of(model), names.task_of(model)
    if small:
        return replace(task, text=SMALL_TASKS[small].shown, box=SMALL_TASKS[small].says)
    if kind is None:
        return task
    return replace(task, text=next(row.text for row in texts("presets") if row.kind == kind), box=BOX[kind])


def usable() -> dict[str, Family]:
    """The models that can be opened and in whose family words look at words, with their families.

    One that is not listed (`core.names`) is among them where the link names it.
    """
    named = {listing.name: families()[listing.family] for listing in core.engine.default().models() if listing.ok}
    linked = state.peek("model")
    if linked and linked not in named and (entry := _aside(linked)):
        named[linked] = families()[entry]
    return {name: family for name, family in named.items() if family.kinds}


def _aside(name: str) -> str:
    """The family of a model that opens without being listed; "" for any other name."""
    try:
        entry = core.engine.default().entry(name)
    except InputError:
        return ""  # `named` says why
    return entry.family if entry and entry.ok else ""


def named(models: dict[str, Family], opening: str) -> Callable[[str], str]:
    """A parser of names: those of `models`; for one that nearly opens, such as that of a step that was not kept, it says what would."""
    known = state.one_of(list(models), opening)

    def parse(raw: str) -> str:
        if raw not in models:
            try:
                core.engine.default().entry(raw)
            except InputError as error:
                raise state.Unusable(f"{error.wrong} {error.rule} {error.remedy}", opening) from None
        return known(raw)

    return parse


def by_task(models: dict[str, Family]) -> dict[Task, list[str]]:
    """The models of each task, the one it opens with first; tasks that no model has are left out."""
    found = {task: [name for name, family in models.items() if not names.unlisted(name) and asked_of(name, family) is task] for task in TASKS}
    return {task: sorted(those, key=lambda name: name != task.model) for task, those in found.items() if those}


def opening(models: dict[str, Family], wanted: str) -> str:
    """The model a page opens with: the wanted one, else the first of the first task."""
    return wanted if wanted in models else next(iter(by_task(models).values()))[0]


def chips(models: dict[str, Family], model: str) -> None:
    """Pills for the tasks; a touch opens the first model of a task."""
    offered, now = by_task(models), asked_of(model, models[model])
    key = f"tasks:{state.page()}"
    lit = state.held(key, now.chip)

    def store() -> None:
        task = next((task for task in offered if task.chip == st.session_state.get(key)), now)
        if task is not now:
            take(offered[task][0])

    st.pills("What the model does", [task.chip for task in offered], key=key, default=lit, required=True, on_change=store, label_visibility="collapsed")


def menu(models: dict[str, Family], model: str) -> None:
    """The models of the present task by name, where there is more than one."""
    others = by_task(models).get(asked_of(model, models[model]), [])
    if len({*others, model}) < 2:
        return
    key = f"models:{state.page()}"
    st.menu_button(literal(model), others, key=key, type="tertiary", icon=":material/memory:", help="Another model for the same task",
                   format_func=literal, on_click=lambda: take(st.session_state[key]))  # fmt: skip


def take(model: str) -> None:
    """Go on with another model. What the visitor typed stays; a ready-made sentence for another task goes."""
    _presets.leave(model, usable()[model])
    state.write(model=model)


def cannot_write(model: str) -> str:
    """Why a model that is here does not write; "" for one that does, or that nobody knows."""
    family = usable().get(model)
    if family is None or family.writes:
        return ""
    return "It reads a whole text at once, forwards and backwards, and fills blanks; it cannot go on word by word."
