"""The page What if: switch a head off, change a cell, a word or a position, and see the model's output after it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import streamlit as st

from viz.instruments.grid.grid import DEEP
from viz.instruments.kit import origin
from viz.shell import errors, notices, state
from viz.shell.pages import Cite, Page
from viz.shell.selection import Selection
from viz.widgets import page_parts, pins
from viz.workspace.shared import model_run, target_picker, toolbar
from viz.workspace.shared.head_ref import HeadRef
from viz.workspace.shared.what_if_link import EDITS, NONE, OFF
from viz.workspace.what_if import data, edits, folds, more, views
from viz.workspace.what_if.data import Change
from viz.workspace.what_if.words import sentence

PAGE = Page(
    title="What if",
    order=41,
    claim="Switch a head off. What does the model predict then?",
    cites=(
        Cite("vaswani2017", "3.2.2", "multi-head attention: heads are added up"),
        Cite("ghojogh2020", "3.2.2", "Eqs. (19)-(22)"),
        Cite("beigy2021", "Multi-head attention", "different heads focus on different words"),
    ),
    menu="lab",
    activity="switch heads off, change the run",
)
TEXT = "She took the silver key and opened the silver"
"""Of some twenty beginnings that were measured the one whose next word hangs most on a head of an early layer."""
ERRORS = 2
"""So many changes that cannot be made are explained."""


@dataclass(frozen=True)
class Params(Selection):
    """One text through one model, with the head in view, None for the most telling one; the changes as in the link, the row of the output."""

    model: str = toolbar.MODEL
    text: str = TEXT
    edits: str = OFF
    row: int | None = None


def compute(p: Params) -> Change:
    """Make both runs (shared and kept by the engine). The head to open with is found by switching off each alone."""
    before = data.first(p)
    kind = p.kind if p.kind in before.kinds else before.kinds[-1]
    row = p.row if p.row is not None and data.offers_rows(before, p.row) else data.row_in_question(before)
    if p.layer is None or p.head is None:
        place = data.telling(before, kind, row)
    else:
        place = HeadRef(kind, p.layer, p.head)
    raw: Any = {
        OFF: f"zero:{before.model.spec.kind(place.kind).path(place.layer, 'heads')}:{place.head}",
        NONE: "",
    }.get(p.edits, p.edits)
    after, kept, wrong = data.changed(before, raw)
    return Change(before, after, place, kept, wrong, data.translated(before, kept), row)


def page() -> None:
    page_parts.title(PAGE)
    bench = toolbar.choose("what_if", text=TEXT, takes_translation=True, runs=toolbar.heads)
    if bench is not None:
        _changed(bench)


@st.fragment
def _changed(bench: toolbar.Bench) -> None:
    with errors.guard():
        with (
            st.container()
        ):  # how much there is to compute depends on the changes; what follows keeps its place
            change = compute(_params(bench.selection))
        origin.tell_run(change.before, change.place.kind, changed=edits.changes_in_words(change))
        bench.announce(head=change.place)
        _draw_errors(change)
        edits.chips(change)
        found, moved = data.outcome(change), views.measure_changes(change)
        wall = views.fills_the_wall()
        deep = wall or change.kind.n_layers(change.before.model.config) > DEEP
        left, right = (st.container(), st.container()) if deep else st.columns([3, 2], gap="large")
        if not wall:
            with left:
                views.heads_grid(change)
        with right:
            if not wall:
                edits.switch(change)
                views.says(change, found)
            page_parts.summary(sentence(change, found, moved))
            onward = st.container(
                horizontal=True, vertical_alignment="center", gap="small", key="what_if.onward"
            )
        seen = views.inside(change)
        with onward:
            more.menu(change)
            pins.pin_button(data.view(change, seen), key="what_if.pin")
        folds.show(PAGE, change, found, moved, seen)


def _params(selection: Selection) -> Params:
    """Return the choices of the link and the visitor. A head is chosen by its layer and its number, one of them is enough."""
    reader = model_run.open_model(selection.model)
    kinds = [kind.name for kind in reader.spec.kinds_of(reader.config)]
    kind = state.read("kind", "") or ""
    kind = kind if kind in kinds else kinds[-1]
    layer = state.read("layer", -1, state.whole_number(0, reader.spec.kind(kind).n_layers(reader.config) - 1))
    head = state.read("head", -1, state.whole_number(0, reader.config.n_heads - 1))
    place = (max(layer, 0), max(head, 0)) if max(layer, head) >= 0 else (None, None)
    target_picker.forget(f"{data.ROW}.sentence", (selection.model, selection.text), data.ROW)
    row = state.read(data.ROW, -1, state.whole_number(0, reader.config.n_ctx))
    selection = replace(selection, kind=kind, layer=place[0], head=place[1])
    return Params(**vars(selection), edits=state.read(EDITS, OFF), row=None if row < 0 else row)


def _draw_errors(change: Change) -> None:
    """Say why some of the changes of a link are not made; their place is kept."""
    with st.container(key="what_if.notes"):
        for error in change.errors[:ERRORS]:
            notices.box(error.wrong, error.rule, error.remedy)
