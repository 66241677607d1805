"""The input of a page: one model and what it reads, in a box for a sentence or on a canvas, with the menus of models and of ready-made sentences."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import nullcontext

import streamlit as st

from core.model import Model
from viz.instruments.picture import patches
from viz.languages import _, mark
from viz.shell import selection, state
from viz.shell.selection import Selection
from viz.widgets import controls, doodle
from viz.workspace.shared import blank, model_run, needs, presets, reading_hints, tasks
from viz.workspace.shared.tasks import Task

CANVAS = 168
"""Pixels of the canvas: a finger has room on it, and the page's own picture, below it, is seen at once."""
EMPTY = mark("Type a sentence above and press Enter.")
Limit = Callable[[Model, str], str]
"""The part of a text that a page reads."""


def choose(
    slug: str,
    model: str,
    *,
    opening: Callable[[Model, Task], Task] = lambda model, task: task,
    lacks: Callable[[Model], str] = lambda model: "",
    carries: Sequence[str] = (),
    reads: Collection[str] | None = None,
    drops: Sequence[str] = (),
    limit: Limit | None = model_run.readable_part,
    first_screen: bool = False,
    empty: str = EMPTY,
) -> Selection | None:
    """Draw the choice of a model and a text, set it as the selection of this page, and return it; None while there is nothing to read.

    `model`: the one that the page opens with; `opening` gives the task of another its opening text. `needs` says which models the page
    can use, `lacks(model)` what else the model that is asked for lacks: then, too, there is nothing to show.
    `carries`: parts of the selection that go on to other pages as the link has them. `reads`: of "target" and "pair" those that the
    page takes, the others are noted as left out; None: it sees to them itself. A change of the text takes back what the page `drops`.
    `limit` draws the choice of a part; without one a page reads all, an empty text too. `first_screen`: with a button for an empty box.

    Raises InputError where no such model can be opened.
    """
    offer = tasks.Offer({name: family for name, family in tasks.usable().items() if needs.may(slug, family)})
    reader = offer.in_view(model, lambda one: needs.lacks(slug, one) or lacks(one))
    if reader is None:
        return None
    task = opening(reader, tasks.opening_with(reader))
    with nullcontext() if first_screen else st.container(key="bench-asks"):
        text = _box(reader, task, drops)
        with st.container(horizontal=True, gap="small", vertical_alignment="center"):
            offer.chips(reader.name)
            _sentences(reader, first_screen)
            offer.menu(reader.name)
    selection.set_selection(
        **{name: state.peek(name) for name in carries} | {"model": reader.name, "text": text}
    )
    if reads is not None:
        reading_hints.show_left_out(reader, reads)
    if limit and not text.strip():
        st.text(_(empty))
        return None
    read = blank.read_by(reader, text)
    reading_hints.show_note(reader, read)
    part = limit(reader, read) if limit else read
    given = state.read("target", "") if reader.spec.has_source and "target" in (reads or ()) else ""
    return Selection(reader.name, part, given or None, typed=text)


def _box(model: Model, task: Task, drops: Sequence[str]) -> str:
    """Draw the input and return it; it is kept as `text`."""
    with st.container(gap="xxsmall", key="landing-box"):
        if patches.reads_patches(model):
            return doodle.draw(
                "text", task.text, title="", hint="", height=CANVAS, preview=False, upload=False
            )
        hint = _("Type a sentence and press Enter")
        text = controls.text(_(task.box), "text", task.text, quiet=True, placeholder=hint, drops=drops)
        reading_hints.show(model, task.box)
    return text


def _sentences(model: Model, first_screen: bool) -> None:
    """Draw the menu of ready-made sentences, and the button for an own one; a canvas has its doodles beside it, and here a place for a file."""
    if patches.reads_patches(model):
        doodle.place("text")
        return
    if first_screen:
        with st.container(key="leads-to-box", width="content"):
            st.button(_("Your own"), icon=":material/edit:", type="tertiary", on_click=presets.put_own)
    presets.menu(model)
