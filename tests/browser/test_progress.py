"""Progress in a real browser: it survives a reload and a new session, and is gone when it is forgotten."""

from __future__ import annotations

import pytest
from settling import settle

STORED = "localStorage.getItem('atlas.progress') ?? ''"
TICKED = '[class*="st-key-course-tiles-"] a[href*="/masks"] [data-testid="stIconMaterial"]'


@pytest.mark.slow
def test_answers_and_ticks_survive_a_reload_until_they_are_forgotten(visitor, app_url):
    visitor.goto(app_url + "/masks?masks.step=1")
    first = visitor.locator('[class*="st-key-asked-"] button').first
    first.wait_for()
    settle(visitor)
    first.click()
    verdict = visitor.locator('[class*="st-key-answer-"]').first
    verdict.wait_for()
    visitor.wait_for_function(f"({STORED}).includes('masks.')")
    said = verdict.inner_text()
    visitor.reload()
    verdict.wait_for()
    assert verdict.inner_text() == said
    visitor.goto(app_url + "/course")
    visitor.get_by_text("answers right").wait_for()
    settle(visitor)
    visitor.get_by_role("button", name="Forget my progress").click()
    visitor.wait_for_function(f"({STORED}) === ''")
    visitor.evaluate(
        'localStorage.setItem(\'atlas.progress\', \'{"version": 1, "seen": ["<img src=x onerror=boom()>", 3], "answers": [\')'
    )
    visitor.reload()
    visitor.get_by_text("Begin here").wait_for()
    settle(visitor)
    assert visitor.get_by_role("button", name="Forget my progress").count() == 0
