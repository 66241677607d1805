"""Inside and What matters in a real browser: open, switch the view, click a cell, and the link brings it back."""

from __future__ import annotations

import re

import pytest
from settling import settle
from shown_values import stating


def drawn(page) -> None:
    page.wait_for_selector('[data-testid="stVegaLiteChart"] svg')


@pytest.mark.slow
def test_it_opens_with_a_table_of_guesses_and_a_click_shows_the_five_best(visitor, app_url):
    visitor.goto(f"{app_url}/inside")
    drawn(visitor)
    visitor.get_by_text(re.compile("the first guess becomes “[a-z]+”")).first.wait_for()
    visitor.locator('[data-testid="stVegaLiteChart"] svg').first.locator(".mark-text text").nth(10).click()
    visitor.wait_for_url("**inside.cell=**")
    settle(visitor)
    link = visitor.url
    caption = visitor.get_by_text("after layer").or_(visitor.get_by_text("before any layer")).first
    said = caption.inner_text()
    visitor.goto("about:blank")
    visitor.goto(link)
    drawn(visitor)
    visitor.get_by_text(said, exact=True).first.wait_for()


@pytest.mark.slow
def test_the_view_is_in_the_link_and_the_bars_add_up(visitor, app_url):
    visitor.goto(f"{app_url}/inside")
    drawn(visitor)
    visitor.get_by_role("radio", name="Direct logit attribution").click()
    visitor.get_by_text("Added up:").wait_for()
    visitor.wait_for_url("**inside.by=who**")
    said = visitor.get_by_text("Added up:").inner_text()
    logit, total = said.split(" is ")[1].split(":")[0], said.rsplit(": ", 1)[1].rstrip(".")
    assert logit == total
    visitor.get_by_role("radio", name="Effect of one changed word").click()
    visitor.get_by_text(stating("“tired”", "nothing changed")).last.wait_for()


@pytest.mark.slow
def test_a_head_in_the_grid_is_chosen_for_all_pages(visitor, app_url):
    visitor.goto(f"{app_url}/importance")
    visitor.wait_for_selector(".matrix canvas")
    visitor.get_by_text("no other head").wait_for()
    visitor.locator(".matrix .frame").first.focus()
    for key in ("ArrowRight", "ArrowDown", "ArrowRight", "Enter"):
        visitor.keyboard.press(key)
    visitor.wait_for_url("**head=**")
    link = visitor.url
    visitor.locator(".matrix[data-cell]").first.wait_for()
    cell = visitor.locator(".matrix").first.get_attribute("data-cell")
    name = "L{}.H{}".format(*cell.split(","))
    visitor.get_by_text(f"Without {name}").wait_for()
    visitor.goto("about:blank")
    visitor.goto(link)
    visitor.get_by_text(f"Without {name}").wait_for()
