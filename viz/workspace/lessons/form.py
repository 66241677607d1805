"""The dialogue of a stop: its name and minutes, the note, the question."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from urllib.parse import parse_qsl

import streamlit as st

from core.errors import InputError
from viz.labels import formulas, literal
from viz.languages import _, mark, ngettext
from viz.number_text import in_minutes
from viz.shell import notices, state
from viz.shell.lessons import plan, session, views
from viz.shell.lessons.plan import Ask, Plan, Stop
from viz.shell.pages import Entry
from viz.shell.questions import form as own
from viz.shell.questions.question import Choice, Number
from viz.widgets import quiz

KINDS = {
    "none": mark("None"),
    "page": mark("The one on the page"),
    "choice": mark("My own: a choice"),
    "number": mark("My own: a number"),
}
OF_PAGE = mark("The page asks its own question, if it has one; in a lecture room the class answers it.")
_OPENED = "atlas.lesson.form"
_FORM_ON_SCREEN = "atlas.lesson.form.shown"


def stop_of_view(entry: Entry) -> Stop:
    """Return the view on screen as a stop: its link, and the name of the page and its step."""
    view = views.current_view(entry, dict(parse_qsl(state.query(), keep_blank_values=True)))
    at = view.query.get(f"{entry.slug}.step", "1")
    step = entry.steps[int(at) - 1] if at.isdecimal() and 0 < int(at) <= len(entry.steps) else ""
    title = entry.info.title
    return Stop(view.link, (f"{title}: {step}" if step and step != title else title)[: plan.LONGEST_NAME])


def add_view(entry: Entry) -> None:
    """Add the view on screen to the collected lesson at once, and offer to change the stop."""
    stop = stop_of_view(entry)
    try:
        asks = quiz.first_question()[: plan.LONGEST_ASKS]
        session.add_stop(dataclasses.replace(stop, question=plan.OF_THE_PAGE, asks=asks) if asks else stop)
    except InputError as error:
        with notices.area():
            notices.box(error.wrong, error.rule, error.remedy)
        return
    lesson = session.collected_lesson()
    with st.container(key="atlas-added", horizontal=True, vertical_alignment="center"):
        st.text(
            _(
                "Added to “{lesson}”: {stop}. {extent}.",
                lesson=lesson.title,
                stop=lesson.stops[-1].name,
                extent=_extent(lesson),
            ),
            width="content",
        )
        if [name for name in state.unlinkable_names() if name not in views.PRESENTATION_PARAMS]:
            st.text(
                _(
                    "The text has more than {most:,} characters and is not saved: the stop opens with the page's own text.",
                    most=state.LONGEST,
                )
            )
        st.button(_("Change"), key="lesson.added.change", on_click=session.request_changing)


def change_stop(position: int) -> None:
    """Open the dialogue for a stop of the collected lesson."""
    lesson = session.collected_lesson()
    _open(
        _("Change the stop"),
        lesson.stops[position],
        lambda stop: session.replace_lesson(lesson.with_stop(stop, position)),
    )


def _open(title: str, stop: Stop, done: Callable[[Stop], None]) -> None:
    st.session_state[_OPENED] = st.session_state.get(_OPENED, 0) + 1
    key = f"lesson.form.{st.session_state[_OPENED]}"

    @st.dialog(title)
    def dialogue() -> None:
        name = st.text_input(_("Name"), stop.name, max_chars=plan.LONGEST_NAME, key=f"{key}.name")
        minutes = st.number_input(
            _("Minutes"),
            plan.LEAST_MINUTES,
            plan.MOST_MINUTES,
            stop.minutes,
            0.5,
            format="%g",
            key=f"{key}.minutes",
        )
        optional = st.checkbox(_("May be skipped when time is short"), stop.optional, key=f"{key}.optional")
        note = st.text_area(
            _("Note for the lecturer"),
            stop.note,
            height=130,
            max_chars=plan.LONGEST_NOTE,
            placeholder=_("What to say and point at. The class does not see it."),
            key=f"{key}.note",
        )
        question = _question(key, stop)
        if st.button(_("Keep"), type="primary", key=f"{key}.done"):
            try:
                asked = question()
                made = dataclasses.replace(
                    stop,
                    name=name.strip(),
                    minutes=float(minutes),
                    note=note.strip(),
                    question=asked,
                    optional=optional,
                    asks=stop.asks if asked == plan.OF_THE_PAGE else "",
                )
            except InputError as error:
                notices.box(error.wrong, error.rule, error.remedy)
                return
            done(made)
            lesson = session.collected_lesson()
            st.session_state[_FORM_ON_SCREEN] = _(
                "“{lesson}” has {extent}.", lesson=lesson.title, extent=_extent(lesson)
            )
            st.rerun()

    dialogue()


def _extent(lesson: Plan) -> str:
    """Return how long a lesson is."""
    many = ngettext("1 stop", "{n} stops", len(lesson.stops))
    return f"{many}, {in_minutes(lesson.minutes)}"


def show_result() -> None:
    """Show the result of the last dialogue, once."""
    if words := st.session_state.pop(_FORM_ON_SCREEN, ""):
        st.toast(literal(words), icon=":material/playlist_add_check:")


def _question(key: str, stop: Stop) -> Callable[[], Ask]:
    """Draw the controls of a question; return the function that makes it of them."""
    now = stop.question
    kinds: dict[type, str] = {Choice: "choice", Number: "number", str: "page"}
    kind = st.segmented_control(
        _("Question"),
        list(KINDS),
        default=kinds.get(type(now), "none"),
        format_func=lambda kind: _(KINDS[kind]),
        required=True,
        key=f"{key}.kind",
    )
    if kind == "choice":
        return own.draw_choice(key, now if isinstance(now, Choice) else None, poll=False)
    if kind == "number":
        return own.number(key, now if isinstance(now, Number) else None, poll=False)
    if kind == "page":
        st.caption(formulas(stop.asks) if stop.asks else _(OF_PAGE))
    return lambda: plan.OF_THE_PAGE if kind == "page" else None
