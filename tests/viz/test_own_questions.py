"""A lecturer's own question: one form and one mark for the right option, in the lecture room and in lessons."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from core.errors import InputError
from viz.shell.questions.question import Choice, Number, read_options, to_room_question, write_options

FORM = """
import streamlit as st
from core.errors import InputError
from viz.shell.questions import form
from viz.shell.questions.question import Choice, Number
made = form.draw_choice("own", poll=True)
try:
    st.session_state["made"] = made()
except InputError as error:
    st.session_state["made"] = error
"""


def test_who_marks_an_option_in_the_form_gets_that_one_as_the_right_answer() -> None:
    test = AppTest.from_string(FORM, default_timeout=30).run()
    assert "is empty" in test.session_state["made"].wrong
    test.text_input(key="own.words").set_value("Which?")
    test.text_area(key="own.options").set_value("red\n*house\n\n  * home  \n\\*p").run()
    assert not test.exception
    assert test.session_state["made"] == Choice("Which?", ("red", "house", "home", "*p"), ("house", "home"))
    asked = to_room_question(test.session_state["made"], "own")
    assert (asked.form.options, asked.truth) == (("red", "house", "home", "*p"), [1, 2])
    test.text_area(key="own.options").set_value("red\nhouse").run()
    assert test.session_state["made"].truth is None, "a poll"


@pytest.mark.parametrize(
    ("make", "wrong"),
    [
        (lambda: Choice(" ", ("a", "b")), "The question is empty."),
        (lambda: Choice("?" * 481, ("a", "b")), "The question has 481 characters."),
        (lambda: Choice("?", ()), "The question has no options."),
        (lambda: Choice("?", ("a",)), "The question has 1 option."),
        (lambda: Choice("?", tuple("abcdefghijklm")), "The question has 13 options."),
        (lambda: Choice("?", ("a", " ")), "Option 2 is empty."),
        (lambda: Choice("?", ("a", "b", "a")), "The option “a” is there twice."),
        (lambda: Choice("?", ("a", "b"), ("c",)), "The answer “c” is not one of the options."),
        (lambda: Number("?", 1, 1), "No number lies between 1 and 1."),
        (lambda: Number("?", 0, float("inf")), "No number lies between 0 and inf."),
        (lambda: Number("?", 0, 1, 2), "The right answer 2 is not between 0 and 1."),
        (lambda: Number("?", 0, 1, unit=" "), "The unit is empty."),
    ],
)
def test_a_refusal_names_what_is_wrong(make, wrong: str) -> None:
    with pytest.raises(InputError) as refused:
        make()
    assert refused.value.wrong == wrong and refused.value.rule and refused.value.remedy


@pytest.mark.parametrize("options", [("*", "\\"), ("\\*a", "*a"), ("\\\\x", "\\x"), ("* a", "a *")])
def test_options_are_read_as_they_are_written(options: tuple[str, str]) -> None:
    for right in ((), options[:1], options):
        assert read_options(write_options(Choice("?", options, right))) == (options, right)
