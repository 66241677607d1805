"""What the visitor chose, in a real browser: link, menu, back button, R key, two browsers beside each other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from settling import apart, asked, until

PAGE = "/positional_encoding"


@pytest.fixture
def page(visitor) -> Iterator[object]:
    """A fresh visitor; nothing that the page asks for is missing, either."""
    answers: list[Any] = []
    visitor.on("response", lambda answer: answers.append(answer))
    yield visitor
    wrong = [answer.url for answer in answers if answer.status >= 400 and "/_stcore/" not in answer.url]
    assert wrong == []


def settled(page, holds: Callable[[], bool] = lambda: True) -> None:
    """Wait until `holds` and the page is at rest; what comes then belongs to no drag that went before (history.js)."""
    until(page, holds)
    apart(page)


def visit(page, address: str) -> None:
    page.goto(address)
    page.wait_for_selector("h1")
    settled(page)


def query(page) -> dict[str, str]:
    return dict(parse_qsl(urlsplit(page.url).query))


def path(page) -> str:
    return urlsplit(page.url).path


def shows(page, title: str) -> bool:
    """Whether the page has arrived: the address changes at once, what is under it with the next run."""
    return page.locator("h1").first.inner_text() == title


def test_a_choice_is_in_the_address_back_undoes_it_and_r_starts_the_page_over_once(
    page, app_url: str
) -> None:
    visit(page, app_url + PAGE)
    opening = query(page)
    other = page.get_by_test_id("stButtonGroup").first.get_by_role("radio").nth(1)
    other.click()
    settled(page, lambda: query(page) != opening)
    changed = query(page)
    page.go_back()
    settled(page, lambda: other.get_attribute("aria-checked") != "true")
    assert query(page) == opening
    page.go_forward()
    settled(page, lambda: other.get_attribute("aria-checked") == "true")
    assert query(page) == changed
    page.locator("h1").click()
    before = asked(page)
    page.keyboard.press("r")  # Streamlit has R for a rerun of its own (and C, for developers only)
    settled(page, lambda: query(page) == opening)
    assert asked(page) == before + 1, "the page was run twice"


@pytest.mark.slow
def test_the_fonts_are_loaded_what_travels_comes_along_and_back_takes_one_press_a_page(
    page, app_url: str
) -> None:
    visit(page, f"{app_url}/course?text=mine%20%26%20%3Cb%3E&layer=2")
    loaded = page.evaluate("Array.from(document.fonts).filter(f => f.status === 'loaded').map(f => f.family)")
    assert {"Inter", "ReaderSerif"} <= {family.strip('"') for family in loaded}
    page.get_by_role("link", name="Positional encoding").click()
    settled(page, lambda: path(page) == PAGE and "text" in query(page) and shows(page, "Positional encoding"))
    # a layer belongs to a model, and an exhibit has its own
    assert query(page)["text"] == "mine & <b>" and "layer" not in query(page)
    page.get_by_role("link", name="Course", exact=True).click()
    settled(page, lambda: path(page) == "/course" and "text" in query(page) and shows(page, "Course"))
    assert query(page)["text"] == "mine & <b>"
    page.go_back()
    settled(page, lambda: path(page) == PAGE and shows(page, "Positional encoding"))
    page.go_back()
    settled(page, lambda: path(page) == "/course" and shows(page, "Course"))
    assert query(page)["text"] == "mine & <b>"


@pytest.mark.slow
def test_two_visitors_do_not_share_choices(new_page, app_url: str, page) -> None:
    visit(page, f"{app_url}{PAGE}?positional_encoding.d=60")
    other = new_page(levels=())
    visit(other, app_url + PAGE)
    assert "positional_encoding.d" not in query(other)
