"""What if and Be the head in a real browser: a head is switched off by clicking, taken back, kept by the link; a cell is forbidden."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

import pytest
from settling import settle

GRID, SENTENCE = ".heads[data-heads]", "next word"


def opened(page, address: str) -> None:
    page.goto(address)
    page.wait_for_selector(GRID)
    settle(page)


def said(page) -> str:
    return page.get_by_text(SENTENCE).last.inner_text()


def chips(page):
    return page.locator("[class*='st-key-what_if-chip-']")


def walk(page, *keys: str) -> None:
    """To a tile by the keyboard, which needs no pixels."""
    page.locator(f"{GRID} .frame").focus()
    for key in keys:
        page.keyboard.press(key)


@pytest.mark.slow
def test_a_head_is_switched_off_by_clicking_and_taken_back(visitor, app_url):
    opened(visitor, app_url + "/what_if?what_if.edits=none")
    assert (
        "Nothing is changed" in visitor.get_by_text("Nothing is changed").last.inner_text()
        and chips(visitor).count() == 0
    )
    walk(visitor, "ArrowRight", "ArrowRight", "ArrowUp", "Enter")
    settle(visitor)
    layer, head = (parse_qs(urlsplit(visitor.url).query)[name][0] for name in ("layer", "head"))
    visitor.get_by_role("radio", name="Zero-ablate", exact=True).click()
    settle(visitor)
    assert (
        chips(visitor).count() == 1
        and f"layer {layer}, head {head}" in chips(visitor).first.inner_text().lower()
    )
    assert "Without L" in said(visitor)
    chips(visitor).first.click()
    settle(visitor)
    assert chips(visitor).count() == 0 and "what_if.edits=none" in visitor.url


@pytest.mark.slow
def test_the_opening_is_telling_and_the_link_brings_everything_back(visitor, app_url):
    opened(visitor, app_url + "/what_if")
    first = said(visitor)
    assert "falls from" in first and chips(visitor).count() == 1
    visitor.get_by_role("radio", name="Half").click()
    settle(visitor)
    link, half = visitor.url, said(visitor)
    assert half != first
    opened(visitor, link)
    assert said(visitor) == half and "half" in chips(visitor).first.inner_text()


@pytest.mark.slow
def test_a_cell_of_the_picture_before_is_forbidden(visitor, app_url):
    opened(visitor, app_url + "/what_if?what_if.edits=none&layer=3&head=1&what_if.seen=causal.3.1")
    before = visitor.locator(".matrix").filter(has_text="L3.H1 before").first
    before.locator(".frame").focus()
    visitor.keyboard.press("End")
    visitor.keyboard.press("Enter")
    settle(visitor)
    visitor.get_by_role("button", name="Mask it").click()
    settle(visitor)
    assert chips(visitor).count() == 1 and "masked for" in chips(visitor).first.inner_text()
    assert "forbid" in visitor.url


@pytest.mark.slow
def test_the_visitor_is_the_head(visitor, app_url):
    visitor.goto(app_url + "/be_the_head")
    visitor.get_by_role("button", name="Put it into the model").wait_for()
    settle(visitor)
    assert (
        visitor.get_by_text("With uniform attention").last.is_visible()
        and visitor.get_by_text("With your row").count() == 0
    )
    visitor.get_by_role("button", name="Put it into the model").click()
    settle(visitor)
    assert visitor.get_by_text("With your row").last.is_visible() and "be_the_head.in=1" in visitor.url
