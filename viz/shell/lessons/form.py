"""What is asked for a stop, in a dialogue: its name and minutes, the note, the question."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from urllib.parse import parse_qsl

import streamlit as st

from core.errors import InputError
from viz.labels import literal
from viz.shell import notices, state
from viz.shell.lessons import held, plan, views
from viz.shell.lessons.plan import Ask, Choice, Number, Stop
from viz.shell.pages import Entry

KINDS = {
    "none": "None",
    "page": "The one on the page",
    "choice": "My own: a choice",
    "number": "My own: a number",
}
_OPENED = "atlas.lesson.form"
_SHOWN = "atlas.lesson.form.shown"


def of_this_view(entry: Entry) -> Stop:
    """The view on screen as a stop: its link, and the name of the page and its step."""
    view = views.here(entry, dict(parse_qsl(state.query(), keep_blank_values=True)))
    at = view.query.get(f"{entry.slug}.step", "1")
    step = entry.steps[int(at) - 1] if at.isdecimal() and 0 < int(at) <= len(entry.steps) else ""
    title = entry.info.title
    return Stop(view.link, (f"{title}: {step}" if step and step != title else title)[: plan.LONGEST_NAME])


def add(entry: Entry) -> None:
    """The dialogue for the view on screen."""
    lost = [name for name in state.unlinked() if name not in views.OF_THE_ROOM]
    _open("Add this view to a lesson", of_this_view(entry), held.add, "Add", lost=bool(lost))


def change(at: int) -> None:
    """The dialogue for a stop of the collected lesson."""
    lesson = held.own()
    _open(
        "Change the stop",
        lesson.stops[at],
        lambda stop: held.keep(lesson.with_stop(stop, at)),
        "Keep",
        lost=False,
    )


def _open(title: str, stop: Stop, done: Callable[[Stop], None], button: str, *, lost: bool) -> None:
    st.session_state[_OPENED] = st.session_state.get(_OPENED, 0) + 1
    key = f"lesson.form.{st.session_state[_OPENED]}"

    @st.dialog(title)
    def dialogue() -> None:
        if lost:
            st.text(
                f"The text is longer than {state.LONGEST:,} letters and stays behind: the stop opens with the page's own."
            )
        name = st.text_input("Name", stop.name, max_chars=plan.LONGEST_NAME, key=f"{key}.name")
        minutes = st.number_input(
            "Minutes",
            plan.LEAST_MINUTES,
            plan.MOST_MINUTES,
            stop.minutes,
            0.5,
            format="%g",
            key=f"{key}.minutes",
        )
        note = st.text_area(
            "Note for the lecturer",
            stop.note,
            height=130,
            max_chars=plan.LONGEST_NOTE,
            placeholder="What you say and point at. The class does not see it.",
            key=f"{key}.note",
        )
        try:
            question = _question(key, stop.question)
            made = dataclasses.replace(
                stop, name=name.strip(), minutes=float(minutes), note=note.strip(), question=question
            )
            wrong = None
        except InputError as error:
            made, wrong = stop, error
        if st.button(button, type="primary", key=f"{key}.done"):
            if wrong:
                notices.box(wrong.wrong, wrong.rule, wrong.remedy)
                return
            done(made)
            lesson = held.own()
            many = "1 stop" if len(lesson.stops) == 1 else f"{len(lesson.stops)} stops"
            st.session_state[_SHOWN] = f"“{lesson.title}” has {many}, {plan.minutes(lesson.minutes)}."
            st.rerun()

    dialogue()


def tell() -> None:
    """What came of the last dialogue, once."""
    if told := st.session_state.pop(_SHOWN, ""):
        st.toast(literal(told), icon=":material/playlist_add_check:")


def _question(key: str, now: Ask) -> Ask:
    """The controls of a question, and what they say."""
    kinds: dict[type, str] = {Choice: "choice", Number: "number", str: "page"}
    kind = st.segmented_control(
        "Question",
        list(KINDS),
        default=kinds.get(type(now), "none"),
        format_func=KINDS.__getitem__,
        required=True,
        key=f"{key}.kind",
    )
    if kind == "page":
        st.caption(
            "The page asks it where it has one (“Predict, then look”); in a lecture room it is the room's."
        )
        return plan.OF_THE_PAGE
    if kind not in ("choice", "number"):
        return None
    own = now if isinstance(now, Choice | Number) else None
    words = st.text_input("Your question", own.words if own else "", key=f"{key}.words")
    if kind == "choice":
        given = now if isinstance(now, Choice) else None
        lines = st.text_area(
            "The options, one a line",
            "\n".join(given.options) if given else "",
            height=100,
            key=f"{key}.options",
        )
        options = tuple(dict.fromkeys(line.strip() for line in lines.splitlines() if line.strip()))
        first = options.index(given.answer) if given and given.answer in options else 0
        answer = st.selectbox("The right one", options, first, key=f"{key}.answer") if options else ""
        return Choice(words.strip(), options, answer or "", _why(key, own))
    given = now if isinstance(now, Number) else Number("?", 0, 100, 50)
    columns = st.columns(4)
    low, high, answer = (
        column.number_input(name, value=float(value), format="%g", key=f"{key}.{name}")
        for column, name, value in zip(
            columns, ("from", "to", "right"), (given.low, given.high, given.answer), strict=False
        )
    )
    unit = columns[3].text_input("unit", given.unit, key=f"{key}.unit")
    return Number(words.strip(), low, high, answer, unit.strip(), _why(key, own))


def _why(key: str, own: Choice | Number | None) -> str:
    return st.text_input("Why, said after the guess", own.why if own else "", key=f"{key}.why").strip()
