"""The homework of the course: every question has its page, and an answer that is calculated."""

from __future__ import annotations

import pytest
from workspace_pages import page, said

from core.errors import InputError
from viz.course.homework.form import answer_text, evaluate, right
from viz.course.homework.questions import DOCUMENTS, GROUPS, QUESTIONS
from viz.shell import pages


def test_every_chapter_has_its_homework_and_every_question_its_page() -> None:
    known = {entry.slug: entry.info.chapter.title for entry in pages.exhibits()}
    assert set(GROUPS) == {DOCUMENTS, *known.values()}
    for group in GROUPS:
        asked = [question for question in QUESTIONS if question.group == group]
        assert len(asked) >= 4 and all(question.page in known for question in asked)
        assert group == DOCUMENTS or {known[question.page] for question in asked} <= {group}, group
        answered = page("homework", **{"homework.group": group})
        assert f"0 of {len(asked)} right." in said(answered)


def test_at_least_ten_questions_each_with_a_page_and_a_truth_that_answers_it() -> None:
    assert len(QUESTIONS) >= 10 and {question.group for question in QUESTIONS} == set(GROUPS)
    assert len({question.key for question in QUESTIONS}) == len(QUESTIONS)
    for question in QUESTIONS:
        truth = question.truth()
        if question.kind == "choice":
            assert truth in question.options
        if question.kind != "expression":
            assert right(question, str(truth), truth) and answer_text(question, truth)


def by_key(key: str):
    return next(question for question in QUESTIONS if question.key == key)


@pytest.mark.parametrize(
    ("key", "good", "bad"),
    [
        ("invariant", "the same outputs, in the new order", "the outputs do not change at all"),
        ("set", "no", "yes"),
        ("pooled", "yes", "no"),
        ("positions", "other outputs", "the same outputs, in the new order"),
        ("share", "exp(3)/(exp(1)+exp(2)+exp(3))", "0.5"),
        ("alike", "1/8", "8"),
        ("mean", "their mean", "their sum"),
        ("rank", "2^2+1", "3"),
        ("vanish", "0.5^10", "0.05"),
        ("lstm", "448", "336"),
        ("rows", "5", "35"),
        ("cells", "m n", "m + n"),
        ("king", "queen", "woman"),
        ("like", "2", "1"),
        ("flat", "25%", "0"),
        ("sharp", "ln(9)", "2"),
        ("times", "5", "1.609"),
        ("blind", "additive, linear", "dot"),
        ("length", "cosine", "scaled"),
        ("ratio", "e^2", "e"),
        ("variance", "64", "8"),
        ("edge", "exp(-2)", "0.5"),
        ("slope", "-a b", "a b"),
        ("all_see", "6", "1"),
        ("causal_see", "3", "6"),
        ("causal_even", "1/4", "1/6"),
        ("causal_cells", "(n^2+n)/2", "n^2"),
        ("eight_heads", "the same number", "eight times as many"),
        ("offset", "yes", "no"),
        ("doubled", "yes", "no"),
        ("apart", "1", "6"),
        ("hidden", "8 d^2 + 5 d", "8 d^2"),
        ("cross", "h m n", "m n"),
        ("grown", "9", "3"),
        ("tokens_alone", "4", "7"),
        ("with_segments", "7", "4"),
        ("first_sees", "yes", "no"),
        ("three_classes", "3*128 + 3", "384"),
        ("word_table", "30522*768/10^6", "30.5"),
        ("past", "no", "yes"),
        ("tempered", "2/3", "1/2"),
        ("nucleus", "3", "2"),
        ("perplexity", "8", "3"),
        ("cached", "n*(n+1)/2", "n^2"),
        ("uncached", "n*(n+1)*(2n+1)/6", "n^3"),
    ],
)
def test_right_answers_are_right_and_wrong_ones_are_not(key: str, good: str, bad: str) -> None:
    question = by_key(key)
    truth = question.truth()
    assert right(question, good, truth) and not right(question, bad, truth)


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os')",
        "9**9**9**9",
        "1/0",
        "x",
        "[1]",
        "1" * 200,
        "sqrt(-1)",
        "(-8)^(1/3)",
        "sqrt((-8)^(1/3))",
        "",
        "a.b",
        "lambda: 1",
    ],
)
def test_an_answer_can_only_calculate(text: str) -> None:
    with pytest.raises(InputError, match="cannot be calculated"):
        evaluate(text, {"n": 2.0})


def test_the_page_checks_an_answer_and_shows_nothing_before() -> None:
    before = page("homework")
    assert "0 of 4 right." in said(before) and "equivariant" not in said(before)
    after = page(
        "homework", **{"homework.invariant": "the same outputs, in the new order", "homework.set": "yes"}
    )
    assert "1 of 4 right." in said(after) and "same outputs" in said(after) and "Not yet" in said(after)
    assert DOCUMENTS == "From the sources"
    typed = page(
        "homework",
        **{
            "homework.group": "Why attention",
            "homework.share": "1/(1+e^-1+e^-2)",
            "homework.alike": "one eighth",
        },
    )
    assert "0.665241" in said(typed) and "cannot be calculated" in said(typed)
