"""The lesson that this session collects, and the one that it presents; the browser stores both (walking.js)."""

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
DEFAULT_TITLE = "My lesson"
QUESTION = "lesson"
"""The beginning of the keys of the lesson's own questions."""


@dataclass(frozen=True)
class Walk:
    """A lesson that is presented: its stop, and when it began, in seconds since the epoch."""

    plan: Plan
    position: int
    began: float

    @property
    def stop(self) -> Stop:
        """The stop on screen."""
        return self.plan.stops[self.position]


def own() -> Plan:
    """Return the collected lesson, at first one without stops."""
    return st.session_state.get(_OWN) or Plan(DEFAULT_TITLE)


def turn() -> int:
    """Return the number of its changes in this session; at 0 the browser may have a newer one."""
    return st.session_state.get(_TURN, 0)


def keep(plan: Plan) -> None:
    """Replace the collected lesson; the one before can be restored."""
    st.session_state[_BEFORE] = own()
    st.session_state[_OWN] = plan
    st.session_state[_TURN] = turn() + 1


def remember(plan: Plan) -> None:
    """Replace the collected lesson by the browser's; this is not a change that can be undone."""
    if plan != own():
        st.session_state[_OWN] = plan
        st.session_state[_TURN] = turn() + 1


def add(stop: Stop) -> None:
    """Add a stop."""
    keep(own().with_stop(stop))


def before() -> Plan | None:
    """Return the collected lesson before the last change."""
    return st.session_state.get(_BEFORE)


def bring_back() -> None:
    """Undo the last change."""
    if plan := before():
        keep(plan)


def walk() -> Walk | None:
    """Return the walk of this session."""
    return st.session_state.get(_WALK)


def begin(plan: Plan, position: int = 0, began: float | None = None) -> None:
    """Present a lesson from a stop on; its clock starts now, unless it `began` earlier."""
    if plan.stops:
        position = min(max(position, 0), len(plan.stops) - 1)
        st.session_state[_WALK] = Walk(plan, position, time.time() if began is None else began)
        if began is None:
            answers.forget(QUESTION)
            answers.forget_given()
            go(position)


def go(position: int) -> None:
    """Go to a stop, or after the last one to the end; its view is opened with the next run."""
    now = walk()
    if now and position == len(now.plan.stops):
        st.session_state[_CLOSES] = True
    if now and 0 <= position < len(now.plan.stops):
        st.session_state[_WALK] = dataclasses.replace(now, position=position)
        st.session_state[_OPENS] = True


def opens() -> bool:
    """Return, once, whether the view of the stop is to be opened."""
    return st.session_state.pop(_OPENS, False)


def closes() -> bool:
    """Return, once, whether the end of the lesson is to be opened."""
    return st.session_state.pop(_CLOSES, False)


def is_end(slug: str) -> bool:
    """Return whether the page on screen is the end of the presented lesson."""
    return walk() is not None and slug == "lessons" and state.peek("lessons.end") == "1"


def leave() -> None:
    """End the walk."""
    st.session_state.pop(_WALK, None)


def ask_for_this_view() -> None:
    """Note that the view on screen is to be added to the lesson."""
    st.session_state[_ADDS] = True


def adds_this_view() -> bool:
    """Return, once, whether the view on screen is to be added."""
    return st.session_state.pop(_ADDS, False)


def ask_to_change() -> None:
    """Ask for the dialogue of the stop that was added last."""
    st.session_state[_CHANGES] = True


def changes_last() -> bool:
    """Return, once, whether the dialogue of the last stop is to be opened."""
    return st.session_state.pop(_CHANGES, False)
