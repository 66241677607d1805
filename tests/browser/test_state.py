"""What the visitor chose, in a real browser: link, menu, back button, R key, two browsers beside each other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from urllib.parse import parse_qs, urlsplit

import pytest
from settling import apart, asked, until
from shown_values import stating

PAGE = "/positional_encoding"


@pytest.fixture
def page(visitor) -> Iterator[object]:
    """A fresh visitor; nothing that the page asks for is missing, either."""
    wrong: list[str] = []
    visitor.on(
        "response",
        lambda answer: (
            wrong.append(f"{answer.status} {answer.url}")
            if answer.status >= 400 and "/_stcore/" not in answer.url
            else None
        ),
    )
    yield visitor
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
    return {name: values[0] for name, values in parse_qs(urlsplit(page.url).query).items()}


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
    assert changed != opening
    page.go_back()
    settled(page, lambda: other.get_attribute("aria-checked") != "true")
    assert query(page) == opening
    assert other.get_attribute("aria-checked") != "true"
    page.go_forward()
    settled(page, lambda: other.get_attribute("aria-checked") == "true")
    assert query(page) == changed
    assert other.get_attribute("aria-checked") == "true"
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
    assert query(page)["text"] == "mine & <b>" and "layer" not in query(
        page
    )  # a layer belongs to a model, and an exhibit has its own
    page.get_by_role("link", name="Course", exact=True).click()
    settled(page, lambda: path(page) == "/course" and "text" in query(page) and shows(page, "Course"))
    assert query(page)["text"] == "mine & <b>"
    page.go_back()
    settled(page, lambda: path(page) == PAGE and shows(page, "Positional encoding"))
    assert path(page) == PAGE
    page.go_back()
    settled(page, lambda: path(page) == "/course" and shows(page, "Course"))
    assert path(page) == "/course"
    assert query(page)["text"] == "mine & <b>"


@pytest.mark.slow
def test_nonsense_in_the_address_is_told_and_put_right(page, app_url: str) -> None:
    visit(page, f"{app_url}{PAGE}?positional_encoding.d=abc")
    assert page.get_by_text(stating("positional_encoding.d=abc", "cannot be shown")).last.is_visible()
    assert query(page)["positional_encoding.d"].isdigit()


@pytest.mark.slow
def test_two_visitors_do_not_share_choices(chromium, app_url: str, page) -> None:
    visit(page, f"{app_url}{PAGE}?positional_encoding.d=60")
    other = chromium.new_context().new_page()
    visit(other, app_url + PAGE)
    assert "positional_encoding.d" not in query(other)
    other.context.close()
