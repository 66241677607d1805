"""Before a room every step of every exhibit fits its window, at 1280 x 720 and at 1920 x 1080, and so do Look and Decode: nobody scrolls while he speaks."""

from __future__ import annotations

from typing import Any

import pytest
from settling import settle

from viz.shell import pages

pytestmark = pytest.mark.slow
WINDOWS = ((1280, 720), (1920, 1080))
HIGH = "(() => { const main = document.querySelector('[data-testid=\"stMain\"]'); return [main.scrollHeight, main.clientHeight]; })()"


@pytest.mark.parametrize("entry", pages.exhibits(), ids=lambda entry: entry.slug)
def test_every_step_fits_without_scrolling(visitor: Any, app_url: str, entry: pages.Entry) -> None:
    high: dict[tuple[int, int], list[int]] = {}
    visitor.goto(f"{app_url}/{entry.slug}?present=1")
    for step in range(1, max(1, len(entry.steps)) + 1):
        for width, height in WINDOWS:
            visitor.set_viewport_size({"width": width, "height": height})
            settle(visitor)
            tall, window = visitor.evaluate(HIGH)
            if tall > window + 1:
                high[step, height] = [tall, window]
        if step < len(entry.steps):
            visitor.keyboard.press("ArrowRight")
            visitor.wait_for_function(
                "step => new URLSearchParams(location.search).get(step[0]) === step[1]",
                arg=[f"{entry.slug}.step", str(step + 1)],
            )
    assert high == {}, "higher than the window"


@pytest.mark.parametrize("address", ["?present=1", "decode?present=1"])
def test_a_page_of_the_workspace_fits_above_the_bar_of_a_room(
    visitor: Any, app_url: str, address: str
) -> None:
    visitor.goto(f"{app_url}/lecture_room")
    settle(visitor)
    visitor.get_by_role("button", name="Open a room").click()
    visitor.locator(".room-bar[data-live]").wait_for()
    visitor.set_viewport_size({"width": 1280, "height": 720})
    visitor.goto(f"{app_url}/{address}")
    settle(visitor)
    tall, window = visitor.evaluate(HIGH)
    assert tall <= window + 1
    bar = visitor.locator(".room-bar").bounding_box()
    page = visitor.locator(".st-key-atlas-page").bounding_box()
    assert page["y"] + page["height"] <= bar["y"] + 4, "the bar covers the page"
