"""Train it here: choose a small task, start, watch, stop. It opens on a recorded run."""

from __future__ import annotations

import streamlit as st

from core.jobs.names import task_of
from core.jobs.trainer import Training
from core.training.toy import toy_training
from viz.labels import percent
from viz.languages import _
from viz.shell import links, state
from viz.widgets import controls, training_jobs
from viz.workspace.growth import course as courses
from viz.workspace.growth.course import Course

BEAT = training_jobs.BEAT
MINUTES = toy_training.LONGEST / 60


def running(course: Course | None = None) -> bool:
    """Return whether this visitor's training waits or runs: that of this course, or any."""
    return training_jobs.running((course and task_of(course.name)) or "")


def show() -> Course | None:
    """Draw the task, the button, and a line with the state; then return the course: one's own where there is one, else the recorded one."""
    tasks = toy_training.RecordedRun.names() or tuple(toy_training.TASKS)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        name = controls.segmented(
            _("What it has to learn"),
            tasks,
            "growth.task",
            tasks[0],
            lambda task: _(toy_training.TASKS[task].title),
            quiet=True,
        )
        mine = training_jobs.latest_training(name)
        if mine is not None and not mine.over:
            st.button(
                _("Stop"), icon=":material/stop_circle:", key="growth.halt", on_click=training_jobs.stop
            )
        else:
            st.button(
                _("Train it yourself") if mine is None else _("Train it again"),
                icon=":material/model_training:",
                type="primary",
                key="growth.start",
                on_click=_start,
                args=(name,),
            )
        if mine is not None and mine.over and name in toy_training.RecordedRun.names():
            st.button(
                _("The recorded run"),
                type="tertiary",
                key="growth.recorded",
                on_click=lambda: state.write(**{"growth.whose": "recorded"}),
            )
    own = (
        mine is not None
        and state.read("growth.whose", "own", state.one_of(("own", "recorded"), "own")) == "own"
    )
    course = (
        courses.own_course(mine)
        if own and mine
        else courses.recorded(name)
        if name in toy_training.RecordedRun.names()
        else None
    )
    _draw_state(name, mine if own else None, course)
    return course


def _start(task: str) -> None:
    training_jobs.start(task)
    state.write(**{"growth.whose": None, "growth.step": None, "growth.other": None})


def _draw_state(task: str, mine: Training | None, course: Course | None) -> None:
    """Draw the task to be learned and the state of the training: always a line of text and a bar."""
    st.text(
        _(
            "{task} For example: {example}",
            task=_(toy_training.TASKS[task].says),
            example=toy_training.TASKS[task].example,
        )
    )
    if mine is None:
        run = toy_training.RecordedRun.read(task) if course is not None else None
        last = run.reports[-1] if run else None
        told = (
            _(
                "Recorded run, made before: {steps:,} steps in {seconds:.0f} seconds on {machine}, token accuracy {share} at the end.",
                steps=last.step,
                seconds=last.seconds,
                machine=run.machine,
                share=percent(last.right),
            )
            if run and last
            else _("There is no recorded run of this task: start one.")
        )
        st.progress(1.0 if run else 0.0, told)
        return
    steps = toy_training.TASKS[task].steps
    st.progress(
        training_jobs.share(mine, steps, toy_training.LONGEST),
        training_jobs.progress_sentence(mine, steps, _("symbols")),
    )


def use(course: Course, step: int, layer: int, head: int) -> None:
    """Draw the way to the other pages with the weights of this step and the head in view."""
    shown = {"model": course.model(step), "text": course.text, "kind": "causal", "layer": layer, "head": head}
    links.page_link(
        "look", _("Open step {step:,} in Look", step=step), icon=":material/visibility:", view="full", **shown
    )
    links.page_link("what_if", _("Change it in What if"), **shown)
