"""Predict, then reveal: the visitor commits, and only then the page says what it computed.

A guess is kept in the session under the name of its question, together with everything that was asked. As soon as the
question, the options or the answer are others (another sentence, another head), it is asked again. The R key asks all
questions of a page again. Before the commit nothing that depends on the answer is sent to the browser.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from viz.classroom.ask import AnswerFormat, Question
from viz.labels import formulas, literal, screen_reader_label
from viz.languages import _, write_number
from viz.number_text import three_digits
from viz.shell import answers, present_layout, progress, state
from viz.shell.answers import STATE_SUFFIX
from viz.shell.room_bar import lecture
from viz.widgets import page_parts

Explanation = str | Callable[[], str]
QUESTION = "atlas.question"
"""In the session: the question that a page asked first."""
LISTENER = "atlas.question.listener"
"""In a session that is recorded (viz.export): what is called with each question of its pages, a `PageQuestion`."""
TIE = 0.02
"""Numbers that differ by no more than this share of the larger are a tie: nobody can reason out which is ahead."""


@dataclass(frozen=True)
class PageQuestion:
    """A question of a page, for the listener of a session: `state` is what the session holds once it is answered rightly.

    form: the form of its answer; None where the picture is touched, and then `right_answer` says in words what is right.
    explanation: "" until it is answered.
    """

    key: str
    words: str
    form: AnswerFormat | None
    truth: Sequence[int] | float | None
    right_answer: str
    near: float
    explanation: str
    state: Mapping[str, Any]
    answered: bool


def predict(
    key: str,
    question: str,
    options: Sequence[str] | Mapping[str, float],
    answer: str,
    explanation: Explanation,
    also: Collection[str] = (),
) -> bool:
    """Ask a question with a few answers, of which `answer` is the one that this run gives; return True once revealed.

    Where numbers of the run decide, `options` gives each answer its number: one that ties with the answer's is right as well.
    also: other options that are right as well. With a single answer there is nothing to ask, and all is shown.
    `explanation` is one or two sentences with numbers of the run, taken literally; a function is called only once it is said.
    The widget's key is "predict:" + key: a test that puts an option there in the session state has committed.
    """
    choices = tuple(dict.fromkeys(options))
    if answer not in choices:
        raise ValueError(f"{key}: the answer {answer!r} is none of the options {choices}")
    if len(choices) < 2:
        return True
    slot, widget = _slot(key), f"predict:{key}"
    asked = (question, choices, answer)
    guess = _ask(slot, asked, st.session_state.get(widget), lambda old: old in choices)
    guess = state.seed_widget(widget, guess if guess in choices else None)
    right = [
        place
        for place, choice in enumerate(choices)
        if choice in (answer, *also)
        or (isinstance(options, Mapping) and tied(options[choice], options[answer]))
    ]
    form = AnswerFormat("choice", choices)
    _ask_room(key, question, form, guess, right, explanation)
    _tell_listener(slot, asked, form, guess, answer, right, explanation)
    with _frame(key, question):
        st.pills(
            screen_reader_label(question),
            choices,
            format_func=literal,
            key=widget,
            default=guess,
            on_change=_commit,
            args=(slot, widget),
            disabled=guess is not None,
            label_visibility="collapsed",
        )
        if guess is not None:
            level = isinstance(options, Mapping) and tied(options[guess], options[answer])
            said = (
                _("Right.")
                if guess in (answer, *also)
                else _("As good as right: “{guess}” and “{answer}” are level.", guess=guess, answer=answer)
                if level
                else _(
                    "You said “{guess}”. It is {answers}.",
                    guess=guess,
                    answers=_(" or ").join(_("“{answer}”", answer=one) for one in (answer, *also)),
                )
            )
            _verdict(key, asked, guess, guess in (answer, *also) or level, said, explanation)
    return guess is not None


def predict_number(
    key: str,
    question: str,
    lo: float,
    hi: float,
    answer: float,
    explanation: Explanation,
    near: float,
    unit: str = "",
) -> bool:
    """Ask a question whose answer is a number from lo to hi; a guess within `near` of it is right. Return True once revealed.

    With the unit "%" and hi <= 1 all four numbers are shares, shown in percent.
    """
    scale = 100 if unit == "%" and hi <= 1 else 1
    slot, widget = _slot(key), f"predict:{key}"
    fresh = st.session_state.get(slot, {}).get("of") != (asked := (question, lo, hi, round(answer, 6), unit))
    low, high, step = _notches(lo * scale, hi * scale)
    guess = _ask(slot, asked, None, lambda old: not isinstance(old, str) and low <= old <= high)
    form = AnswerFormat("number", (), low, high, unit)
    _ask_room(key, question, form, guess, answer * scale, explanation, near * scale)
    nearest = type(low)(round(low + step * round((answer * scale - low) / step), 6))
    _tell_listener(slot, asked, form, guess, nearest, answer * scale, explanation, near * scale)
    if guess is not None:
        st.session_state[widget] = guess
    elif (
        fresh and slot in st.session_state and widget in st.session_state
    ) or widget not in st.session_state:
        st.session_state[widget] = type(low)(round(low + step * round((high - low) / step / 2), 6))
    with _frame(key, question):
        left, right = st.columns(
            [2 if state.presenting() else 4, 1], vertical_alignment="bottom", gap="medium"
        )
        left.slider(
            screen_reader_label(question),
            low,
            high,
            step=step,
            key=widget,
            disabled=guess is not None,
            format=_measured("%g", unit.replace("%", "%%")),
            label_visibility="collapsed",
        )
        right.button(
            _("That is my guess"),
            key=f"{widget}:commit",
            on_click=_commit,
            args=(slot, widget),
            disabled=guess is not None,
            type="primary",
        )
        if guess is not None:
            close = abs(guess - answer * scale) <= near * scale + 1e-9
            said, told = (
                _measured(number, unit)
                for number in (three_digits(guess, scale), three_digits(answer * scale, scale))
            )
            _verdict(
                key,
                asked,
                guess,
                close,
                (
                    _("Exactly: it is {told}.", told=told)
                    if said == told
                    else _("Close enough: it is {told}.", told=told)
                )
                if close
                else _("You said {said}. It is {told}.", said=said, told=told),
                explanation,
            )
    return guess is not None


def predict_share(
    key: str, question: str, answer: float, explanation: Explanation, near: float = 0.05
) -> bool:
    """Ask a question whose answer is a share, from 0 to 1, in percent; return True once revealed."""
    return predict_number(key, question, 0.0, 1.0, answer, explanation, near, "%")


def predict_mark(key: str, question: str, chosen_mark: str, answer: str, explanation: Explanation) -> bool:
    """Ask a question that is answered by touching the picture; return True once revealed.

    `chosen_mark` is what is touched now, in words, "" for nothing yet: a button commits it. Its key is "predict:" + key + ":commit".
    """
    slot = _slot(key)
    asked = (question, answer)
    guess = _ask(slot, asked, None, lambda old: isinstance(old, str))
    _tell_listener(slot, asked, None, guess, answer, None, explanation)
    with _frame(key, question):
        left, right = st.columns(
            [2 if state.presenting() else 4, 1], vertical_alignment="center", gap="medium"
        )
        now = chosen_mark if guess is None else guess
        left.markdown(
            _("You marked: “{now}”.", now=literal(now)) if now else _("Nothing is marked yet.")
        )  # before a room a text is a verdict, and hides what is done with
        right.button(
            _("That is my guess"),
            key=f"predict:{key}:commit",
            on_click=_keep,
            args=(slot, chosen_mark),
            disabled=guess is not None or not chosen_mark,
            type="primary",
        )
        if guess is not None:
            _verdict(
                key,
                asked,
                guess,
                guess == answer,
                _("Right.")
                if guess == answer
                else _("You said “{guess}”. It is “{answer}”.", guess=guess, answer=answer),
                explanation,
            )
    return guess is not None


def _measured(value: str, unit: str) -> str:
    """Return a number with its unit, before percent the space of the language, if it has one."""
    space = write_number("%").removesuffix("%") if unit.startswith("%") else " "
    return f"{value}{space}{unit}".strip()


def _slot(key: str) -> str:
    return f"predict:{key}{STATE_SUFFIX}"


def _ask(slot: str, asked_with: tuple[Any, ...], value: Any, fits: Callable[[Any], bool]) -> Any:
    """Return the guess for exactly this question, or None; `value`, from the widget, is one unless it answered another question.

    An answer of an earlier visit, which the browser keeps (`progress`), is one if it `fits` the question.
    """
    known = st.session_state.get(slot)
    if known is None or known["of"] != asked_with:
        known = st.session_state[slot] = {"of": asked_with, "guess": value if known is None else None}
    elif known["guess"] is None:
        known = st.session_state[slot] = known | {"guess": value}
    if (
        known["guess"] is None and not state.presenting() and lecture.led_room() is None
    ):  # a room guesses first
        old = progress.take_earlier_answer(_question_key(slot), asked_with)
        if old is not None and fits(old):
            known = st.session_state[slot] = known | {"guess": old}
    return known["guess"]


def _question_key(slot: str) -> str:
    return slot.removeprefix("predict:").removesuffix(STATE_SUFFIX)


def _ask_room(
    key: str,
    question: str,
    form: AnswerFormat,
    guess: Any,
    truth: Sequence[int] | float,
    explanation: Explanation,
    near: float = 0.0,
) -> None:
    """Ask the followers too, where this session leads a room; the truth goes to them with the lecturer's guess."""
    if lecture.led_room() is None:
        return
    told = guess is not None
    said = (explanation() if callable(explanation) else explanation) if told else ""
    lecture.ask_room(Question(key, question, form, truth=truth, explanation=said, near=near), guessed=told)


