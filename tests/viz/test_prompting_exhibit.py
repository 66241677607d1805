"""Prompting: three words and one string, held-out strings by length, described tasks, examples in front; all recomputed."""

from __future__ import annotations

import numpy as np
import pytest
from exhibit_pages import chart, drawn, said
from streamlit.testing.v1 import AppTest

from core.data.tasks import PROMPT_LENGTHS, PROMPTS
from core.serving.engine import default
from viz.course.gpt.prompting import exhibit, few, params, steps
from viz.course.gpt.prompting.maths import TASKS, prompt, scored, written
from viz.course.shared.maths.prompts import ASKED, answers, solved
from viz.labels import percent

FOLDS = [f"fold:prompting.{name}" for name in ("equation", "looking", "table", "take")] + [
    f"fold:{exhibit.LESSON.text.info.title}.documents"
]


def page(step: int, *folds: str, guess: tuple[str, object] | None = None, **link: str) -> AppTest:
    names = {f"prompting.{name}": value for name, value in ({"step": str(step)} | link).items()}
    return drawn(
        "prompting",
        names,
        dict.fromkeys(folds, True) | ({f"predict:prompting.{guess[0]}": guess[1]} if guess else {}),
        guarded=True,
    )


def tiny():
    return default().open(params.TINY)


@pytest.mark.slow
def test_one_set_of_weights_and_the_word_chooses_the_task():
    """C105."""
    for string in ("hello", "Lamp"):
        before = page(1, *FOLDS, string=string)
        sent = [[tile["text"] for tile in chart(before)[3] if tile["row"] == row] for row in range(3)]
        assert sent[0] == list(string) and set(sent[1]) == set(sent[2]) == {"?"}
        after = page(1, *FOLDS, string=string, guess=("written", string[::-1]))
        found = {task: written(tiny(), f"{task}: {string} =") for task in PROMPTS}
        assert (
            "Right." in said(after)
            and "3 of 3 answers are exactly right" in said(after)
            and f"{tiny().n_parameters:,} weights" in said(after)
        )
        for row, (task, make) in enumerate(PROMPTS.items()):
            tiles = [tile for tile in chart(after)[3] if tile["row"] == row]
            assert [tile["text"] for tile in tiles] == list(make(string)) == list(found[task].text)
            np.testing.assert_allclose([tile["shade"] for tile in tiles], found[task].p, rtol=1e-5)


@pytest.mark.slow
def test_held_out_strings_by_length_with_the_recorded_measure():
    """C105."""
    found = {n: solved(tiny(), steps.EACH, n) for n in range(1, params.LONGEST + 1)}
    answer = float(np.mean(list(found[steps.TOO_LONG].values())))
    before, after = (
        page(2, *FOLDS),
        page(2, *FOLDS, guess=("long", round(answer * 100)))
        .button(key="predict:prompting.long:commit")
        .click()
        .run(),
    )
    assert [max(row["x"] for row in chart(before)[1] if row["name"] == task) for task in PROMPTS] == [
        10,
        10,
        10,
    ]
    for task in PROMPTS:
        assert [(row["x"], row["y"]) for row in chart(after)[1] if row["name"] == task] == [
            (n, found[n][task]) for n in found
        ]
        assert f"{task} {percent(np.mean([found[n][task] for n in PROMPT_LENGTHS]), 2)}" in said(after)
        assert f"{task} {percent(steps.recorded()[task], 2)}" in said(after)
    assert (
        answer < 0.5 < np.mean(list(found[10].values()))
        and f"it is {round(answer * 100, 1):g}%" in said(after).lower()
    )


@pytest.mark.slow
def test_the_documents_example_and_what_a_small_model_says():
    """C105: the triple of the documents."""
    for at in (params.Params.asked, 3):
        asked = ASKED[at]
        found = answers(default().open(params.MODEL), asked.prompt, asked.candidates)
        best = min(found, key=lambda each: each.place)
        before = page(3, *FOLDS, asked=str(at))
        assert (
            "(translate to french, english text, french text)" in before.code[0].value
            and asked.prompt == before.code[1].value
        )
        assert {bar["said"] for bar in chart(before)[0]} == {"?"} and f"{percent(best.share, 2)}" not in said(
            before
        )
        after = page(3, *FOLDS, asked=str(at), guess=("best", best.text.strip()))
        assert "Right." in said(after) and [bar["value"] for bar in chart(after)[0]] == pytest.approx(
            [each.share for each in found]
        )
    right = sum(
        answers(default().open(params.MODEL), each.prompt, each.candidates)[each.right].place == 1
        for each in ASKED
    )
    assert f"in {right} of {len(ASKED)} prompts" in said(after)


@pytest.mark.slow
def test_examples_in_front_are_measured():
    model, told = default().open(params.MODEL), set()
    for name in ("opposites", "repeat", "homes"):
        found = {k: scored(model, TASKS[name], k) for k in few.SHOTS}
        none, most = sum(found[0].right), sum(found[few.MOST].right)
        answer = few.HELPED[
            0 if most - none >= 4 else 2 if none - most >= 4 else 1
        ]  # two standard deviations of eight tosses each
        told.add(answer)
        before = page(4, *FOLDS, task=name)
        assert {bar["said"] for bar in chart(before)[0]} == {"?"} and "Mean share" not in said(before)
        after = page(4, *FOLDS, task=name, guess=("help", answer), shots="2", question="slow")
        assert "Right." in said(after) and [bar["value"] for bar in chart(after)[0]][:4] == [
            sum(each.right) for each in found.values()
        ]
        assert ", ".join(f"{sum(each.right)} with {k}" for k, each in found.items()) in said(after)
        assert after.code[0].value == prompt(TASKS[name], "slow", 2)
    assert told == {few.HELPED[1]}, (
        "of eight questions no difference that these tasks show is more than an accident"
    )


@pytest.mark.slow
def test_the_lines_to_take_away_make_the_same_numbers():
    names: dict[str, object] = {}
    for step in (1, 2, 3, 4):
        exec(page(step, *FOLDS).code[-1].value, names)
        if step == 1:
            assert names["found"].text == "HELLO"
    assert [each.share for each in names["found"]] == [
        scored(default().open(params.MODEL), TASKS["opposites"], k).share for k in few.SHOTS
    ]
    assert (
        names["shares"] == solved(tiny(), steps.EACH, params.LONGEST)
        and exhibit.thumbnail().count("<rect") > 10
    )
