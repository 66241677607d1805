"""The workbench: the pages that compare heads and change runs, joined by one row of links; what they ask first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.errors import InputError
from core.model import Model
from core.run import Run
from viz.labels import literal, shorten
from viz.shell import links, pages, selection, state
from viz.workspace.shared import blank, input_box, model_run, needs, tasks
from viz.workspace.shared import reading_hints as _reads

TOOLS = {
    "compare": "Compare",
    "what_if": "What if",
    "find": "Find heads",
    "inside": "Inside",
    "importance": "What matters",
    "growth": "While learning",
    "whole_model": "Whole model",
    "be_the_head": "Be the head",
}
"""The pages of the bench by slug, in the order of the row, with the words of the row."""
TEXT = "The animal didn't cross the street because it was too tired."
MODEL = "gpt-mini"


@dataclass(frozen=True)
class Bench:
    """The selection of a page of the bench, and the container of the links to the other pages."""

    selection_in_view: selection.Selection
    slug: str
    spot: DeltaGenerator

    @property
    def model(self) -> str:
        """Return the name of the model."""
        return self.selection_in_view.model

    @property
    def text(self) -> str:
        """Return the text that the page reads, a part of a long one."""
        return self.selection_in_view.part or self.selection_in_view.text

    def announce(self, run: Run | None = None, **more: Any) -> None:
        """Announce the selection with the fields that the page knows by now, such as the head, and draw the links that take it along."""
        selection.announce_selection(replace(self.selection_in_view, **more), run)
        row(self.slug, self.spot)


def row(slug: str, spot: DeltaGenerator | None = None) -> None:
    """Draw the links between the pages of the bench; the one in view is a word, not a link."""
    here = {entry.slug for entry in pages.workspace()}
    with (
        spot or st.container(),
        st.container(horizontal=True, gap="small", vertical_alignment="center", key="bench.row"),
    ):
        for name, words in TOOLS.items():
            if name == slug:
                st.markdown(f"**{words}**", width="content")
            elif name in here:
                links.page_link(name, words)


def heads(model: Model) -> float:
    """Return the runs of a page that ablates each head in turn, with those to compare with."""
    return model.config.n_layers * model.config.n_heads + 4.0


def layers(model: Model) -> float:
    """Return the runs of a page that reads the values after each layer."""
    return 4.0 * model.config.n_layers


def once(_: Model) -> float:
    """Return the runs of a page that reads a text a few times."""
    return 4.0


def choose(
    slug: str,
    *,
    model: str = MODEL,
    text: str = TEXT,
    takes_translation: bool = False,
    lacks: Callable[[Model], str] = lambda _: "",
    runs: Callable[[Model], float] = once,
    each: Callable[[Model], float] = lambda _: 0.0,
    opening: Callable[[Model, str], str] = lambda _, text: text,
) -> Bench | None:
    """Draw the choice of a model and a sentence as on Look, and return it: the sentence box, chips of tasks, a quiet menu of models; None for an empty box.

    `needs` says which models the page can use, `lacks(model)` what else the model that is asked for lacks: then, too, there is nothing to show.
    `takes_translation`: the page reads a translation that was given. `runs`, and `each` for every token, say how many runs of the text it
    makes: so much of a text is taken as is answered in a moment. `opening(model, text)` is the text that another model than `model` opens with,
    instead of that of its task. The page calls `announce` on the result as soon as it knows the rest.

    Raises InputError where no such model can be opened.
    """
    asked = state.peek("model")

    def missing(one: Model) -> str:
        return needs.lacks(slug, one) or lacks(one)

    models = {
        name: family
        for name, family in tasks.usable().items()
        if needs.may(slug, family) and (name != asked or _fits(name, missing))
    }
    if not models:
        raise tasks.none_fits(asked, missing)
    spot = st.container()
    now = tasks.in_view(models, model, missing)
    if now is None:
        row(slug, spot)
        return None
    task = tasks.opening_with(now, models[now])
    reader = model_run.open_model(now)
    first = text if now == model else opening(reader, task.text)
    with st.container(key="bench-asks"):
        found = input_box.draw(reader, task, first)
        with st.container(horizontal=True, gap="small", vertical_alignment="center"):
            tasks.chips(models, now)
            input_box.menu(reader)
            tasks.menu(models, now)
    along = {
        name: state.peek(name) for name in selection.NAMES
    }  # a head stays with its model on a page that shows none
    selection.set_selection(**along | {"model": now, "text": found})
    _left_out(reader, takes_translation)
    if not found.strip():
        st.text("Type a sentence above and press Enter.")
        row(slug, spot)
        return None
    read = blank.read_by(reader, found)
    _reads.show_note(reader, read)
    part = model_run.readable_part(now, read, runs=runs(reader), each=each(reader))
    return Bench(selection.Selection(now, found, part=part), slug, spot)


def target(model: Model) -> str | None:
    """Return the translation that was given for the text, if the model reads one."""
    return (state.read("target", "") or None) if model.spec.has_source else None


def _left_out(model: Model, takes_translation: bool) -> None:
    """Note the inputs of other pages that this page does not read."""
    for name, reads, words in (
        ("target", model.spec.has_source and not takes_translation, "The translation that was given"),
        ("pair", model.can("read_pairs"), "The second text"),
    ):
        if reads and (text := state.peek(name)):
            st.caption(
                f"{words}, “{literal(shorten(text, 40))}”, is not read on this page; it is kept for the others."
            )


def _fits(name: str, missing: Callable[[Model], str]) -> bool:
    """Return whether the network itself has what the page needs."""
    try:
        return not missing(model_run.open_model(name))
    except InputError:
        return True  # why it does not open is said where it is opened
