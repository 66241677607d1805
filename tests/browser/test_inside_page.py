"""Inside and What matters in a real browser: open, switch the view, click a cell, and the link brings it back."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from settling import settle


@pytest.fixture
def page(chromium, app_url: str) -> Iterator[object]:
    """A fresh visitor; errors of the browser and requests to elsewhere fail the test."""
    context = chromium.new_context(viewport={"width": 1280, "height": 1000})
    page = context.new_page()
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on(
        "request",
        lambda request: (
            wrong.append(request.url) if urlsplit(request.url).hostname not in (None, "127.0.0.1") else None
        ),
    )
    yield page
    assert wrong == []
    context.close()


def drawn(page) -> None:
    page.wait_for_selector('[data-testid="stVegaLiteChart"] svg')


def test_it_opens_with_a_table_of_guesses_and_a_click_shows_the_five_best(page, app_url):
    page.goto(f"{app_url}/inside")
    drawn(page)
    page.get_by_text(re.compile("the first guess becomes “[a-z]+”")).first.wait_for()
    page.locator('[data-testid="stVegaLiteChart"] svg').first.locator(".mark-text text").nth(10).click()
    page.wait_for_url("**inside.cell=**")
    settle(page)
    link = page.url
    caption = page.get_by_text("after layer").or_(page.get_by_text("before any layer")).first
    said = caption.inner_text()
    page.goto("about:blank")
    page.goto(link)
    drawn(page)
    page.get_by_text(said, exact=True).first.wait_for()


def test_the_view_is_in_the_link_and_the_bars_add_up(page, app_url):
    page.goto(f"{app_url}/inside")
    drawn(page)
    page.get_by_role("radio", name="Direct logit attribution").click()
    page.get_by_text("Added up:").wait_for()
    page.wait_for_url("**inside.by=who**")
    said = page.get_by_text("Added up:").inner_text()
    logit, total = said.split(" is ")[1].split(":")[0], said.rsplit(": ", 1)[1].rstrip(".")
    assert logit == total
    page.get_by_role("radio", name="Effect of one changed word").click()
    page.get_by_text("Left of “tired” nothing changed, exactly").wait_for()


def test_a_head_in_the_grid_is_chosen_for_all_pages(page, app_url):
    page.goto(f"{app_url}/importance")
    page.wait_for_selector(".matrix canvas")
    page.get_by_text("no other head does more for it").wait_for()
    page.locator(".matrix .frame").first.focus()
    for key in ("ArrowRight", "ArrowDown", "ArrowRight", "Enter"):
        page.keyboard.press(key)
    page.wait_for_url("**head=**")
    link = page.url
    page.locator(".matrix[data-cell]").first.wait_for()
    cell = page.locator(".matrix").first.get_attribute("data-cell")
    name = "L{}.H{}".format(*cell.split(","))
    page.get_by_text(f"Without {name}").wait_for()
    page.goto("about:blank")
    page.goto(link)
    page.get_by_text(f"Without {name}").wait_for()
