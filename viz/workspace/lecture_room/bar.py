"""The lecturer's bar, on every page while a room is open: its code, who is there, who has answered, reveal and pause."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import streamlit as st
from streamlit.components import v2

from viz.classroom.room import Room
from viz.course.sheets.kinds import exercise_kinds_of_page
from viz.languages.script_words import ScriptWords, joined
from viz.shell import notices, present_layout, state
from viz.shell.pages import Entry, ExhibitInfo
from viz.shell.room_bar import lecture
from viz.workspace.lecture_room import own_question

_ASKS = "atlas.room.asks"
_FOLDER = Path(__file__).parent
_HTML = (
    '<div class="room-bar" role="region" aria-label="Lecture room"><b data-part="code"></b><span data-part="people"></span>'
    '<span data-part="answered" hidden></span><span data-part="sentences" hidden></span>'
    '<span data-part="waits" role="status" hidden>waits for the server</span>'
    '<button type="button" data-part="ask" title="Ask the room a question of your own about this picture">Ask</button>'
    '<button type="button" data-part="again" hidden title="Discuss in pairs, then everybody answers again; the answers stay hidden">Vote again</button>'
    '<button type="button" data-part="reveal" hidden title="Close the question and show the answers">Reveal</button>'
    '<button type="button" data-part="pause" aria-pressed="false" title="Dim the screens of those who follow">Pause</button>'
    '<a data-part="control" target="_blank" rel="noopener" title="For you alone: answers so far, sentences, notes and clock">Control</a></div>'
)
_WORDS = ScriptWords(_HTML, _FOLDER / "bar.js")
_bar = v2.component(
    "atlas_room",
    html=_HTML,
    css=(_FOLDER / "bar.css").read_text("utf-8"),
    js=joined(_FOLDER / "bar.js"),
    isolate_styles=False,
)


@contextmanager
def room_bar(entry: Entry) -> Iterator[None]:
    """Draw, around a page, the lecturer's bar if this session leads a room, and the room's own question."""
    with lecture.publish_page(entry, exercise_kinds_of_page(entry.slug)):
        _show()
        yield
        if leads := lecture.led_room():
            beside = isinstance(entry.info, ExhibitInfo) and state.presenting()
            with present_layout.side_area() if beside else notices.area():
                own_question.show(leads[0])
            if st.session_state.pop(_ASKS, False):
                own_question.dialog(leads[0])


def _show() -> None:
    leads = lecture.led_room()
    if leads is None:
        return
    room, secret = leads
    with st.container(key="atlas-room"):
        _bar(
            key="room.bar",
            data={
                "code": room.code,
                "secret": secret,
                "home": app_path(),
                "news": state.page() == lecture.PAGE,
                "own": _own_question_state(room),
                **_WORDS.data(),
            },
            on_ask_change=_ask,
            on_reveal_change=_reveal,
            on_take_change=_take,
            on_news_change=lambda: None,
        )


def _own_question_state(room: Room) -> str:
    """Return the id and state of the lecturer's own question that is open, as the bar's script compares it with the room's; "" for none."""
    asked = room.question
    if asked is None or not asked.key.startswith(lecture.OWN):
        return ""
    return f"{asked.id} {'revealed' if asked.revealed else 'open'}"


def _ask() -> None:
    st.session_state[_ASKS] = True


def app_path() -> str:
    """Return the path of the app in its address: "/", or the prefix that an operator put before it."""
    path = urlsplit(st.context.url or "").path
    home = path.removesuffix(state.page()) if path.endswith(f"/{state.page()}") else path
    return f"{home.rstrip('/')}/"


def _reveal() -> None:
    leads = lecture.led_room()
    if leads is not None:
        lecture.reveal(leads[0])


def _take() -> None:
    """Make a sentence of the room the text on screen."""
    leads, event = lecture.led_room(), st.session_state.get("room.bar") or {}
    if leads is not None and (words := leads[0].sentence(str(event.get("take") or ""))):
        state.write(text=words)
