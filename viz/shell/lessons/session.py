"""The lesson that this session collects, and the one that it presents; the browser stores both (player.js)."""

from __future__ import annotations

import dataclasses
import time
from dataclasses import dataclass

import streamlit as st

from viz.languages import _, mark
from viz.shell import answers, state
from viz.shell.lessons.plan import Plan, Stop

_OWN, _BEFORE, _TURN, _WALK, _OPENS, _CLOSES, _ADDS, _CHANGES = (
    f"atlas.lesson.{name}" for name in ("own", "before", "turn", "walk", "opens", "closes", "adds", "changes")
)
DEFAULT_TITLE = mark("My lesson")
QUESTION = "lesson"
"""The beginning of the keys of the lesson's own questions."""


@dataclass(frozen=True)
class Presentation:
    """A lesson that is presented: its stop, and when it began, in seconds since the epoch."""

    plan: Plan
    position: int
    began: float

    @property
    def current_stop(self) -> Stop:
        """Return the stop of the lesson that is presented now."""
        return self.plan.stops[self.position]


def collected_lesson() -> Plan:
    """Return the collected lesson, at first one without stops."""
    return st.session_state.get(_OWN) or Plan(_(DEFAULT_TITLE))


def revision() -> int:
    """Return the number of changes of the collected lesson in this session; at 0 the browser may have a newer one."""
    return st.session_state.get(_TURN, 0)


def replace_lesson(plan: Plan) -> None:
    """Replace the collected lesson; the one before can be restored."""
    st.session_state[_BEFORE] = collected_lesson()
    st.session_state[_OWN] = plan
    st.session_state[_TURN] = revision() + 1


def adopt_stored_lesson(plan: Plan) -> None:
    """Replace the collected lesson by the browser's; this change cannot be undone."""
    if plan != collected_lesson():
        st.session_state[_OWN] = plan
        st.session_state[_TURN] = revision() + 1


def add_stop(stop: Stop) -> None:
    """Add a stop to the collected lesson."""
    replace_lesson(collected_lesson().with_stop(stop))


def previous_lesson() -> Plan | None:
    """Return the collected lesson before the last change."""
    return st.session_state.get(_BEFORE)


def undo() -> None:
    """Undo the last change."""
    if plan := previous_lesson():
        replace_lesson(plan)


def presentation() -> Presentation | None:
    """Return the lesson that this session presents, with its stop; None for none."""
    return st.session_state.get(_WALK)


def present(plan: Plan, position: int = 0, began: float | None = None) -> None:
    """Present a lesson from the stop at `position` on; its clock starts now, or at `began`."""
    if plan.stops:
        position = min(max(position, 0), len(plan.stops) - 1)
        st.session_state[_WALK] = Presentation(plan, position, time.time() if began is None else began)
        if began is None:
            answers.forget(QUESTION)
            answers.reset_given()
            go_to_stop(position)


def go_to_stop(position: int) -> None:
    """Go to the stop at `position`, or to the closing page if that is after the last one; the next run of the page opens it."""
    now = presentation()
    if now and position == len(now.plan.stops):
        st.session_state[_CLOSES] = True
    if now and 0 <= position < len(now.plan.stops):
        st.session_state[_WALK] = dataclasses.replace(now, position=position)
        st.session_state[_OPENS] = True


def consume_pending_stop() -> bool:
    """Return whether the view of the stop is to be opened, and clear the request, so that the next call returns False."""
    return st.session_state.pop(_OPENS, False)


def consume_pending_end() -> bool:
    """Return whether the end of the lesson is to be opened, and clear the request, so that the next call returns False."""
    return st.session_state.pop(_CLOSES, False)


def is_closing_page(slug: str) -> bool:
    """Return whether the page in view is the one after the last stop of the presented lesson."""
    return presentation() is not None and slug == "lessons" and state.peek("lessons.end") == "1"


def stop_presenting() -> None:
    """End the presentation."""
    st.session_state.pop(_WALK, None)


def request_adding() -> None:
    """Note that the view on screen is to be added to the lesson."""
    st.session_state[_ADDS] = True


def consume_adding() -> bool:
    """Return, once, whether the view on screen is to be added."""
    return st.session_state.pop(_ADDS, False)


def request_changing() -> None:
    """Ask for the dialogue of the stop that was added last."""
    st.session_state[_CHANGES] = True


def consume_changing() -> bool:
    """Return, once, whether the dialogue of the last stop is to be opened."""
    return st.session_state.pop(_CHANGES, False)
