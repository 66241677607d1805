"""Before a room every step of every exhibit fits its window, at 1280 x 720 and at 1920 x 1080: nobody scrolls while he speaks."""

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
