"""The first minute in a real browser: it plays by itself, is walked by keyboard, and waits where motion is not wanted."""

from __future__ import annotations

from typing import Any

import pytest

SENTENCE = ".qkv .told"


@pytest.mark.slow
def test_nothing_moves_by_itself_where_motion_is_not_wanted(new_page: Any, app_url: str) -> None:
    page = new_page(levels=(), reduced_motion="reduce")
    page.goto(f"{app_url}/?look.minute=1")
    sequence = page.locator(".qkv[data-scene]")
    sequence.wait_for()
    assert sequence.get_attribute("data-playing") == "false"
    assert page.locator(".qkv .coming").count() > 0, "later scenes wait"


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
