"""The first minute in a real browser: it plays by itself, is walked by keyboard, and waits where motion is not wanted."""

from __future__ import annotations

from typing import Any

import pytest
from settling import settle

SENTENCE = ".qkv .told"


def test_the_sequence_opens_from_the_first_screen_and_is_walked_by_keyboard(
    visitor: Any, app_url: str
) -> None:
    visitor.goto(app_url)
    settle(visitor)
    visitor.get_by_role("button", name="What is a query, a key, a value?").click()
    sequence = visitor.locator(".qkv[data-scene]")
    sequence.wait_for()
    assert sequence.get_attribute("data-playing") == "true"
    visitor.locator(".qkv .play").click()
    assert sequence.get_attribute("data-playing") == "false"
    visitor.locator(".qkv .stop").first.focus()
    seen = []
    for key in ("Home", "ArrowRight", "ArrowRight", "ArrowRight", "ArrowRight", "ArrowRight"):
        visitor.keyboard.press(key)
        seen.append(sequence.get_attribute("data-scene"))
    assert seen == ["1", "2", "3", "4", "5", "5"]
    shown = visitor.evaluate("new URLSearchParams(location.search).get('look.minute')")
    assert shown == "1"
    share = visitor.locator(".qkv .weight .largest b").inner_text()
    assert share in visitor.locator(SENTENCE).inner_text()
    visitor.keyboard.press("Escape")
    visitor.wait_for_function("!new URLSearchParams(location.search).has('look.minute')")
    assert share in visitor.locator(".words .sentence").first.inner_text()


@pytest.mark.slow
def test_nothing_moves_by_itself_where_motion_is_not_wanted(chromium: Any, app_url: str) -> None:
    context = chromium.new_context(reduced_motion="reduce")
    page = context.new_page()
    page.goto(f"{app_url}/?look.minute=1")
    sequence = page.locator(".qkv[data-scene]")
    sequence.wait_for()
    assert sequence.get_attribute("data-playing") == "false"
    assert page.locator(".qkv .coming").count() > 0, "later scenes wait"
    context.close()


@pytest.mark.slow
def test_on_a_projector_the_sequence_is_whole_and_enlarged(visitor: Any, app_url: str) -> None:
    for window in ((1280, 720), (1920, 1080)):
        visitor.set_viewport_size({"width": window[0], "height": window[1]})
        visitor.goto(f"{app_url}/?present=1&look.minute=1")
        visitor.locator(".qkv .play").wait_for()
        visitor.wait_for_function(
            "() => { const open = document.querySelector('[data-testid=\"stDialog\"]'); return open.scrollHeight <= open.clientHeight + 1; }"
        )
        button = visitor.locator(".qkv .play").bounding_box()
        assert 0.8 * window[1] < button["y"] + button["height"] < window[1]
