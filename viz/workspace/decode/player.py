"""The player of Decode: one step on, one back, first, last, play at a speed of choice; buttons and keys."""

from __future__ import annotations

import streamlit as st

from core.decoding import Step
from viz.languages import _
from viz.shell import state
from viz.widgets import controls

MOST = 256
"""Tokens that a decoding of the page writes at most."""
SPEEDS, USUAL = {2: 0.5, 4: 0.25, 8: 0.125}, 4
"""Tokens a second while it plays, and the seconds between two."""
_PLAYING, _LIVE = "decode.playing", "decode.live"


def playing() -> bool:
    """Return whether it plays; then the step is kept in the session and put in the link when it stops."""
    return bool(st.session_state.get(_PLAYING))


def pace() -> float:
    """Return the seconds between two steps."""
    return SPEEDS[state.read("decode.speed", USUAL, state.one_of(list(SPEEDS), USUAL))]


def beat() -> int:
    """Return how many steps to show: one more at each beat while it plays."""
    if playing():
        st.session_state[_LIVE] = min(st.session_state[_LIVE] + 1, MOST)
        return st.session_state[_LIVE]
    return state.read("decode.n", 1, state.whole_number(1, MOST))


def go(n: int) -> None:
    """Go to step n and stop there."""
    stop()
    state.write(**{"decode.n": n})


def stop() -> None:
    st.session_state[_PLAYING] = False


def play(n: int) -> None:
    st.session_state[_PLAYING], st.session_state[_LIVE] = True, n


def buttons(n: int, last: Step, ticking: float | None) -> None:
    """Draw the buttons, in the row that the caller has opened. The beat (`ticking`, None: none) belongs to the whole page, so a change reruns it."""
    if playing() and last.done:
        go(n)
    if (pace() if playing() else None) != ticking:
        st.rerun()
    st.button(
        _("Next token"),
        icon=":material/arrow_forward:",
        type="primary",
        shortcut="Right",
        key="decode.next",
        disabled=last.done,
        on_click=go,
        args=(n + 1,),
    )
    st.button(
        _("Back"),
        icon=":material/arrow_back:",
        shortcut="Left",
        key="decode.back",
        disabled=n < 2,
        on_click=go,
        args=(n - 1,),
    )
    if playing():  # two buttons, not one with two names: as one, a Stop was once taken for a Play in a test
        st.button(_("Stop"), icon=":material/stop:", shortcut="P", key="decode.stop", on_click=go, args=(n,))
        controls.segmented(
            _("Speed"), list(SPEEDS), "decode.speed", USUAL, lambda n: _("{n} a second", n=n), quiet=True
        )
    else:
        st.button(
            _("Play"),
            icon=":material/play_arrow:",
            shortcut="P",
            key="decode.play",
            disabled=last.done,
            on_click=play,
            args=(n,),
        )
    st.button(
        _("First"),
        icon=":material/first_page:",
        shortcut="Home",
        key="decode.first",
        disabled=n < 2,
        on_click=go,
        args=(1,),
    )
    st.button(
        _("Last"),
        icon=":material/last_page:",
        shortcut="End",
        key="decode.last",
        disabled=last.done,
        on_click=go,
        args=(MOST,),
    )
