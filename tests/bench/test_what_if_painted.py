"""What if in a browser: from the click that chooses a tile, or switches it off, to the changed picture. `pytest -m bench -s`, idle machine."""

from __future__ import annotations

import statistics
from urllib.parse import urlencode

import pytest
from test_what_if_speed import TEXT

from tests.bench.measuring import judge, spread
from tests.bench.painting import wait, watched

pytestmark = [pytest.mark.bench, pytest.mark.browser]

PAINTED = 300.0
"""Milliseconds, half of all changes."""
HEADS = 14
LINK = {"model": "gpt-mini", "text": TEXT, "layer": 1, "head": 0, "what_if.edits": "none"}
GRID = ".heads[data-heads]"
STATE = """(parts) => {
  const texts = [...document.querySelectorAll('[data-testid="stText"], [data-testid="stWidgetLabel"]')].map((e) => e.innerText);
  return ["next word", "Output of"].map((words) => texts.find((text) => text.includes(words)) ?? "").concat(parts(".atlas").map((part) => part.dataset.drawn));
}"""
SAID, HEAD = 1, 2
"""Parts of the state: what is said, and the head in view."""


def test_a_tile_and_the_switch_are_answered_within_the_budget(page, app_url):
    watched(page, f"{app_url}/what_if?{urlencode(LINK)}", GRID, STATE)
    tiles, switches = [], []
    for turn in range(HEADS):
        page.locator(f"{GRID} .frame").focus()
        page.keyboard.press("ArrowRight")  # the first key only shows where one is
        page.keyboard.press("ArrowDown" if turn % 8 == 7 else "ArrowLeft" if turn // 8 % 2 else "ArrowRight")
        # pictures follow the words
        tiles.append(wait(page, lambda: page.keyboard.press("Enter"), HEAD, 700))
        for mode in ("Zero-ablate", "As it is"):
            switch = page.get_by_role("radio", name=mode, exact=True)
            switches.append(wait(page, switch.click, SAID, 700))
    for what, times in (("a tile", tiles[2:]), ("a head switched off or on", switches[2:])):
        judge(what, statistics.median(times), PAINTED, "ms", spread(times))