def _tell_listener(
    slot: str,
    asked_with: tuple[Any, ...],
    form: AnswerFormat | None,
    guess: Any,
    right_guess: Any,
    truth: Sequence[int] | float | None,
    explanation: Explanation,
    near: float = 0.0,
) -> None:
    """Pass a question to the session's listener, if it has one; its explanation once it is answered."""
    if (listener := st.session_state.get(LISTENER)) is None:
        return
    why = "" if guess is None else explanation() if callable(explanation) else explanation
    state = {slot: {"of": asked_with, "guess": right_guess}}
    listener(
        PageQuestion(
            _question_key(slot),
            asked_with[0],
            form,
            truth,
            str(right_guess),
            near,
            why,
            state,
            guess is not None,
        )
    )


def _commit(slot: str, widget: str) -> None:
    if slot in st.session_state:
        st.session_state[slot] = st.session_state[slot] | {"guess": st.session_state.get(widget)}


def _keep(slot: str, value: str) -> None:
    st.session_state[slot] = st.session_state[slot] | {"guess": value}


def _frame(key: str, question: str):
    if not first_question():
        st.session_state[QUESTION] = question
    with present_layout.side_area():
        box = st.container(border=True, key=f"asked-{_plain(key)}")
    box.markdown(_("**Predict, then look.** {question}", question=formulas(question)))
    return box


