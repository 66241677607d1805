"""What an exhibit is made of: steps in the link, and predictions that give nothing away before the commit."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from exhibit_pages import folds
from shown_values import states
from streamlit.testing.v1 import AppTest
from workspace_pages import again, linked, said

from viz.widgets import page_parts, quiz

PAGE = """
import streamlit as st
from viz.widgets import exhibit_parts, page_parts
from viz.shell import state
state.begin("board")
STEPS = (exhibit_parts.Step("Guess", "Say *it* aloud."), exhibit_parts.Step("Scores", "Each pair gets a score."), exhibit_parts.Step("Weights", "Shares of one."))
text = st.session_state.get("sentence", "a cat sat")
words = text.split()
longest = max(words, key=len)
def why():
    st.session_state["explained"] = st.session_state.get("explained", 0) + 1
    return f"It has {len(longest)} letters, <b>counted</b>."
st.session_state["step"] = exhibit_parts.steps(STEPS, "board.")
st.session_state["told"] = exhibit_parts.predict("board.word", "Which word of $x$ is the longest?", words, longest, why)
st.session_state["counted"] = exhibit_parts.predict_number(
    "board.share", "How much of it?", 0, 1, answer=len(longest) / len(text), explanation="Letters by letters.", near=0.05, unit="%")
with page_parts.fold("More", "board.more") as opened:
    if opened.open:
        st.text("inside")
