"""From the head in the full view of Look to the pages that change it, find others like it, and put it beside another."""

from __future__ import annotations

import streamlit as st

from core.run import Run
from viz.instruments.picture import patches
from viz.shell import links, pages, selection, state
from viz.shell.pages import Chapter
from viz.widgets import pins
from viz.widgets.pins import View
from viz.workspace.shared import model_run, tasks
from viz.workspace.shared.head_ref import HeadRef
from viz.workspace.shared.what_if_link import EDITS, OFF

CHAPTERS = {"self": Chapter.SELF_ATTENTION, "causal": Chapter.SELF_ATTENTION, "cross": Chapter.TRANSFORMER}
READER, SEER = "hierarchy", "picture_as_words"
"""The exhibits on reading sentence by sentence, and on reading a picture."""
JOINED = {core: link for link, core in pins.AGGREGATES.items()}


def onward(place: HeadRef, run: Run, how: str = "one") -> None:
    """Draw one row: links to other pages with this head, and the pin. `how`: the heads of the layer joined."""
    here = (
        {entry.slug for entry in pages.workspace()} if run.model.spec.kind(place.kind).layered else ()
    )  # one alignment is no head among others
    with st.container(horizontal=True, vertical_alignment="center", gap="medium", key="look.onward"):
        if "what_if" in here:
            links.page_link(
                "what_if", "Switch this head off", icon=":material/power_settings_new:", **{EDITS: OFF}
            )
        if "find" in here:
            links.page_link("find", "Heads like this one", icon=":material/search:")
        pins.pin_button(view(place, run, how), key="look.pin")


def course() -> None:
    """Draw the link to the chapter of the course that is about the attention on screen, with the sentence."""
    now = selection.current_selection()
    family = tasks.usable()[now["model"]]
    if family.sentences:
        asked = {f"{READER}.text": now["text"]}
        links.page_link(READER, "Open the course: words, sentences", icon=":material/school:", **asked)
        return
    if patches.reads_patches(model_run.open_model(now["model"])):
        links.page_link(
            SEER,
            "Open the course: a picture as a sentence of patches",
            icon=":material/school:",
            **{f"{SEER}.own": now["text"]},
        )
        return
    chapter = (
        Chapter.BERT
        if family.framed
        else Chapter.GPT
        if not family.has_source
        else CHAPTERS.get(now.get("kind", ""), Chapter.WHY_ATTENTION)
    )
    first = pages.exhibits(chapter)[0].slug
    links.page_link(first, f"Open the course: {chapter.title}", icon=":material/school:", text=now["text"])


def view(place: HeadRef, run: Run, how: str = "one") -> View:
    """Return the full view as it is pinned."""
    text = run.source.text if run.source else run.side.text
    target = state.read("target", "") if run.source else ""
    return View(
        run.model.name,
        text,
        place.kind,
        place.layer,
        JOINED.get(how, place.head),
        target,
        run.side.pair or "",
    )
