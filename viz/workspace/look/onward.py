"""From the head in the full view of Look to the pages that change it, find others like it, and put it beside another."""

from __future__ import annotations

import streamlit as st

from core.run import Run
from viz.instruments.picture import patches
from viz.languages import _
from viz.shell import links, pages
from viz.shell.pages import Chapter
from viz.shell.selection import Selection
from viz.widgets import pins
from viz.widgets.pins import View
from viz.workspace.shared.head_ref import HeadRef
from viz.workspace.shared.what_if_link import EDITS, OFF

CHAPTERS = {"self": Chapter.SELF_ATTENTION, "causal": Chapter.SELF_ATTENTION, "cross": Chapter.TRANSFORMER}
READER, SEER = "hierarchy", "picture_as_words"
"""The exhibits on reading sentence by sentence, and on reading a picture."""
JOINED = {core: link for link, core in pins.AGGREGATES.items()}


def onward(selection: Selection, run: Run, place: HeadRef, how: str = "one") -> None:
    """Draw one row: links to other pages with this head, and the pin. `how`: the heads of the layer joined."""
    here = (
        {entry.slug for entry in pages.workspace()} if run.model.spec.kind(place.kind).layered else ()
    )  # one alignment is no head among others
    with st.container(horizontal=True, vertical_alignment="center", gap="medium", key="look.onward"):
        if "what_if" in here:
            links.page_link(
                "what_if", _("Switch this head off"), icon=":material/power_settings_new:", **{EDITS: OFF}
            )
        if "find" in here:
            links.page_link("find", _("Heads like this one"), icon=":material/search:")
        pins.pin_button(view(selection, place, how), key="look.pin")


def course(selection: Selection, run: Run) -> None:
    """Draw the link to the chapter of the course that is about the attention on screen, with the sentence."""
    spec, text = run.model.spec, selection.typed_text
    chapter = (
        Chapter.BERT
        if spec.framed
        else Chapter.GPT
        if not spec.has_source
        else CHAPTERS.get(selection.kind or "", Chapter.WHY_ATTENTION)
    )
    slug, title, query = pages.exhibits(chapter)[0].slug, chapter.title, {"text": text}
    if spec.sentences:
        slug, title, query = READER, _("words, sentences"), {f"{READER}.text": text}
    elif patches.reads_patches(run.model):
        slug, title, query = SEER, _("a picture as a sentence of patches"), {f"{SEER}.own": text}
    links.page_link(slug, _("Open the course: {title}", title=title), icon=":material/school:", **query)


def view(selection: Selection, place: HeadRef, how: str = "one") -> View:
    """Return the full view as it is pinned."""
    head = JOINED.get(how, place.head)
    texts = selection.target or "", selection.pair or ""
    return View(selection.model, selection.text, place.kind, place.layer, head, *texts)