st.button("Restore", on_click=lambda: __import__("viz.shell.page_buttons", fromlist=["_restore"])._restore())
"""


TWO = """
import streamlit as st
from viz.widgets import exhibit_parts
answer = st.session_state.get("answer", "x")
st.session_state["told"] = exhibit_parts.predict("q.a", "Which?", ("x", "y"), answer, f"So it is {answer}.")
"""


def board(**query: str) -> AppTest:
    test = AppTest.from_string(PAGE, default_timeout=60)
    for name, value in query.items():
        test.query_params[name] = value
    return again(test)


def sentence(test: AppTest, text: str) -> AppTest:
    test.session_state["sentence"] = text
    return again(test)


def pills(test: AppTest) -> Any:
    return test.button_group(key="predict:board.word")


def everything(test: AppTest) -> str:
    """All that is sent to the browser: every element of the page as it goes over the wire."""
    return "\n".join(str(getattr(node, "proto", "")) for node in test.main)


# ------------------------------------------------------------------ steps


def test_the_first_step_comes_first_and_the_link_counts_from_one() -> None:
    test = board()
    assert test.button_group[0].options == ["1  Guess", "2  Scores", "3  Weights"]
    assert test.session_state["step"] == 0 and "Say *it* aloud." in said(test)
    test.button_group[0].set_value(3).run()
    assert test.session_state["step"] == 2 and "Shares of one." in said(test) and "aloud" not in said(test)
    assert linked(test)["board.step"] == "3"


@pytest.mark.parametrize(("link", "step"), [("2", 1), ("3", 2), ("0", 0), ("99", 2), ("abc", 0), ("<b>", 0)])
def test_a_step_of_a_link(link: str, step: int) -> None:
    assert board(**{"board.step": link}).session_state["step"] == step


# ------------------------------------------------------------------ predict


def test_nothing_is_given_away_before_the_commit() -> None:
    test = board()
    assert not test.session_state["told"] and "explained" not in test.session_state, "not even computed"
    for secret in ("Right", "You said", "It is", "letters", "Letters"):
        assert secret not in said(test) and secret not in everything(test), secret


def test_what_is_sent_before_the_commit_is_the_same_for_every_answer() -> None:
    sent = []
    for answer in ("x", "y"):
        test = AppTest.from_string(TWO, default_timeout=60)
        test.session_state["answer"] = answer
        sent.append(re.sub(r"[0-9a-f]{12,}|x\d{6,}", "", everything(test.run())))
    assert sent[0] == sent[1] and "Which" in sent[0]


@pytest.mark.parametrize(("guess", "verdict"), [("cat", "Right."), ("a", "You said “a”. It is “cat”.")])
def test_after_the_commit_right_or_wrong_and_why(guess: str, verdict: str) -> None:
    test = board()
    pills(test).set_value(guess).run()
    assert test.session_state["told"] and verdict in said(test)
    assert "It has 3 letters, <b>counted</b>." in [text.value for text in test.text], "taken literally"
    assert pills(test).disabled, "a guess is a guess"


def test_another_sentence_is_another_answer_and_is_asked_anew() -> None:
    test = board()
    pills(test).set_value("cat").run()
    sentence(test, "the elephants ran")
    assert not test.session_state["told"] and "elephants”" not in said(test) and pills(test).value is None
    assert pills(test).options == ["the", "elephants", "ran"]
    pills(test).set_value("the").run()
    assert states(said(test), "“the”", "“elephants”") and "It has 9 letters" in said(test)


def test_the_same_words_with_another_answer_are_asked_anew() -> None:
    found = AppTest.from_string(TWO, default_timeout=60).run()
    found.button_group[0].set_value("x").run()
    assert found.session_state["told"]
    found.session_state["answer"] = "y"
    assert not found.run().session_state["told"] and found.button_group[0].value is None


def test_r_asks_anew() -> None:
    test = board()
    pills(test).set_value("cat").run()
    test.button[-1].click().run()
    assert not test.session_state["told"] and pills(test).value is None and not test.exception


def test_a_guess_survives_a_page_where_it_is_not_asked() -> None:
    test = AppTest.from_string(
        "import streamlit as st\nfrom viz.widgets import exhibit_parts\n"
        'if not st.session_state.get("away"):\n    exhibit_parts.predict("q.a", "Which?", ("x", "y"), "x", "So it is.")\n',
        default_timeout=60,
    ).run()
    test.button_group[0].set_value("y").run()
    test.session_state["away"] = True
    test.run()
    test.session_state["away"] = False
    test.run()
    assert "So it is." in said(test) and test.button_group[0].value == "y"


def test_repeated_words_stand_once_and_an_answer_must_be_among_the_options() -> None:
    assert pills(sentence(board(), "the cat the dogs")).options == ["the", "cat", "dogs"]
    with pytest.raises(ValueError, match="'z' is none of the options"):
        quiz.predict("q.a", "Which?", ("x", "y"), "z", "So.")


def test_odd_words_are_labels_never_markup() -> None:
    test = sentence(board(), "![x](http://a) <b> $1$ *so*")
    words = "!\\[x\\]\\(http\\:\\/\\/a\\) \\<b\\> \\$1\\$ \\*so\\*"
    assert pills(test).options == ("\\" + words).split(" ")


# ------------------------------------------------------------------ predict a number


@pytest.mark.parametrize(
    ("guess", "told"),
    [
        (33, "Close enough: it is 33.3%."),
        (36, "Close enough: it is 33.3%."),
        (60, "You said 60%. It is 33.3%."),
    ],
)
def test_a_number_is_right_when_it_is_near(guess: int, told: str) -> None:
    test = board()
    assert not test.session_state["counted"] and test.slider[0].value == 50
    test.slider[0].set_value(guess).run()
    assert not test.session_state["counted"], "a slider that moves is no commit"
    test.button(key="predict:board.share:commit").click().run()
    assert test.session_state["counted"] and told in said(test) and "Letters by letters." in said(test)
    assert test.slider[0].disabled
    sentence(test, "a cat")
    assert not test.session_state["counted"] and test.slider[0].value == 50 and not test.slider[0].disabled


@pytest.mark.parametrize(
    ("low", "high", "notches"),
    [(0, 100, (0, 100, 1)), (0, 1, (0.0, 1.0, 0.01)), (-2.5, 2.5, (-2.5, 2.5, 0.05))],
)
def test_the_slider_has_whole_numbers_where_they_are_enough(
    low: float, high: float, notches: tuple[float, ...]
) -> None:
    assert json.dumps(quiz._notches(low, high)) == json.dumps(notches)


# ------------------------------------------------------------------ present


def test_before_a_room_there_are_no_folds() -> None:
    assert folds(board()) == ["More"]
    test = board(present="1")
    assert not folds(test) and "inside" not in said(test)


def _two_folds() -> None:
    import streamlit as st

    from viz.widgets import page_parts

    for name in ("Equation", "Table"):
        with page_parts.fold(name, name) as opened:
            if opened.open:
                st.text(f"the {name}")
    with st.container(), page_parts.fold("Another place", "other") as opened:
        if opened.open:
            st.text("the other place")


def test_of_the_folds_of_one_place_one_is_open_at_a_time() -> None:
    test = AppTest.from_function(_two_folds).run()
    assert folds(test) == ["Equation", "Table", "Another place"] and not test.text

    def open_after(key: str) -> list[str]:
        test.button(key=f"word:fold:{key}").click().run()
        return [text.value for text in test.text]

    assert [open_after(key) for key in ("Equation", "Table", "other", "Table")] == [
        ["the Equation"],
        ["the Table"],
        ["the Table", "the other place"],
        ["the other place"],
    ]


def _usual_folds() -> None:
    import streamlit as st

    from viz.widgets import page_parts

    for name in ("Own", page_parts.EQUATION, page_parts.TABLE):
        with page_parts.fold(name, name) as opened:
            if opened.open:
                st.text(f"the {name}")


def test_the_usual_folds_stand_behind_one_word() -> None:
    test = AppTest.from_function(_usual_folds).run()
    more = f"word:more:{page_parts.EQUATION}"

    def words_after(key: str) -> tuple[list[str], list[str]]:
        test.button(key=key).click().run()
        return [button.label for button in test.button], [text.value for text in test.text]

    assert [button.label for button in test.button] == ["Own", page_parts.MORE] and not test.text
    every = ["Own", page_parts.MORE, page_parts.EQUATION, page_parts.TABLE]
    assert words_after("word:fold:Own") == (["Own", page_parts.MORE], ["the Own"])
    assert words_after(more) == (every, [])
    assert words_after(f"word:fold:{page_parts.TABLE}") == (every, [f"the {page_parts.TABLE}"])
    assert words_after("word:fold:Own") == (every, ["the Own"])
    assert words_after(more) == (["Own", page_parts.MORE], [])


def test_r_opens_the_page_anew_and_the_lecture_goes_on() -> None:
    test = board(present="1", **{"board.step": "3"})
    test.button[-1].click().run()
    assert test.session_state["step"] == 0 and linked(test)["present"] == "1"


# ------------------------------------------------------------------ ties, and how exactly a number is told

LEVEL = """
from viz.widgets import exhibit_parts
exhibit_parts.predict("q.level", "Which is nearest?", {"queen": 0.636, "stepmother": 0.633, "prince": 0.5}, "queen", "By its cosine.")
exhibit_parts.predict("q.one", "Which?", ("only",), "only", "There is one.")
exhibit_parts.predict_number("q.share", "How much?", 0, 1, 0.99979, "Softmax is never 1.", 0.05)
exhibit_parts.predict_number("q.times", "How many times?", 0, 20, 12.516984, "By counting.", 1.0, "times")
"""


@pytest.mark.parametrize(
    ("guess", "verdict"),
    [
        ("queen", "Right."),
        ("stepmother", "As good as right: “stepmother” and “queen” are level."),
        ("prince", "You said “prince”. It is “queen”."),
    ],
)
def test_an_answer_that_is_level_with_the_best_is_right(guess: str, verdict: str) -> None:
    test = AppTest.from_string(LEVEL, default_timeout=60).run()
    test.button_group(key="predict:q.level").set_value(guess).run()
    assert verdict in said(test)


def test_a_question_with_one_answer_is_not_asked() -> None:
    test = AppTest.from_string(LEVEL, default_timeout=60).run()
    assert len(test.button_group) == 1 and "Which?" not in said(test)


def test_a_number_is_told_in_three_digits_and_a_share_is_never_rounded_to_all() -> None:
    test = AppTest.from_string(LEVEL, default_timeout=60).run()
    for button in ("share", "times"):
        test.button(key=f"predict:q.{button}:commit").click().run()
    assert states(said(test), "0.5", "0.999") and states(said(test), "10 times", "12.5 times")
