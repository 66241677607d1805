"""The lesson that this session collects, and the one that it walks through; the browser keeps both (walking.js)."""

from __future__ import annotations

import dataclasses
import time
from dataclasses import dataclass

import streamlit as st

from viz.shell import state
from viz.shell.lessons.plan import Plan, Stop
from viz.widgets import answers

_OWN, _BEFORE, _TURN, _WALK, _OPENS, _CLOSES, _ADDS, _CHANGES = (
    f"atlas.lesson.{name}" for name in ("own", "before", "turn", "walk", "opens", "closes", "adds", "changes")
)
NAMED = "My lesson"
QUESTION = "lesson"
"""How the keys of the lesson's own questions begin."""


@dataclass(frozen=True)
class Walk:
    """A lesson before a class: at which stop it is, and when it began, in seconds since the epoch."""

    plan: Plan
    at: int
    began: float

    @property
    def stop(self) -> Stop:
        """The stop that it is at."""
        return self.plan.stops[self.at]


def own() -> Plan:
    """What was collected; a lesson without stops before anything was."""
    return st.session_state.get(_OWN) or Plan(NAMED)


def turn() -> int:
    """How often it was changed in this session; 0 as long as what the browser keeps is the newest."""
    return st.session_state.get(_TURN, 0)


def keep(plan: Plan) -> None:
    """This is the collected lesson now; the one before can be brought back."""
    st.session_state[_BEFORE] = own()
    st.session_state[_OWN] = plan
    st.session_state[_TURN] = turn() + 1


def remember(plan: Plan) -> None:
    """What the browser kept is the collected lesson; no change that could be taken back."""
    if plan != own():
        st.session_state[_OWN] = plan
        st.session_state[_TURN] = turn() + 1


def add(stop: Stop) -> None:
    """One stop more."""
    keep(own().with_stop(stop))


def before() -> Plan | None:
    """The collected lesson before the last change."""
    return st.session_state.get(_BEFORE)


def bring_back() -> None:
    """Take the last change back."""
    if plan := before():
        keep(plan)


def walk() -> Walk | None:
    """The walk of this session."""
    return st.session_state.get(_WALK)


def begin(plan: Plan, at: int = 0, began: float | None = None) -> None:
    """Walk through a lesson from a stop on; its clock starts now, unless it `began` earlier."""
    if plan.stops:
        at = min(max(at, 0), len(plan.stops) - 1)
        st.session_state[_WALK] = Walk(plan, at, time.time() if began is None else began)
        if began is None:
            answers.forget(QUESTION)
            answers.forget_given()
            go(at)


def go(at: int) -> None:
    """Go to a stop, or after the last one to the end; its view is opened with the next run."""
    now = walk()
    if now and at == len(now.plan.stops):
        st.session_state[_CLOSES] = True
    if now and 0 <= at < len(now.plan.stops):
        st.session_state[_WALK] = dataclasses.replace(now, at=at)
        st.session_state[_OPENS] = True


def opens() -> bool:
    """Whether the view of the stop is to be opened; says so once."""
    return st.session_state.pop(_OPENS, False)


def closes() -> bool:
    """Return, once, whether the end of the lesson is to be opened."""
    return st.session_state.pop(_CLOSES, False)


def ended(slug: str) -> bool:
    """Return whether the page on screen is the end of the lesson that is walked through."""
    return walk() is not None and slug == "lessons" and state.peek("lessons.end") == "1"


def leave() -> None:
    """The walk is over."""
    st.session_state.pop(_WALK, None)


def ask_for_this_view() -> None:
    """The visitor wants the view on screen in his lesson."""
    st.session_state[_ADDS] = True


def asked_for_this_view() -> bool:
    """Whether he does; says so once."""
    return st.session_state.pop(_ADDS, False)


def ask_to_change() -> None:
    """Ask for the dialogue of the stop that was added last."""
    st.session_state[_CHANGES] = True


def asked_to_change() -> bool:
    """Return, once, whether that dialogue is to be opened."""
    return st.session_state.pop(_CHANGES, False)
