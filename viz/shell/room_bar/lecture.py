"""The room that this session leads, if it leads one: what its page shows and asks goes there.

A session that opened none pays one look-up a run. The secret stays in the session; the lecturer's browser keeps it in a cookie
that no script can read, so that a reload goes on with the lecture.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qsl, urlencode

import streamlit as st

from viz.classroom import store
from viz.classroom.ask import OWN_KEY as OWN
from viz.classroom.ask import Question
from viz.classroom.pictures import RoomPicture
from viz.classroom.room import Room
from viz.classroom.seats import LEAD
from viz.instruments.kit import picture_listener
from viz.instruments.kit.picture_listener import AnyPicture
from viz.platform import run_context
from viz.shell import answers, selection, state
from viz.shell.pages import HOME, Entry
from viz.shell.room_bar import pictures

_LED, _DRAWN, _ASKED, _REVEAL = "atlas.room", "atlas.room.drawn", "atlas.room.asked", "atlas.room.reveal"
PAGE = "lecture_room"
"""The slug of the page of the room: while it is in view the wall shows how to join."""
LISTENER = "atlas.room.looks_on"
"""In a session that leads no room: what is called with each picture of its pages (viz.export.record)."""


def led_room() -> tuple[Room, str] | None:
    """Return the room that this session leads and the secret that controls it; None if it leads none, or is in a frame."""
    if state.framed():
        return None
    held = st.session_state.get(_LED)
    if held is None:
        code, _, secret = str(st.context.cookies.get(LEAD, "")).partition(".")
        held = st.session_state[_LED] = (code, secret)
    if not held[0] or (room := store.ROOMS.find(held[0])) is None or not room.accepts_secret(held[1]):
        return None
    return room, held[1]


def open_room() -> None:
    """Open a room and lead it; the one that this session led before ends."""
    if before := led_room():
        before[0].end()
    room, secret = store.ROOMS.open()
    st.session_state[_LED] = (room.code, secret)


def end_room() -> None:
    """End the room that this session leads; of it only the record is kept."""
    if before := led_room():
        before[0].end()
    picture_listener.set_listener(None)


def ended_code() -> str:
    """Return the code of the room that this session led, while its end can be read; "" for none."""
    code, secret = st.session_state.get(_LED) or ("", "")
    room = store.ROOMS.find_ended(code) if code else None
    return code if room and room.accepts_secret(secret) else ""


@contextmanager
def publish_page(entry: Entry, exercises: Sequence[str] = ()) -> Iterator[None]:
    """Publish, as a context around the drawing of a page, its pictures, its question and the kinds of its exercises to the room that this session leads."""
    leads = led_room()
    if leads is None:
        picture_listener.set_listener(st.session_state.get(LISTENER))
        yield
        return
    room, drawn = leads[0], _PagePictures(leads[0], entry, exercises, st.session_state.get(_DRAWN))
    st.session_state[_DRAWN], st.session_state[_ASKED] = drawn, None
    picture_listener.set_listener(drawn.see)
    yield
    drawn.complete = True
    drawn.tell()
    _ask(room, st.session_state[_ASKED])


def ask_room(question: Question, *, guessed: bool, reveal: Callable[[Room], None] | None = None) -> None:
    """Ask the lecture room a question of the page: open until the lecturer has answered (`guessed`), then revealed with its truth.

    reveal: called when the lecturer reveals, where a guess of the lecturer's does not close the question.
    """
    leads = led_room()
    if leads is None:
        return
    question.revealed = guessed
    st.session_state[_REVEAL] = question.key, reveal
    before: Question | None = st.session_state.get(_ASKED)
    if before is None or before.revealed or before.key == question.key:
        st.session_state[_ASKED] = question
        drawn: _PagePictures | None = st.session_state.get(_DRAWN)
        if drawn and drawn.complete:  # a part of the page that is drawn anew
            _ask(leads[0], question)


def clear_page_question() -> None:
    """Remove the question that the page asked, so that the next one takes its place."""
    st.session_state[_ASKED] = None


def revealed_answers(question: Question) -> Question | None:
    """Return this question with the answers of the room of this session, once it is revealed; else None."""
    leads = led_room()
    asked = leads[0].question if leads else None
    return (
        asked if asked and asked.revealed and asked.answers and asked.identity == question.identity else None
    )


def reveal(room: Room) -> None:
    """Reveal the answer of the room's open question. For a question of the page, the room's majority is entered as the lecturer's guess."""
    asked = room.question
    if asked is None or asked.revealed:
        return
    key, act = st.session_state.get(_REVEAL) or ("", None)
    if asked.key.startswith(OWN):
        room.reveal(asked.truth, asked.explanation)
    elif act and key == asked.key:
        act(room)
    elif (guess := asked.majority()) is not None:
        answers.guess(asked.key, asked.form.options[guess] if asked.form.kind == "choice" else guess)


def _ask(room: Room, question: Question | None) -> None:
    """Make the page's question the room's, or reveal it, unless the lecturer's own question is open there."""
    now = room.question
    if now and now.key.startswith(OWN):
        return
    if question is None or not question.revealed:
        room.set_question(question)
    elif now is None or now.identity != question.identity:
        room.set_question(None)  # it was answered before the room was asked
    elif not now.revealed:
        room.reveal(question.truth, question.explanation)


class _PagePictures:
    """The pictures of one run of a page, updated by each part of it that is drawn again."""

    def __init__(
        self, room: Room, entry: Entry, exercises: Sequence[str], before: _PagePictures | None
    ) -> None:
        self.room, self.entry, self.complete, self.unseen = room, entry, False, False
        self.exercises = list(exercises)
        self.pictures: dict[str, RoomPicture] = {}
        self._before = before.pictures if before and before.entry == entry else {}
        self._part_of: dict[str, str | None] = {}
        self._runs: dict[str | None, object] = {}

    def see(self, key: str, picture: AnyPicture) -> None:
        """Add a picture of the page."""
        part, run = run_context.part(), run_context.identity()
        if (
            self.complete and self._runs.get(part) is not run
        ):  # this part begins anew: what it drew before has gone
            for other in [name for name, home in self._part_of.items() if home == part and name != key]:
                del self._part_of[other], self.pictures[other]
        self._runs[part] = run
        if made := pictures.for_followers(key, picture):
            self.pictures[key], self._part_of[key] = made, part
        else:
            self.unseen = True
        if self.complete:
            self.tell()
        elif (
            key in self._before
        ):  # the same picture of something else: nobody need wait for the rest of the page
            self.room.show(self._view(), {**self._before, **self.pictures})

    def tell(self) -> None:
        """Send the room the pictures drawn so far."""
        self.room.show(self._view(), self.pictures)

    def _view(self) -> dict[str, Any]:
        query = urlencode([(name, value) for name, value in parse_qsl(state.query()) if name != "present"])
        slug = self.entry.slug
        return {
            "title": self.entry.info.title,
            "claim": self.entry.info.claim,
            "link": (slug if slug != HOME else "") + (f"?{query}" if query else ""),
            "sentence": selection.current_selection().get("text", ""),
            "unseen": self.unseen,
            "invites": slug == PAGE,
            "exercises": self.exercises,
        }
