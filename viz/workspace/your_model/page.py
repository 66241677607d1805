"""Your model: one that did not ship with the atlas, what was found in it, and the way to every page that shows it."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from core.errors import InputError, in_reader_language
from core.jobs.listing import Listing
from viz.languages import _
from viz.shell import notices, selection, state
from viz.shell.pages import Page
from viz.widgets import controls, page_parts
from viz.workspace.shared import model_run
from viz.workspace.shared.card_text import card_text
from viz.workspace.your_model import data, model_card, naming, other_model, ways
from viz.workspace.your_model.arrival import IN_VIEW

PAGE = Page(
    title="Your model",
    order=51,
    menu="more",
    claim="Bring a model of your own: what is in it, what its heads do, and every page of the atlas with it.",
)


@dataclass(frozen=True)
class Params:
    """The model in view; "" for the first that opens."""

    model: str = ""


def compute(_: Params = Params()) -> dict[str, Listing]:
    """Return every model that did not ship, those that are refused too."""
    return data.foreign_models()


def page() -> None:
    page_parts.title(PAGE)
    here = compute()
    fine = [name for name, listing in here.items() if listing.ok]
    if fine:
        linked = state.peek("model")
        first = linked if linked in fine else fine[0]
        name = (
            controls.pills(_("Your models"), fine, IN_VIEW, first, quiet=True) if len(fine) > 1 else fine[0]
        )
        _one(name)
    else:
        st.text(_("No model of yours is open yet."))
    for name, listing in here.items():
        if not listing.ok:
            notices.box(
                _("{name} does not open.", name=name),
                in_reader_language(listing.problem),
                _("The others are not touched by it."),
            )
    ways.show(first=not fine)


def _one(name: str) -> None:
    """Draw the facts of a model, its survey, another beside it, its card."""
    try:
        model = model_run.open_model(name)
    except InputError as error:
        notices.box(error.wrong, error.rule, error.remedy)
        return
    text = model_card.opening(model)
    selection.set_selection(model=name, text=text)
    model_card.card(model, data.facts(model, data.folder_of(name)), text)
    if model.spec.kinds_of(model.config):
        model_card.survey(name, model, text)
        naming.show(model)
    other_model.show(model, text)
    with page_parts.fold(_("The card that came with it"), f"your_model.{name}") as fold:
        if fold.open:
            st.code(card_text(model.card) or _("This folder has no card."), language=None, wrap_lines=True)
