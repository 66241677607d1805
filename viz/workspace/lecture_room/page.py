"""The lecture room: open one, let a class follow on phones, ask it, take its sentences, end it."""

from __future__ import annotations

from dataclasses import dataclass

import segno
import streamlit as st

from viz.labels import literal
from viz.server.rooms import addresses, store
from viz.server.rooms.room import Room
from viz.shell import errors, links, state
from viz.shell.pages import Page
from viz.shell.room_bar import bar, lecture
from viz.widgets import page_parts
from viz.workspace.lecture_room import own_question

PAGE = Page(
    title="Lecture room",
    order=88,
    menu="more",
    claim="A class follows on its phones what you show here, answers your questions, and sends you sentences.",
)
HOW = (
    "Open a room, show the code on the wall, and go on as always: whatever page you open, sentence you type or word you touch appears "
    "on the page of everybody who has joined. Every question of the course becomes the room's question. Nobody needs an account, a name or an app."
)
KEEPS = (
    "A room keeps the view that the lecturer shows, the open question with one answer a seat, and the sentences that were sent and not yet read. "
    "A seat is a random number in a cookie of the browser; no name and no address is kept. "
    "Sentences are shown to the lecturer alone; answers are shown to nobody before the reveal, and then only as counts. "
    "All of it is in the memory of {where} and never on its disk. "
    "It is forgotten when the lecturer ends the room, or four hours after the last event."
)
HERE, SHARED = "this server", "this server, of its other copies and of the Redis that they share,"
ONLY_HERE = (
    "This server listens to this machine only, so no phone can reach it. Start it for a room: "
    "`streamlit run app.py --server.address 0.0.0.0`"
)


@dataclass(frozen=True)
class Params:
    """Nothing of a room is in the link: it would be for everybody who has the link."""


def compute(p: Params) -> None:
    """Nothing is computed: a room shows what other pages do."""


def page() -> None:
    page_parts.title(PAGE, still=True)
    leads = lecture.led()
    if leads is None:
        _closed()
    else:
        _open(*leads)
    st.header("What a room keeps", anchor=False)
    st.markdown(KEEPS.format(where=SHARED if store.ROOMS.shared else HERE))


def _closed() -> None:
    st.markdown(HOW)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button("Open a room", type="primary", on_click=_open_room, key="room.open")
        st.link_button("Join a room", f"{bar.home()}room")


def _open_room() -> None:
    with errors.guard():
        lecture.open_room()


def _open(room: Room, secret: str) -> None:
    address = _address()
    base = f"{address}{bar.home()}room/{room.code}"
    code = segno.make(f"{base}?d={room.door}", error="m", micro=False)
    picture = code.svg_data_uri(scale=8, border=2, dark="#000000", light="#ffffff")
    room.stands(f"{address}{bar.home()}room", picture)
    left, right = st.columns([2, 3], gap="large", vertical_alignment="center")
    with left:
        st.image(
            code.svg_inline(scale=8, border=2, dark="#000000", light="#ffffff"),
            width=260,
            alt="QR code of the address of this room",
        )
    with right:
        st.markdown(f"Join at **{literal(f'{address}{bar.home()}room')}** with the code")
        st.title(store.spoken(room.code), anchor=False, width="content")
        with st.container(horizontal=True):
            st.link_button("The wall", f"{bar.home()}room/{room.code}/wall", icon=":material/co_present:")
            st.link_button(
                "Presenter's view", f"{bar.home()}room/{room.code}/presenter", icon=":material/speaker_notes:"
            )
            links.to("look", "Begin with the first picture", icon=":material/arrow_forward:")
        with st.popover("Steer from a second device"):
            st.markdown("Scan this with your own phone, and show it to nobody: who has it steers the room.")
            remote = segno.make(f"{base}/presenter#{secret}", error="m", micro=False)
            st.image(
                remote.svg_inline(scale=6, border=2, dark="#000000", light="#ffffff"),
                width=220,
                alt="QR code that steers this room",
            )
    _sentences(room)
    own_question.show(room)
    st.button("End the room", on_click=lecture.end_room, key="room.end", icon=":material/close:")


def _address() -> str:
    """The address that others use, chosen where the machine is in several networks."""
    url = st.context.url or "http://127.0.0.1:8501/"
    found = addresses.reachable(url, st.get_option("server.address"))
    if not found:
        st.warning(ONLY_HERE, icon=":material/wifi_off:")
        at = url.split("/")
        return f"{at[0]}//{at[2]}"
    if len(found) == 1:
        return found[0]
    return st.radio("The network that the room is in", found, key="room.network", horizontal=True)


def _sentences(room: Room) -> None:
    """What was sent: the lecturer alone sees it, and takes one with a click."""
    found = room.sentences()
    st.header("Sentences of the room", anchor=False)
    if not found:
        st.text("Nobody has sent one. Those who follow can, below the picture.")
        return
    for place, sentence in enumerate(found[-20:], max(0, len(found) - 20)):
        with st.container(horizontal=True, vertical_alignment="center", key=f"room-said-{place}"):
            st.text(sentence)
            st.button("Take", key=f"room.take.{place}", on_click=_take, args=(room, place, sentence))
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button("Forget them all", on_click=room.read, key="room.read")
        if state.own_text():
            links.to("look", f"Show “{literal(state.own_text())}” in Look", text=state.own_text())


def _take(room: Room, place: int, sentence: str) -> None:
    if room.sentences()[place : place + 1] == [sentence]:
        bar.take(room, place)
