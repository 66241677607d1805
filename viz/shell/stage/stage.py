"""The stage of every page: the keys of the course, present mode, the way to the exhibits before and after.

`?present=1` shows any page to a room: large type, no bars, no folds. The keys press what is on the page: right and
space take the next step (after the last one the next exhibit), left goes back, a number goes to its step; in Present F
gives the picture the whole window and Escape leaves; a rail at the side has the two arrows, unless a lesson shows its own, and a menu of the rest. On every page ? opens
the list of all keys (keys.html), and the browser's back button takes one press a step (history.js).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import streamlit as st
from streamlit.components import v2

from viz.labels import literal
from viz.languages import ENGLISH, _, current, script_words
from viz.languages.script_words import ScriptWords
from viz.platform import scripts
from viz.shell import links, pages, present_layout, progress, state
from viz.shell.pages import Entry, ExhibitInfo

_FOLDER = Path(__file__).parent
_HTML = '<nav data-stage aria-label="Present"></nav>' + (_FOLDER / "keys.html").read_text("utf-8")
_WORDS = ScriptWords(_HTML, _FOLDER / "stage.js")
_stage = v2.component(
    "atlas_stage",
    html=_HTML,
    js=scripts.register(
        "stage",
        script_words.SCRIPT,
        *(
            _FOLDER / name
            for name in (
                "stage.css",
                "history.js",
                "translation.js",
                "pictures.js",
                "naming.js",
                "whole.js",
                "scaled.js",
                "plotly_pointer.js",
                "menu.js",
                "focus.js",
                "stage.js",
            )
        ),
    ),
    isolate_styles=False,
)
_large = v2.component(
    "atlas_present",
    html="<span></span>",
    css=(_FOLDER / "present.css").read_text("utf-8"),
    isolate_styles=False,
)


@contextmanager
def stage(entry: Entry) -> Iterator[None]:
    """Draw a page between the keys and, for an exhibit, the links to its neighbours."""
    with st.container(key="atlas-stage"):
        drawn = _stage(
            key="stage",
            data={"presenting": state.presenting(), "walks": isinstance(entry.info, ExhibitInfo)}
            | ({"framed": True} if state.framed() else {})
            | _language(),
            on_leave_change=_leave,
            on_framed_change=state.set_framed,
        )
        if drawn.get("framed"):  # a session that begins anew in the same window hears of no change
            state.set_framed()
        if state.presenting():
            _large(key="stage.large")
    if isinstance(entry.info, ExhibitInfo):
        progress.record_opened(entry.slug)
        with present_layout.exhibit_layout():
            yield
        if not state.embedded():
            _foot(entry)
        progress.sync_with_browser()
    else:
        yield


def _language() -> dict[str, Any]:
    """Return the language for the browser, whose page is in English without it."""
    now = current()
    if now is ENGLISH:
        return {}
    return {"lang": now.code, "dir": now.direction, **script_words.numbers(), **_WORDS.data()}


def _leave() -> None:
    state.write(present=None)


def neighbours(entry: Entry) -> tuple[Entry | None, Entry | None]:
    """Return the exhibits before and after this one in the course."""
    course = pages.exhibits()
    at = course.index(entry)
    return (course[at - 1] if at else None), (course[at + 1] if at + 1 < len(course) else None)


def _foot(entry: Entry) -> None:
    before, after = neighbours(entry)
    with st.container(
        key="exhibit-foot", horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"
    ):
        for name, other, arrows in (("previous", before, "←  {}"), ("next", after, "{}  →")):
            with st.container(key=f"exhibit-{name}", width="content", gap=None):
                links.page_link(
                    other.slug if other else "course",
                    arrows.format(literal(other.info.title if other else _("Course"))),
                )
