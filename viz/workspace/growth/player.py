"""The player of a training: a slider over the kept moments, one back, one on, and play."""

from __future__ import annotations

import streamlit as st

from viz.languages import _, write_number
from viz.shell import state
from viz.workspace.growth.course import Course

PACE = 0.9
"""Seconds that a moment is shown while it plays."""
_PLAYING, _LIVE = "growth.playing", "growth.live"


def playing() -> bool:
    """Return whether it plays; then the moment is kept in the session, and put in the link when it stops."""
    return bool(st.session_state.get(_PLAYING))


def beat(course: Course, opening: int) -> int:
    """Return the step to show: the next one at each beat while it plays, else the chosen one."""
    if not playing():
        return state.read("growth.step", opening, state.one_of(course.steps, opening))
    index = min(st.session_state.get(_LIVE, 0), len(course.steps) - 1)
    st.session_state[_LIVE] = index + 1
    return course.steps[index]


def ahead(course: Course) -> int:
    """Return the step of the next beat."""
    return course.steps[min(st.session_state.get(_LIVE, 0), len(course.steps) - 1)]


def stand(step: int) -> None:
    """Show this step and stand still."""
    st.session_state[_PLAYING] = False
    state.write(**{"growth.step": step})


def play(course: Course, step: int) -> None:
    """Play from this step, or from the first when it is the last."""
    index = course.steps.index(step)
    st.session_state[_PLAYING], st.session_state[_LIVE] = (
        True,
        0 if index + 1 == len(course.steps) else index + 1,
    )


def show(course: Course, step: int) -> None:
    """Draw the slider, its positions at equal factors of steps, and the buttons beside it."""
    steps, index = course.steps, course.steps.index(step)
    key = f"growth.slider:{course.name}:{len(steps)}"
    state.seed_widget(key, step)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        if len(steps) > 1:
            st.select_slider(
                _("Step of the training"),
                steps,
                step,
                key=key,
                format_func=lambda step: write_number(f"{step:,}"),
                on_change=lambda: stand(st.session_state[key]),
                width="stretch",
            )
        else:
            st.text(_("Step 0: nothing is learned yet."))
        st.button(
            _("Back"),
            icon=":material/arrow_back:",
            key="growth.back",
            disabled=index == 0,
            on_click=stand,
            args=(steps[max(0, index - 1)],),
        )
        if playing():
            st.button(_("Stop"), icon=":material/stop:", key="growth.stop", on_click=stand, args=(step,))
        else:
            st.button(
                _("Play"),
                icon=":material/play_arrow:",
                key="growth.play",
                disabled=len(steps) < 2,
                on_click=play,
                args=(course, step),
            )