def first_question() -> str:
    """Return the question that the page asked first in this run, or last before it; "" where it asked none."""
    return st.session_state.get(QUESTION, "")


def forget_question() -> None:
    """Begin a page: it has asked nothing yet."""
    st.session_state[QUESTION] = ""


def _plain(key: str) -> str:
    return "".join(letter if letter.isalnum() else "-" for letter in key)


def _verdict(
    key: str, question: tuple[Any, ...], guess: Any, right: bool, result: str, explanation: Explanation
) -> None:
    progress.record_answer(key, question, guess, bool(right))
    answers.record(str(question[0]), guess, bool(right))
    icon, colour = (":material/check_circle:", "green") if right else (":material/lightbulb:", "orange")
    with st.container(
        key=f"answer-{_plain(key)}"
    ):  # where the focus goes after an answer by keyboard (focus.js)
        st.markdown(f":{colour}[{icon}] **{literal(result)}**")
    with st.container(
        key=f"verdict-{_plain(key)}"
    ):  # before a room an answered question hides its options (present.css)
        page_parts.summary(explanation() if callable(explanation) else explanation)


def tied(one: float, other: float) -> bool:
    """Return whether two numbers are too near to each other for a question.

    >>> tied(0.636, 0.633), tied(0.4, 0.5), tied(0.0, 0.0)
    (True, False, True)
    """
    return abs(one - other) <= TIE * max(abs(one), abs(other))


def _notches(low: float, high: float) -> tuple[Any, Any, Any]:
    """Return ends and step of the slider: whole numbers where they are enough."""
    if float(low).is_integer() and float(high).is_integer() and high - low >= 10:
        return int(low), int(high), 1
    return float(low), float(high), (high - low) / 100
