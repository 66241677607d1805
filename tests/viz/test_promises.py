"""The claims of every step hold in the run that it opens with, and in each preset that it offers."""

from __future__ import annotations

import re
from typing import Any

import pytest
from deep import deep

from viz.course.lesson import Lesson
from viz.shell import pages

EXHIBITS = {entry.slug: entry.module.LESSON for entry in pages.exhibits()}
STATES = [(slug, preset) for slug, lesson in EXHIBITS.items() for preset in range(len(lesson.presets) + 1)]
QUICK = {(slug, 0) for slug in EXHIBITS} | set([state for state in STATES if state[1]][::20])
"""Every exhibit as it opens, and every twentieth preset."""
DEAR = {
    "a trained classifier is far above chance, whichever vector it reads",
    "blocks predict as many masked tokens as all pairs, within 5%",
    "nearly all opinions are right, most pairs",
    "over 200 random pairs the answers cost less than a coin's",
    "pairs are harder than opinions",
    "the opening scene gets several captions by hard attention",
    "the soft caption is among those of hard attention",
    "the sort of answer is mostly found, the sentence is not",
}
"""Claims that count over many texts for half a second or more: what a shipped model gets right on average."""
PLACEHOLDER = re.compile(r"\{[a-z_]+(\.[a-z_]+)*\}")


def claims(lesson: Lesson[Any, Any]) -> list[tuple[int, str]]:
    return [(number, claim) for number, step in enumerate(lesson.steps, 1) for claim in step.promises]


def broken(slug: str, preset: int, dear: bool) -> list[tuple[int, str]]:
    """Return the claims of an exhibit in a state that do not hold: those of `DEAR`, or all others."""
    lesson = EXHIBITS[slug]
    params = lesson.params(**(lesson.presets[preset - 1] if preset else {}))
    data = lesson.compute(params) if any(not step.alone and step.promises for step in lesson.steps) else None
    return [
        (number, claim)
        for number, claim in claims(lesson)
        if (claim in DEAR) == dear
        and not lesson.steps[number - 1].promises[claim](
            params, None if lesson.steps[number - 1].alone else data
        )
    ]


@pytest.mark.parametrize(("slug", "preset"), deep(STATES, quick=QUICK))
def test_the_claims_of_every_step_hold(slug: str, preset: int) -> None:
    assert broken(slug, preset, dear=False) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("slug", "preset"),
    [state for state in STATES if {claim for _, claim in claims(EXHIBITS[state[0]])} & DEAR],
)
def test_the_claims_on_many_texts_hold(slug: str, preset: int) -> None:
    assert broken(slug, preset, dear=True) == []


def test_every_claim_on_many_texts_is_one_of_an_exhibit() -> None:
    assert {claim for lesson in EXHIBITS.values() for _, claim in claims(lesson)} >= DEAR


@pytest.mark.parametrize("slug", EXHIBITS)
def test_every_step_promises_something(slug: str) -> None:
    assert [number for number, step in enumerate(EXHIBITS[slug].steps, 1) if not step.promises] == []


@pytest.mark.parametrize("slug", EXHIBITS)
def test_no_placeholder_is_left_in_what_one_looks_at(slug: str) -> None:
    """`Look`, `Try` and what is said at a step have placeholders only where the step fills them in."""
    for step in EXHIBITS[slug].text.steps:
        for words in (step.says, step.tries):
            assert not PLACEHOLDER.search(words), words


@pytest.mark.parametrize("slug", EXHIBITS)
def test_each_step_has_its_own_words_on_what_one_looks_at(slug: str) -> None:
    looks = [step.look for step in EXHIBITS[slug].text.steps]
    assert all(looks) and len(set(looks)) == len(looks)
