"""The claims of every step hold in the run that it opens with, and in each preset that it offers."""

from __future__ import annotations

import re
from typing import Any

import pytest
from deep import deep

from viz.course.exhibit import Exhibit
from viz.shell import pages

EXHIBITS = {entry.slug: entry.module.EXHIBIT for entry in pages.exhibits()}
STATES = [(slug, preset) for slug, exhibit in EXHIBITS.items() for preset in range(len(exhibit.presets) + 1)]
LONG = {
    "cls_and_pairs",
    "sentence_pairs",
    "sparse_attention",
    "spans_and_tags",
    "prompting",
    "bank",
    "letters_over_frames",
}
"""Exhibits whose promises read up to a hundred texts, half a second and more; masked words, ELMo, tuning and captions promise of the same models."""
QUICK = {(slug, 0) for slug in EXHIBITS if slug not in LONG} | set(
    [state for state in STATES if state[1]][::20]
)
"""Every exhibit as it opens, except those, and every twentieth preset."""
PLACEHOLDER = re.compile(r"\{[a-z_]+(\.[a-z_]+)*\}")


def claims(exhibit: Exhibit[Any, Any]) -> list[tuple[int, str]]:
    return [(number, claim) for number, step in enumerate(exhibit.steps, 1) for claim in step.promises]


@pytest.mark.parametrize(("slug", "preset"), deep(STATES, quick=QUICK))
def test_the_claims_of_every_step_hold(slug: str, preset: int) -> None:
    exhibit = EXHIBITS[slug]
    params = exhibit.params(**(exhibit.presets[preset - 1] if preset else {}))
    data = (
        exhibit.compute(params)
        if any(not step.without_data and step.promises for step in exhibit.steps)
        else None
    )
    broken = [
        (number, claim)
        for number, claim in claims(exhibit)
        if not exhibit.steps[number - 1].promises[claim](
            params, None if exhibit.steps[number - 1].without_data else data
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
