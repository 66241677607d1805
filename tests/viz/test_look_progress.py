"""Progress comes back from the browser to a new session, field by field, and is forgotten at a word."""

from __future__ import annotations

import json

import pytest
from streamlit.testing.v1 import AppTest

from viz.shell import pages, progress

QUIZ = """
from viz.shell import progress
from viz.widgets import quiz
progress.sync_with_browser()
quiz.predict("masks.leak", "How many?", ("1", "2"), "2", "Two.")
quiz.predict_number("masks.n", "How many?", 0, 100, 40.0, "Forty.", near=5)
"""


def visit(stored: str | None = None, **link: str) -> AppTest:
    test = AppTest.from_string(QUIZ, default_timeout=30)
    for name, value in link.items():
        test.query_params[name] = value
    if stored is not None:
        found = progress.read(stored)
        test.session_state["course.answers"] = dict(found["answers"])
        test.session_state["course.earlier"] = dict(found["answers"])
    test.run()
    assert not test.exception
    return test


def verdicts(test: AppTest) -> list[str]:
    return [
        str(one.value) for one in test.markdown if "**" in str(one.value) and "Predict" not in str(one.value)
    ]


def written(test: AppTest) -> str:
    kept = {name: test.session_state[f"course.{name}"] for name in ("answers",)}
    return json.dumps({"version": 1, "seen": ["masks"], "steps": {"masks": 2}, **kept})


def answered() -> AppTest:
    test = visit()
    test.session_state["predict:masks.leak"] = "1"
    test.slider[0].set_value(43)
    test.button(key="predict:masks.n:commit").click().run()
    return test


def test_answers_and_the_score_come_back_in_a_new_session():
    first = answered()
    assert len(verdicts(first)) == 2
    again = visit(written(first))
    assert verdicts(again) == verdicts(first)
    right = [one[2] for one in again.session_state["course.answers"].values()]
    assert sorted(right) == [False, True]


def test_before_a_room_every_question_is_open():
    assert verdicts(visit(written(answered()), present="1")) == []


def test_an_answer_to_another_question_or_outside_its_bounds_is_none():
    kept = json.loads(written(answered()))
    for key, guess in (("masks.leak", "3"), ("masks.n", 4000)):
        kept["answers"][key][1] = guess
    assert verdicts(visit(json.dumps(kept))) == []
    other = json.loads(written(answered()))
    for one in other["answers"].values():
        one[0] = "0" * 12
    assert verdicts(visit(json.dumps(other))) == []


EMPTY = {"seen": [], "steps": {}, "answers": {}}


@pytest.mark.parametrize(
    "stored",
    [
        "",
        "{",
        "null",
        "[]",
        "[" * 5000,
        "x" * (progress.MAX_STORED + 1),
        None,
        {"version": 2, "seen": ["masks"]},
        {"version": 1, "seen": "masks", "steps": ["masks"], "answers": [1]},
        {
            "version": 1,
            "seen": ["../x", 3, None, ["masks"], "about"],
            "steps": {"masks": 0, "x": 1, "alignment": True},
        },
        {
            "version": 1,
            "steps": {"masks": "2", "alignment": 99},
            "answers": {"a": [1, 2, 3], "b": ["0" * 12, "y" * 301, True]},
        },
        {
            "version": 1,
            "answers": {"c": ["0" * 12, [], True], "d": ["0" * 12, 1, 1], "k" * 301: ["0" * 12, 1, True]},
        },
        '{"version": 1, "answers": {"a": ["000000000000", NaN, true], "b": ["000000000000", 1e999, true]}}',
    ],
)
def test_what_is_damaged_or_not_ours_is_left_out(stored):
    assert progress.read(stored if isinstance(stored, str) or stored is None else json.dumps(stored)) == EMPTY


def test_of_many_answers_the_last_are_kept_and_good_fields_beside_bad_ones():
    many = {f"q.{n}": ["0" * 12, n, True] for n in range(progress.MAX_ANSWERS + 5)}
    found = progress.read(
        json.dumps({"version": 1, "seen": ["masks", 7, "masks"], "steps": {"masks": 2}, "answers": many})
    )
    assert found["seen"] == ["masks"] and found["steps"] == {"masks": 2}
    assert len(found["answers"]) == progress.MAX_ANSWERS and "q.4" not in found["answers"]


def test_every_question_answered_fits_what_is_read_back():
    slugs = [entry.slug for entry in pages.exhibits()]
    most = {"version": 1, "seen": slugs, "steps": dict.fromkeys(slugs, 9)}
    answers = {
        f"{slug}.question{n}": ["0" * 12, "an answer in some words" * 2, True]
        for slug in slugs
        for n in range(8)
    }
    assert len(json.dumps(most | {"answers": answers})) < progress.MAX_STORED / 2
