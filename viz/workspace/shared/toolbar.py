"""The workbench: the pages that compare heads and change runs, joined by one row of links; what they ask first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.model import Model
from core.run import Run
from viz.languages import _, mark
from viz.shell import links, pages, selection
from viz.shell.selection import Selection
from viz.workspace.shared import input_box, model_run
from viz.workspace.shared.head_ref import HeadRef

TOOLS = {
    "compare": mark("Compare"),
    "what_if": mark("What if"),
    "find": mark("Find heads"),
    "many_texts": mark("Many texts"),
    "inside": mark("Inside"),
    "importance": mark("What matters"),
    "growth": mark("While learning"),
    "whole_model": mark("Whole model"),
    "be_the_head": mark("Be the head"),
}
"""The pages of the bench by slug, in the order of the row, with the words of the row."""
TEXT = "The animal didn't cross the street because it was too tired."
MODEL = "gpt-mini"


@dataclass(frozen=True)
class Bench:
    """The selection of a page of the bench, and the container of the links to the other pages."""

    selection: Selection
    slug: str
    spot: DeltaGenerator

    def announce(self, run: Run | None = None, head: HeadRef | None = None) -> Selection:
        """Announce the selection, with its head where the page shows one, and draw the links that take it along; return it."""
        now = replace(self.selection, **vars(head)) if head else self.selection
        selection.announce_selection(now, run)
        row(self.slug, self.spot)
        return now


def row(slug: str, spot: DeltaGenerator | None = None) -> None:
    """Draw the links between the pages of the bench; the one in view is a word, not a link."""
    here = {entry.slug for entry in pages.workspace()}
    with (
        spot or st.container(),
        st.container(horizontal=True, gap="small", vertical_alignment="center", key="bench.row"),
    ):
        for name, words in TOOLS.items():
            if name == slug:
                st.markdown(f"**{_(words)}**", width="content")
            elif name in here:
                links.page_link(name, _(words))


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
    """Draw the choice of a model and a sentence as on Look, and return it; None while there is nothing to read.

    `takes_translation`: the page reads a translation that was given. `runs`, and `each` for every token, say how many runs of the text it
    makes: so much of a text is taken as is answered in a moment. `opening(model, text)` is the text that another model than `model` opens with,
    instead of that of its task. The page calls `announce` on the result as soon as it knows the rest.

    Raises InputError where no such model can be opened.
    """
    spot = st.container()
    chosen = input_box.choose(
        slug,
        model,
        opening=lambda one, task: replace(task, text=text if one.name == model else opening(one, task.text)),
        lacks=lacks,
        carries=selection.NAMES,  # a head stays with its model on a page that shows none
        reads=("target",) if takes_translation else (),
        limit=lambda one, read: model_run.readable_part(one, read, runs=runs(one), each=each(one)),
    )
    if chosen is None:
        row(slug, spot)
        return None
    return Bench(chosen, slug, spot)
