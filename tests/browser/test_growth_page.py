"""While learning in a real browser: the slider moves grid and marks, a link restores, a training is started, seen and stopped."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

import pytest
from settling import settle

TALLEST = 180_000  # a training gives way to everybody else: on a busy machine its first step comes late


def shown(page, address: str) -> None:
    page.goto(address)
    page.wait_for_selector("[data-heads]", timeout=TALLEST)
    page.wait_for_selector("[data-cell][data-scale]", timeout=TALLEST)
    settle(page)


def chosen(page, name: str) -> str:
    return parse_qs(urlsplit(page.url).query).get(name, [""])[0]


def ends(page, words: str) -> None:
    page.get_by_text(words).first.wait_for(timeout=TALLEST)


@pytest.mark.slow
def test_the_slider_moves_the_grid_the_curves_and_the_link_and_a_link_restores(visitor, app_url):
    shown(visitor, app_url + "/growth")
    ends(visitor, "the habit “induction head” appears")
    before = visitor.locator("[data-heads] canvas").first.screenshot()
    slider = visitor.get_by_test_id("stSlider").get_by_role("slider")
    slider.focus()
    at = chosen(visitor, "growth.step")
    visitor.keyboard.press("ArrowRight")
    visitor.wait_for_function(
        "at => new URLSearchParams(location.search).get('growth.step') !== at", arg=at or None
    )
    settle(visitor)
    step = int(chosen(visitor, "growth.step"))
    ends(visitor, f"At step {step:,}")
    settle(visitor)
    assert visitor.locator("[data-heads] canvas").first.screenshot() != before
    assert visitor.get_by_test_id("stVegaLiteChart").count() == 2
    address = visitor.url
    shown(visitor, address)
    ends(visitor, f"At step {step:,}")
    assert visitor.get_by_test_id("stVegaLiteChart").count() == 2


@pytest.mark.slow
def test_a_tile_opens_its_head_and_play_ends_at_the_last_moment(visitor, app_url):
    shown(visitor, app_url + "/growth?growth.step=1370&growth.head=L1.H1")
    visitor.locator("[data-heads] .frame").first.focus()
    for key in ("ArrowLeft", "ArrowUp", "Enter"):
        visitor.keyboard.press(key)
    ends(visitor, "L0.H1")
    settle(visitor)
    assert chosen(visitor, "growth.head") == "L0.H1"
    visitor.get_by_role("button", name="Play").click()
    ends(visitor, "At step 2,000")
    visitor.get_by_role("button", name="Play").wait_for(timeout=TALLEST)
    assert chosen(visitor, "growth.step") == "2000"


@pytest.mark.slow
def test_a_training_is_started_seen_and_stopped(visitor, app_url):
    shown(visitor, app_url + "/growth?growth.of=here")
    ends(visitor, "Recorded run")
    visitor.get_by_role("button", name="Train it yourself").click()
    ends(visitor, "Yours is learning: step")
    visitor.wait_for_selector("[data-heads]", timeout=TALLEST)
    early = visitor.get_by_text("Yours is learning: step").first.inner_text()
    visitor.wait_for_function(
        "text => ![...document.querySelectorAll('[data-testid=stProgress]')].some(bar => bar.innerText.includes(text))",
        arg=early,
        timeout=TALLEST,
    )
    visitor.get_by_role("button", name="Stop").click()
    ends(visitor, "You stopped it.")
    visitor.get_by_role("button", name="Train it again").wait_for(timeout=TALLEST)
    with visitor.expect_navigation():
        visitor.get_by_role("link", name="in Look").click()
    visitor.wait_for_selector("[data-words]", timeout=TALLEST)
    assert "yours: copy" in chosen(visitor, "model")


@pytest.mark.slow
def test_a_phone_shows_it_without_sideways_scrolling(chromium, app_url):
    context = chromium.new_context(viewport={"width": 390, "height": 800})
    page = context.new_page()
    shown(page, app_url + "/growth")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    context.close()
