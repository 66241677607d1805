"""Tasks of models: one chip for each, and where several models have the same task, a quiet menu beside the chips."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

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
from viz.languages import _, mark
from viz.shell import notices, state
from viz.widgets import controls, engine_client, input_hints
from viz.workspace.shared import presets
from viz.workspace.shared.toy_models import COPIERS, box_of, kind_of


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


TRANSLATE = Task(mark("Translate"), "translator-en-es", "She has a white car.", mark("A sentence in English"))
WRITE = Task(mark("Read and write"), "", TRANSLATE.text, mark("A text to read"))
"""The task of an encoder-decoder that somebody brought: only its makers know into which text it turns another."""
READ = Task(
    mark("Read a text"),
    "",
    "The animal didn't cross the street because it was too tired.",
    mark("A text to read"),
)
"""The task of an encoder that fills no blanks and has no other output."""
CONTINUE = Task(
    mark("Continue"),
    "gpt-mini",
    "The king and the queen",
    mark("The beginning of a story"),
)
FILL = Task(
    mark("Fill a blank"),
    "bert-mini",
    "The cat sat on the [MASK].",
    mark("A sentence with [MASK] in the place of a word"),
)
TELL = Task(
    mark("Classify a book by its kind"),
    "han-genres",
    next(row.text for row in texts("presets") if row.kind == "genre"),
    mark("A few sentences, as from a book"),
)
TOYS = Task(mark("Toy tasks"), COPIERS[0], toy=True)
BOX_OF_OTHER_INPUT = mark("A picture or a sound, written as a short text")
"""The label of the box of a model that reads no sentence (`Family.reads`)."""
SEE = Task(mark("Look at a picture"), "vit-doodles")
SIMILARITY = Task(mark("How alike are two sentences?"), "", "A man is eating food.", mark("A sentence"))
CLASSIFY = Task(mark("Classify a text"), "", "I loved every minute of it.", mark("A text to classify"))
SCORE = Task(
    mark("Score a text"), "", "How many people live in Berlin?", mark("A text, or a question with a passage")
)
TAG = Task(mark("Tag words"), "", "Anna Smith lives in Berlin.", mark("A sentence to tag"))
ANSWER = Task(
    mark("Find an answer"), "", "Who lives in Berlin? Anna lives in Berlin.", mark("A question and a passage")
)
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


def opening_with(model: Model) -> Task:
    """Return the task of a model with the text that Look opens with; of a toy task the first of its own, none where the model could not read it."""
    name = model.name
    task, kind, small = task_of(name, model.spec), kind_of(name), names.task_of(name)
    if model.spec.reads:
        return replace(task, text=model.reader.example, box=BOX_OF_OTHER_INPUT)
    if small:
        return replace(task, text=SMALL_TASKS[small].example, box=SMALL_TASKS[small].says)
    if kind is None:
        fits = input_hints.is_shipped(name) or presets.readable(model, task.text)
        return task if fits else replace(task, text="")
    return replace(
        task, text=next(row.text for row in texts("presets") if row.kind == kind), box=box_of(kind)
    )


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


@dataclass(frozen=True)
class Offer:
    """The models that a page offers, with their families; their tasks are looked up once."""

    families: Mapping[str, Family]

    @cached_property
    def tasks(self) -> dict[str, Task]:
        """Return the task of each model."""
        return {name: task_of(name, family) for name, family in self.families.items()}

    @cached_property
    def by_task(self) -> dict[Task, list[str]]:
        """Return the models of each task, the one it opens with first; tasks without a model are left out."""
        listed = [name for name in self.tasks if not names.is_unlisted(name)]
        models = {task: [name for name in listed if self.tasks[name] is task] for task in TASKS}
        return {
            task: sorted(those, key=lambda name: name != task.model)
            for task, those in models.items()
            if those
        }

    def opening(self, preferred: str) -> str:
        """Return the model a page opens with: the preferred one, else the first of the first task; "" where there is none."""
        return preferred if preferred in self.families else next(iter(self.by_task.values()), [""])[0]

    def in_view(self, preferred: str, lacks: Callable[[Model], str]) -> Model | None:
        """Return the model that is asked for, if it is one of these; for any other draw why it is not shown and offer others, and return None.

        `lacks(model)` says what a model has not that this page needs. Raises InputError where there is no other.
        """
        now = state.peek("model") or self.opening(preferred)
        try:
            model = self._open(now, lacks)
        except InputError as problem:
            others = Offer({name: family for name, family in self.families.items() if name != now})
            if not others.families:
                raise InputError(
                    problem.wrong, problem.rule, _("See More, Models for those that ship.")
                ) from None
            others._draw_instead(now, problem)
            return None
        state.read("model", now)
        return model

    def _open(self, name: str, lacks: Callable[[Model], str]) -> Model:
        if not name:
            raise InputError(
                _("No model that this page needs can be opened."), _("The models lie in assets/models."), ""
            )
        model = engine_client.open(name)
        lack = lacks(model)
        if name in self.families and not lack:
            return model
        lack = lack or _(model.lacks("attend"))
        raise InputError(
            _("This page cannot show {name}.", name=name),
            f"{lack[:1].upper()}{lack[1:]}",
            _("{input} is kept: choose another model here, or go back.", input=_input_name()),
        )

    def _draw_instead(self, missing: str, problem: InputError) -> None:
        """Draw why a model is not shown, the box, and these other models, one of its task first."""
        notices.box(problem.wrong, problem.rule, problem.remedy)
        family = usable().get(missing)
        task = task_of(missing, family) if family else None
        kin = [name for name in self.tasks if self.tasks[name] is task]
        if not _draws():  # a drawing is kept, and not shown as letters
            controls.text(
                _("A text"), "text", "", quiet=True, placeholder=_("Type a sentence and press Enter")
            )
        with st.container(horizontal=True, gap="small", vertical_alignment="center"):
            if kin:
                st.button(
                    _("Read it with {model}", model=literal(kin[0])),
                    icon=":material/memory:",
                    on_click=take,
                    args=(kin[0],),
                )
            self.chips(None)

    def chips(self, model: str | None) -> None:
        """Draw pills for the tasks; a touch opens the first model of a task. None: no model is in view, none is lit."""
        now = self.tasks[model] if model else None
        key = f"tasks:{state.page()}" + ("" if model else ":none")
        lit = state.seed_widget(key, now and now.chip)

        def store() -> None:
            task = next((task for task in self.by_task if task.chip == st.session_state.get(key)), now)
            if task and task is not now:
                take(self.by_task[task][0])

        st.pills(
            _("What the model does"),
            [task.chip for task in self.by_task],
            key=key,
            default=lit,
            required=bool(model),
            on_change=store,
            label_visibility="collapsed",
            format_func=_,
        )

    def menu(self, model: str) -> None:
        """Draw the models of the present task by name, where there is more than one."""
        others = self.by_task.get(self.tasks[model], [])
        if len({*others, model}) < 2:
            return
        key = f"models:{state.page()}"
        st.menu_button(
            literal(model),
            others,
            key=key,
            type="tertiary",
            icon=":material/memory:",
            help=_("Another model for the same task"),
            format_func=literal,
            on_click=lambda: take(st.session_state[key]),
        )


def _draws() -> bool:
    """Return whether the input is a drawing."""
    return state.peek("text").startswith(doodles.PREFIX)


def _input_name() -> str:
    """Return the name of the input in the link: a drawing or a text."""
    return _("Your drawing") if _draws() else _("Your text")


def take(model: str) -> None:
    """Go on with another model. What the visitor typed stays; a ready-made sentence for another task goes."""
    state.write(**presets.unfit_texts(model, usable()[model]), model=model)  # one entry of the history


def written_by(model: Model) -> str:
    """Return what a model that reads a source writes to it.

    >>> written_by(core.serving.engine.default().open("translator-en-es"))
    'translation'
    """
    return _("translation") if task_of(model.name, model.spec) is TRANSLATE else _("text")
