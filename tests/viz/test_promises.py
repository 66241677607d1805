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
PLACEHOLDER = re.compile(r"\{[a-z_]+(\.[a-z_]+)*\}")


def claims(lesson: Lesson[Any, Any]) -> list[tuple[int, str]]:
    return [(number, claim) for number, step in enumerate(lesson.steps, 1) for claim in step.promises]


@pytest.mark.parametrize(("slug", "preset"), deep(STATES, quick=QUICK))
def test_the_claims_of_every_step_hold(slug: str, preset: int) -> None:
    lesson = EXHIBITS[slug]
    params = lesson.params(**(lesson.presets[preset - 1] if preset else {}))
    data = lesson.compute(params) if any(not step.alone and step.promises for step in lesson.steps) else None
    broken = [
        (number, claim)
        for number, claim in claims(lesson)
        if not lesson.steps[number - 1].promises[claim](
            params, None if lesson.steps[number - 1].alone else data
        )
    ]
    assert broken == []


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
