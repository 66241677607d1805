"""Inside in a real browser: it opens, a click shows the five best of a cell, and the link brings it back."""

from __future__ import annotations

import pytest
from settling import opened, settle

CHART = '[data-testid="stVegaLiteChart"] svg'


@pytest.mark.slow
def test_it_opens_with_a_table_of_guesses_and_a_click_shows_the_five_best(visitor, app_url):
    opened(visitor, f"{app_url}/inside", CHART)
    visitor.locator(CHART).first.locator(".mark-text text").nth(10).click()
    visitor.wait_for_url("**inside.cell=**")
    settle(visitor)
    link = visitor.url
    said = visitor.get_by_text("after layer").or_(visitor.get_by_text("before any layer")).first.inner_text()
    visitor.goto("about:blank")
    opened(visitor, link, CHART)
    visitor.get_by_text(said, exact=True).first.wait_for()
