"""The lecturer's bar, on every page while a room is open: its code, who is there, who has answered, reveal and pause."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import streamlit as st
from streamlit.components import v2

from viz.server.rooms.room import Room
from viz.shell import state
from viz.shell.pages import Entry
from viz.shell.room_bar import lecture

_HERE = Path(__file__).parent
_bar = v2.component(
    "atlas_room",
    html='<div class="room-bar" role="region" aria-label="Lecture room"><b data-part="code"></b><span data-part="people"></span>'
    '<span data-part="answered" hidden></span><span data-part="sentences" hidden></span>'
    '<span data-part="waits" role="status" hidden>waits for the server</span>'
    '<button type="button" data-part="again" hidden title="Discuss in pairs, then everybody answers again; the answers stay hidden">Vote again</button>'
    '<button type="button" data-part="reveal" hidden title="Close the question and show the answers">Reveal</button>'
    '<button type="button" data-part="pause" aria-pressed="false" title="Dim the screens of those who follow">Pause</button></div>',
    css=(_HERE / "bar.css").read_text("utf-8"),
    js=(_HERE / "bar.js").read_text("utf-8"),
    isolate_styles=False,
)


@contextmanager
def around(entry: Entry) -> Iterator[None]:
    """Around a page: the bar, where this session leads a room, and what the page draws for those who follow."""
    with lecture.shown(entry):
        _show()
        yield


def _show() -> None:
    leads = lecture.led()
    if leads is None:
        return
    room, secret = leads
    with st.container(key="atlas-room"):
        _bar(
            key="room.bar",
            data={"code": room.code, "secret": secret, "home": home(), "news": state.page() == lecture.PAGE},
            on_reveal_change=_reveal,
            on_take_change=_take,
            on_news_change=lambda: None,
        )


def home() -> str:
    """The path of the app in its address: "/", or what an operator put before it."""
    path = urlsplit(st.context.url or "").path
    return path[: -len(state.page())] if state.page() and path.endswith(f"/{state.page()}") else path or "/"


def _reveal() -> None:
    leads = lecture.led()
    if leads is not None:
        lecture.reveal(leads[0])


def _take() -> None:
    leads, event = lecture.led(), st.session_state.get("room.bar") or {}
    if leads is not None and event.get("take"):
        take(leads[0], int(event["take"]) - 1)


def take(room: Room, place: int) -> None:
    """A sentence of the room becomes the text on screen."""
    sentences = room.sentences()
    if 0 <= place < len(sentences):
        state.write(text=sentences[place])
