"""Texts that go round in circles, and translations without an end."""

from __future__ import annotations

import pytest

import core
from core.analysis.loops import Loop, find_loop, unfinished_note


@pytest.mark.parametrize(
    ("text", "unit", "times"),
    [
        ("a a a", "a", 3),
        ("x a b a b a b", "a b", 3),
        ("x a b a b a b a", "a b", 3),
        ("a a a b c b c b c", "b c", 3),
    ],
)
def test_a_loop_is_the_shortest_unit_from_its_beginning(text: str, unit: str, times: int):
    assert find_loop(text.split()) == Loop(tuple(unit.split()), times)


@pytest.mark.parametrize("text", ["", "a", "a a", "a b a b", "a a a b", "a b c a b d a b c"])
def test_what_comes_twice_or_has_ended_is_no_loop(text: str):
    assert find_loop(text.split()) is None


def test_a_translation_without_an_end_is_told_with_its_loop_and_its_length():
    model = core.open_model("translator-en-es")
    run = model.run("ha ha ha ha", keep=[])
    n = len(run.tokens) - 1
    told = unfinished_note(run)
    assert (
        n == 3 * 4 + 10
        and told
        == f"translator-en-es does not find an end: it repeats “gran” {n} times in a row and is stopped after {n} tokens."
    )
    assert unfinished_note(model.run("The cat.", keep=[])) == "", "it ended by itself"
    assert unfinished_note(core.open_model("gpt-mini").run("a a a a", keep=[])) == "", (
        "nothing was translated"
    )


def test_a_text_without_end_need_not_be_a_loop():
    run = core.open_model("bahdanau-en-es").run("tick tock tick tock", keep=[])
    assert (
        unfinished_note(run)
        == f"bahdanau-en-es does not find an end: it is stopped after {len(run.tokens) - 1} tokens."
    )
