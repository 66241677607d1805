"""While learning: the heads of a model form, moment by moment; and a training that one starts oneself."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from core.checkpoints import history
from core.jobs.trainer import YOURS
from core.run import Attention
from core.training import growth
from viz.labels import literal
from viz.languages import _, mark
from viz.shell import errors, state
from viz.shell.pages import Cite, Page
from viz.widgets import controls, page_parts
from viz.workspace.growth import course as courses
from viz.workspace.growth import pictures, player, train
from viz.workspace.growth.course import Course
from viz.workspace.shared import toolbar

PAGE = Page(
    title="While learning",
    order=46,
    claim="Nobody programmed these heads. They form while the model learns, and some of them quite suddenly.",
    cites=(
        Cite("olsson2022", "Key concepts", "induction heads form in a short phase change"),
        Cite("elhage2021", "Two-layer attention-only transformers", "induction heads"),
        Cite("vaswani2017", "5.3", "the optimiser and its schedule"),
    ),
    menu="lab",
    activity="heads as they form",
)
OWN_TRAINING = "here"
_BEFORE = "growth.shown"
KINDS = {
    "induction-tiny": mark("Repeated strings"),
    "gpt-twin": mark("A small language model"),
    OWN_TRAINING: mark("Train one yourself"),
}


@dataclass(frozen=True)
class Params:
    """A course and two of its moments: `step` beside `other`."""

    course: str = "induction-tiny"
    step: int = 643
    other: int = 0


@dataclass(frozen=True)
class Data:
    """The course, and the patterns at the two moments."""

    course: Course
    now: Attention
    then: Attention


def compute(p: Params = Params()) -> Data:
    course = courses.shipped(p.course)
    return Data(course, courses.patterns(course, p.step), courses.patterns(course, p.other))


def page() -> None:
    page_parts.title(PAGE)
    row = st.container()
    offered = [*growth.models_with_growth(), OWN_TRAINING]
    asked = state.peek("model")
    known = asked and history.base_name(asked) in offered
    first = history.base_name(asked) if known else offered[0]
    name = controls.segmented(
        _("What learns"), offered, "growth.of", first, lambda name: _(KINDS.get(name, name)), quiet=True
    )
    if asked and not known:
        st.caption(
            literal(
                _(
                    "{model} is not shown here: no moments of its training are stored. Below are models with theirs; yours is kept for the other pages.",
                    model=asked,
                )
            )
        )
    ticking = _ticking(name)
    st.fragment(_body, run_every=ticking)(name, ticking)
    toolbar.row("growth", row)


def _ticking(source: str) -> float | None:
    """Return the seconds until the page looks again: while it plays, or while a training of this visitor runs."""
    return (
        train.BEAT
        if source == OWN_TRAINING and train.running()
        else player.PACE
        if player.playing()
        else None
    )


def _body(source: str, ticking: float | None) -> None:
    with errors.guard():
        if _ticking(source) != ticking:
            st.rerun()
        course = _course(source)
        if course is None:
            st.text(_("Its heads are drawn here as soon as it has taken its first steps."))
            return
        alive = source == OWN_TRAINING and course.name.startswith(YOURS) and train.running(course)
        step = course.steps[-1] if alive else player.beat(course, _opening(course))
        other = _other(course, step)
        if not alive:
            player.show(course, step)
        now, then = courses.patterns(course, step), courses.patterns(course, other)
        if player.playing() and step == course.steps[-1]:
            player.stand(step)
            st.rerun()
        in_room = state.presenting()
        left, right = st.columns([1, 2] if in_room else [2, 3], gap="large")
        told = st.container()
        head = pictures.everything(course, step, other, now, left, right)
        with told:
            page_parts.summary(sentence(course, head, step))
            if not in_room:
                pictures.choices(course)
        if not in_room or source != OWN_TRAINING:  # above a training in Present its buttons take their place
            with right if in_room else told:
                pictures.draw_two_moments(course, head, step, other, now, then)
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            if in_room:
                with st.popover(_("Score and step"), icon=":material/tune:", type="tertiary"):
                    pictures.choices(course)
            train.use(course, step, *course.heads[head])
        pictures.folds(PAGE, course, head, step, other, now, then)
        if player.playing():  # what comes next is computed while this is looked at
            courses.patterns(course, player.ahead(course))


def _course(source: str) -> Course | None:
    if source != OWN_TRAINING:
        _begin_again(source)
        return courses.shipped(source, state.read("growth.habit", ""))
    course = train.show()
    if course is not None:
        _begin_again(course.name)
    return course


def _begin_again(name: str) -> None:
    """Begin another training at its own best moment: the steps and heads of the one before mean nothing in it."""
    before = st.session_state.get(_BEFORE)
    st.session_state[_BEFORE] = name
    if before not in (None, name):
        state.write(**{"growth.step": None, "growth.other": None, "growth.head": None, "growth.habit": None})


def _opening(course: Course) -> int:
    """Return the moment with which a course opens: the first kept one after the habit has grown most; of one's own training the last."""
    if course.name.startswith(YOURS):
        return course.steps[-1]
    curve = [course.curve(course.best)[course.index_of(step)] for step in course.steps]
    return course.steps[growth.steepest_moment(curve) + 1] if len(curve) > 1 else course.steps[0]


def _other(course: Course, step: int) -> int:
    """Return the moment to compare with: the first, or another one that was chosen."""
    return state.read("growth.other", course.steps[0], state.one_of(course.steps, course.steps[0]))


def sentence(course: Course, head: str, step: int) -> str:
    """Return the measures of a head in words: its largest rise between two moments, and its score now."""
    curve, at = course.curve(head), course.index_of(step)
    now = _(
        "At step {step:,} the score is {score:.2f} and the loss {loss:.2f} nats.",
        step=step,
        score=curve[at],
        loss=course.loss[at],
    )
    if len(curve) < 2:
        return now
    i = growth.steepest_moment(curve.tolist())
    sudden = curve[i + 1] - curve[i] > 0.5 * (curve.max() - curve.min()) and curve[-1] > 0.35
    if not curve[i + 1] > curve[i]:
        return " ".join((_("{head} never has this habit.", head=head), now))
    values = {
        "first": course.measured[i],
        "second": course.measured[i + 1],
        "head": head,
        "before": curve[i],
        "after": curve[i + 1],
    }
    rise = (
        _(
            "Between step {first:,} and step {second:,} the habit “{habit}” appears: {head} rises from {before:.2f} to {after:.2f}.",
            habit=course.says,
            **values,
        )
        if sudden
        else _(
            "Between step {first:,} and step {second:,} the score grows most: {head} rises from {before:.2f} to {after:.2f}.",
            **values,
        )
    )
    return f"{rise} {now}"
