"""Prompting: three words and one string, new strings by length, described tasks, examples in front; all recomputed."""

from __future__ import annotations

import pytest
from drawn_layers import drawn_rows
from exhibit_pages import drawn

from core.data.tasks import PROMPT_LENGTHS, PROMPTS
from core.serving.engine import default
from viz.course.gpt.prompting.data import MOST, TASKS, prompt, score, write
from viz.course.gpt.prompting.exhibit import (
    EACH,
    EFFECTS,
    LONGEST,
    MODEL,
    SHOTS,
    TINY,
    TOO_LONG,
    Params,
    compute,
    described,
    examples,
    how_well,
    one_word,
)
from viz.course.shared.prompts import QUESTIONS, answers, solved


@pytest.mark.parametrize("string", ["hello", "Lamp"])
def test_one_set_of_weights_and_the_word_chooses_the_task(string: str) -> None:
    """C105."""
    view = one_word(Params(string), compute(Params(string)))
    assert view.answer == string[::-1] and set(view.question.options) >= {string, string.upper()}
    assert (
        view.rows["output"].tolist()
        == view.rows["right answer"].tolist()
        == [string, string[::-1], string.upper()]
    )
    model = default().open(TINY)
    assert f"{model.n_parameters:,}" in view.summary and "3 of 3" in view.summary
    assert view.arrays["reverse"].tolist() == list(write(model, f"reverse: {string} =").p)


def test_before_the_guess_two_rows_are_covered() -> None:
    test = drawn("prompting", {}, {})
    rows = [[tile["text"] for tile in drawn_rows(test, "ink") if tile["row"] == row] for row in range(3)]
    assert rows[0] == list("hello") and set(rows[1]) == set(rows[2]) == {"?"}


@pytest.mark.slow
def test_new_strings_by_length_and_none_longer_than_in_training() -> None:
    """C105: exact match falls at once behind the lengths of training."""
    view = how_well(Params(), None)
    for n in (1, PROMPT_LENGTHS[-1], TOO_LONG):
        assert view.rows.loc[n].to_dict() == solved(default().open(TINY), EACH, n, 0)
    assert view.answer == pytest.approx(view.rows.loc[TOO_LONG].mean())
    assert list(view.rows.columns) == list(PROMPTS) and view.rows.index[-1] == LONGEST


@pytest.mark.quick(1)
@pytest.mark.parametrize("at", [0, 2, 5])
def test_a_described_task_is_scored_by_its_candidates(at: int) -> None:
    """C106."""
    ranked = answers(default().open(MODEL), QUESTIONS[at].prompt, QUESTIONS[at].candidates)
    view = described(Params(asked=at), None)
    assert view.answer == min(ranked, key=lambda each: each.place).text.strip()
    assert view.rows["share"].tolist() == pytest.approx([each.share for each in ranked])
    right = [
        answers(default().open(MODEL), each.prompt, each.candidates)[each.right].place == 1
        for each in QUESTIONS
    ]
    assert f"in {sum(right)} of {len(QUESTIONS)} prompts" in view.summary


@pytest.mark.slow
def test_examples_in_front_are_measured() -> None:
    for name in TASKS:
        view = examples(Params(task=name), None)
        scores = [score(default().open(MODEL), TASKS[name], k) for k in SHOTS]
        counts = [sum(each.right) for each in scores]
        assert [tuple(view.rows[column]) for column in view.rows] == [each.shares for each in scores]
        assert abs(counts[-1] - counts[0]) < 4 and view.answer == EFFECTS[1]  # two standard deviations
        assert all(f"{count} with {k}" in view.summary for k, count in zip(SHOTS, counts, strict=True))


def test_the_prompt_is_built_of_the_visitors_question() -> None:
    test = drawn(
        "prompting", {"prompting.step": "4", "prompting.shots": "2", "prompting.question": "slow"}, {}
    )
    assert test.code[0].value == prompt(TASKS["opposites"], "slow", 2) and SHOTS[-1] == MOST
