"""While learning in a real browser: the slider moves grid and marks, a link restores, a tile opens its head, Play ends."""

from __future__ import annotations

import pytest
from settling import in_link, opened, press, settle


def shown(page, address: str) -> None:
    opened(page, address, "[data-heads]")
    page.wait_for_selector("[data-cell][data-scale]")
    settle(page)


def says(page, words: str) -> None:
    page.get_by_text(words).first.wait_for()


@pytest.mark.slow
def test_the_slider_moves_the_grid_the_curves_and_the_link_and_a_link_restores(visitor, app_url):
    shown(visitor, app_url + "/growth")
    before = visitor.locator("[data-heads] canvas").first.screenshot()
    visitor.get_by_test_id("stSlider").get_by_role("slider").focus()
    at = in_link(visitor, "growth.step")
    press(visitor, "ArrowRight")
    visitor.wait_for_function(
        "at => new URLSearchParams(location.search).get('growth.step') !== at", arg=at or None
    )
    settle(visitor)
    step = f"At step {int(in_link(visitor, 'growth.step')):,}"
    says(visitor, step)
    settle(visitor)
    assert visitor.locator("[data-heads] canvas").first.screenshot() != before
    assert visitor.get_by_test_id("stVegaLiteChart").count() == 2
    shown(visitor, visitor.url)
    says(visitor, step)
    assert visitor.get_by_test_id("stVegaLiteChart").count() == 2


@pytest.mark.slow
def test_a_tile_opens_its_head_and_play_ends_at_the_last_moment(visitor, app_url):
    shown(visitor, app_url + "/growth?growth.step=1370&growth.head=L1.H1")
    press(visitor, "ArrowLeft", "ArrowUp", "Enter", at="[data-heads] .frame")
    says(visitor, "L0.H1")
    settle(visitor)
    assert in_link(visitor, "growth.head") == "L0.H1"
    visitor.get_by_role("button", name="Play").click()
    says(visitor, "At step 2,000")
    visitor.get_by_role("button", name="Play").wait_for()
    assert in_link(visitor, "growth.step") == "2000"
