"""What a newcomer can do from the first screen within three clicks: compare two heads, switch one off, find the one most like it."""

from __future__ import annotations

import re

import pytest

DEEP = """(() => {
  const count = (root) => [...root.querySelectorAll("*")].reduce((n, e) => n + e.matches(".atlas.matrix") + (e.shadowRoot ? count(e.shadowRoot) : 0), 0);
  return count(document) >= 3;
})()"""
"""Whether three heatmaps are drawn: the two heads and their difference."""


@pytest.fixture
def page(visitor, app_url: str):
    """The first screen as it opens, nothing chosen."""
    visitor.goto(app_url)
    visitor.get_by_role("button", name="How is it computed?").wait_for()
    return visitor


def full_view(page) -> None:
    """The first click: below the picture stands the row that leads on."""
    page.get_by_role("button", name="How is it computed?").click()
    page.get_by_role("link", name="Switch this head off").wait_for()


@pytest.mark.slow
def test_two_heads_beside_each_other_and_their_difference_in_two_clicks(page) -> None:
    page.get_by_test_id("stTopNavSection").filter(has_text="Lab").click()
    page.get_by_role("menuitem", name=re.compile("^Compare")).click()
    page.get_by_text("Jensen-Shannon divergence").first.wait_for()
    page.wait_for_function(DEEP)
    for words in ("A: L", "B: L", "A − B"):
        page.get_by_text(words).first.wait_for()


@pytest.mark.slow
def test_the_head_most_like_this_one_is_found_in_two_clicks(page) -> None:
    full_view(page)
    page.get_by_role("link", name="Heads like this one").click()
    told = page.get_by_text(re.compile(r"^Nearest is L\d+\.H\d+"))
    told.first.wait_for(timeout=180_000)
    assert re.search(r"[\d.]+ bits", told.first.inner_text())
