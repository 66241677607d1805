"""What holds for every step of every exhibit: its folds open, nothing is told before the guess, what can be taken away is there and its lines run."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from deep import deep
from exhibit_pages import drawn, said
from exhibit_visits import answered, well
from streamlit.testing.v1 import AppTest

from viz.course.exhibit import LATER, Exhibit
from viz.shell import pages
from viz.widgets import export

EVERY = [
    (entry.slug, step)
    for entry in pages.exhibits()
    for step in range(1, len(entry.steps) + 1)
    if entry.file.with_name("text.md").exists()
]
EVERY_SIXTH = [case for case in EVERY if case[1] == 1][::6]
BY_TOUCH = ":commit"
ALL_THERE = {
    ("masks", 6): "its question is about a picture that is all there: what would happen to it",
    (
        "positional_encoding",
        1,
    ): "its four views may be looked at freely; the question stands below them and covered nothing",
}
"""Steps whose question covers nothing, and why."""


def folds(exhibit: Exhibit[Any, Any], slug: str) -> dict[str, bool]:
    """All folds of a page, open."""
    return dict.fromkeys(
        (
            *(f"fold:{slug}.{name}" for name in ("equation", "looking", "table", "take")),
            f"fold:{exhibit.text.info.title}.documents",
        ),
        True,
    )


def questions(test: AppTest) -> list[Any]:
    """What the step asks and is not answered."""
    asked = [
        widget for widget in (*test.button_group, *test.slider) if str(widget.key).startswith("predict:")
    ]
    touched = [
        button
        for button in test.button
        if str(button.key).startswith("predict:") and str(button.key).endswith(BY_TOUCH)
    ]
    return [widget for widget in (*asked, *touched) if not widget.proto.disabled or widget in touched]


@pytest.mark.parametrize(("slug", "step"), deep(EVERY, quick=EVERY_SIXTH))
def test_a_step_opens_its_folds_and_tells_nothing_before_the_guess(
    slug: str, step: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    exhibit = pages.find(slug).module.EXHIBIT
    taken: list[Mapping[str, np.ndarray]] = []
    monkeypatch.setattr(export, "npz", lambda arrays: taken.append(arrays) or b"-")
    test = drawn(slug, {f"{slug}.step": str(step)}, folds(exhibit, slug))
    well(test, "before")
    own = set(taken[-1])
    asked = [] if (slug, step) in ALL_THERE else questions(test)
    if asked:
        assert LATER in said(test) and [LATER] in [
            list(frame.value.to_numpy().ravel()) for frame in test.dataframe
        ]
        if any(
            str(button.key).endswith(BY_TOUCH) and button.proto.disabled
            for button in test.button
            if str(button.key).startswith("predict:")
        ):
            return  # answered by touching the picture: the exhibit's own test does that
        test = answered(test)
        well(test, "after")
        assert set(taken[-1]) > own, "arrays come with the answer"
    assert LATER not in said(test)
    table = test.dataframe[-1].value
    assert table.size and not table.isna().all(axis=None)
    assert all(np.asarray(values).size for values in taken[-1].values())
    for id in exhibit.text.steps[step - 1].errata:
        assert id in said(test)
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(test.code[-1].value, f"{slug} {step}", "exec"), {})
    assert printed.getvalue().strip()
