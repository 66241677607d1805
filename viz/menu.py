"""The pages as Streamlit takes them, and its icon: made once, everybody's."""

from __future__ import annotations

import base64
import functools
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import streamlit as st

from viz.languages import _, current, mark
from viz.shell import errors, language, pages, state
from viz.shell.embed import embed
from viz.shell.stage import stage
from viz.workspace.lecture_room import bar
from viz.workspace.lessons import player

MENUS = {
    "top": "",
    "lab": mark("Lab"),
    "more": mark("More"),
}  # of the top bar; others are reached from the course
HIDDEN = "course"


class SharedPage(st.Page):
    """A page that every visitor's run may draw; Streamlit's own notes in itself whether it was drawn, and hashes its address each time it is asked."""

    _can_be_called = property(lambda self: True, lambda self, value: None)  # type: ignore[assignment]

    @functools.cached_property
    def _script_hash(self) -> str:  # type: ignore[override]
        return super()._script_hash


def shared_pages() -> dict[str, SharedPage]:
    """Return all pages by slug, in the language of this run. Call it within a run, because Streamlit makes no page without one."""
    return _pages_in(current().code)


@functools.cache
def _pages_in(code: str) -> dict[str, SharedPage]:
    return {
        entry.slug: SharedPage(
            functools.partial(draw_page, entry),
            title=getattr(entry.info, "menu_title", entry.info.title),
            url_path=entry.slug,
            default=entry.slug == pages.HOME,
            visibility="visible" if _menu(entry) in MENUS else "hidden",
        )
        for entry in pages.discover()
    }


def sections() -> dict[str, list[SharedPage]]:
    """Return the pages by their headings in the top bar, "" for the words of the bar itself and for hidden pages."""
    return _sections_in(current().code)


@functools.cache
def _sections_in(code: str) -> dict[str, list[SharedPage]]:
    known: dict[str, list[SharedPage]] = {heading: [] for heading in MENUS.values()}
    for entry in pages.discover():
        known[MENUS.get(_menu(entry), "")].append(_pages_in(code)[entry.slug])
    return {_(heading): found for heading, found in known.items() if found}


@functools.cache
def icon() -> str:
    """Return the icon as a data URL."""
    drawn = Path(__file__).parent.joinpath("static", "favicon.svg").read_bytes()
    return f"data:image/svg+xml;base64,{base64.b64encode(drawn).decode()}"


def draw_page(entry: pages.Entry) -> None:
    """Draw one page inside the error boundary, with the state of this visit."""
    with (
        errors.guard(),
        state.visit(entry.slug, entry.takes_selection),
        st.container(horizontal_alignment="center"),
        st.container(width=1120, key="atlas-page"),
        _surroundings(entry),
        errors.guard(),
    ):
        language.require_known()
        if not state.framed() or embed.can_be_framed(entry):
            entry.page()


@contextmanager
def _surroundings(entry: pages.Entry) -> Iterator[None]:
    """Draw what is around a page: keys, lesson and lecture room; in a frame of another site a link to the app alone."""
    if state.embedded():
        with stage.stage(entry), embed.embedded_page():
            yield
    else:
        with player.lesson_bar(entry), stage.stage(entry), bar.room_bar(entry), player.lesson_footer(entry):
            yield


def _menu(entry: pages.Entry) -> str:
    return getattr(entry.declared, "menu", HIDDEN)
