"""The visitor's answers: kept with the visit under "predict:NAME" and `ASKED`, until the page is brought back to its opening state."""

from __future__ import annotations

import streamlit as st

from viz.shell import progress

STATE_SUFFIX = ":asked"
_ANSWERS = "atlas.answers.given"


def forget(slug: str) -> None:
    """Discard the answers to all questions of a page, so that it asks them again."""
    progress.forget_answers(slug)
    for name in list(st.session_state):
        if str(name).startswith(f"predict:{slug}.") and str(name).endswith(STATE_SUFFIX):
            st.session_state[name] = {"of": None, "guess": None}


def record(question: str, guess: object, right: bool) -> None:
    """Note an answer whose verdict is on screen; the question asked again has the later one."""
    st.session_state.setdefault(_ANSWERS, {})[question] = (str(guess), right)


def given_answers() -> dict[str, tuple[str, bool]]:
    """Return the answers since the lesson began: question to the guess and whether it was right."""
    return st.session_state.get(_ANSWERS, {})


def reset_given() -> None:
    """Begin a new list of answers."""
    st.session_state[_ANSWERS] = {}


def guess(name: str, value: object) -> None:
    """Answer a question that is asked now, as a click of the visitor would."""
    slot = f"predict:{name}{STATE_SUFFIX}"
    if slot in st.session_state:
        st.session_state[slot] = st.session_state[slot] | {"guess": value}
