"""The lecture room: open one, and show its code on the wall; everything for the lecturer alone is on the Control page."""

from __future__ import annotations

from dataclasses import dataclass

import segno
import streamlit as st

from viz.classroom import addresses, store
from viz.classroom.room import Room
from viz.labels import fill
from viz.languages import _, mark, ngettext
from viz.shell import errors, links
from viz.shell.pages import Page
from viz.shell.room_bar import lecture
from viz.widgets import page_parts
from viz.workspace.lecture_room import bar

PAGE = Page(
    title="Lecture room",
    order=88,
    menu="more",
    claim="A class follows on its phones what you show here, answers your questions, and sends you sentences.",
)
HOW = mark(
    "Open a room, show the code on the wall, and teach as always: the page that you open, the sentence that you type and the word that you touch appear on the phones of all who have joined. Every question of the course becomes the room's question, and *Ask* in the bar asks one of your own. Nobody needs an account, a name or an app."
)
KEEPS = mark(
    "A room keeps the view that the lecturer shows, the open question with one answer per seat, and the sentences that were sent. A seat is a random number in a cookie of the browser; no name and no address is kept. A sentence is shown to the lecturer alone until it is accepted for the wall; answers are shown to nobody else before the reveal, and then only as counts. All of it is in the memory of {where} and never on its disk. When the lecturer ends the room, or four hours after the last event, seats and sentences are deleted; the pages that were shown, with the text on screen, and the counts can be read with the code for four more hours."
)
HERE, SHARED = mark("this server"), mark("this server, of its other copies and of the Redis that they share,")
ONLY_HERE = mark(
    "This server listens to this machine only, so no phone can reach it. Start it for a room: `streamlit run app.py --server.address 0.0.0.0`"
)


@dataclass(frozen=True)
class Params:
    """No parameters: a link with a room in it would open the room to everybody who has the link."""


def compute(p: Params) -> None:
    """Compute nothing: a room shows what other pages do."""


def page() -> None:
    page_parts.title(PAGE, lesson_only=True)
    leads = lecture.led_room()
    if leads is None:
        _closed()
    else:
        _open(*leads)
    with page_parts.fold(_("What a room keeps"), "lecture_room.keeps") as opened:
        if opened.open:
            st.markdown(_(KEEPS, where=_(SHARED) if store.ROOMS.shared else _(HERE)))


def _closed() -> None:
    if code := lecture.ended_code():
        with st.container(border=True):
            st.markdown(
                _("**The lecture has ended.** What was shown, the exercises and the counts of all votes:")
            )
            st.link_button(
                _("Open the end page"), f"{bar.app_path()}room/{code}/presenter", icon=":material/summarize:"
            )
    st.markdown(_(HOW))
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button(_("Open a room"), type="primary", on_click=_open_room, key="room.open")
        st.link_button(_("Join a room"), f"{bar.app_path()}room")


def _open_room() -> None:
    with errors.guard():
        lecture.open_room()


def _open(room: Room, secret: str) -> None:
    address = _address()
    base = f"{address}{bar.app_path()}room/{room.code}"
    code = segno.make(f"{base}?d={room.door}", error="m", micro=False)
    picture = code.svg_data_uri(scale=8, border=2, dark="#000000", light="#ffffff")
    room.set_address(f"{address}{bar.app_path()}room", picture)
    left, right = st.columns([2, 3], gap="large", vertical_alignment="center")
    with left:
        st.image(
            code.svg_inline(scale=8, border=2, dark="#000000", light="#ffffff"),
            width=360,
            alt=_("QR code of the address of this room"),
        )
    with right:
        with st.container(key="room-code", gap=None):
            st.markdown(
                fill(_("Join at **{address}** with the code"), address=f"{address}{bar.app_path()}room")
            )
            st.title(store.spoken_code(room.code), anchor=False, width="content")
        st.text(ngettext("1 has joined.", "{n} have joined.", room.joined))
        with st.container(horizontal=True):
            links.page_link("look", _("Start with the first picture"), icon=":material/arrow_forward:")
            st.link_button(
                _("The wall"), f"{bar.app_path()}room/{room.code}/wall", icon=":material/co_present:"
            )
        with st.container(horizontal=True):
            st.link_button(
                _("Control"), f"{bar.app_path()}room/{room.code}/presenter", icon=":material/speaker_notes:"
            )
            with st.popover(_("Control on your phone")):
                st.markdown(
                    _(
                        "Scan this with your own phone and show it to nobody: whoever has it controls the room."
                    )
                )
                remote = segno.make(f"{base}/presenter#{secret}", error="m", micro=False)
                st.image(
                    remote.svg_inline(scale=6, border=2, dark="#000000", light="#ffffff"),
                    width=220,
                    alt=_("QR code that controls this room"),
                )
            st.button(_("End the room"), on_click=lecture.end_room, key="room.end", icon=":material/close:")
    st.caption(
        _(
            "Control is a window for you alone, on another screen or your phone: the answers before the reveal, the sentences of the room, notes and clock."
        )
    )
    for sentence in room.on_wall():
        st.text(sentence)


def _address() -> str:
    """Return the address that others use, chosen where the machine is in several networks."""
    url = st.context.url or "http://127.0.0.1:8501/"
    found = addresses.reachable(url, st.get_option("server.address"))
    if not found:
        st.warning(_(ONLY_HERE), icon=":material/wifi_off:")
        at = url.split("/")
        return f"{at[0]}//{at[2]}"
    if len(found) == 1:
        return found[0]
    return st.radio(_("The network of the class"), found, key="room.network", horizontal=True)
