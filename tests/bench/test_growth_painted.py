"""While learning in a browser: from a step of the slider to the heads of that moment, and the pace of Play. `pytest -m bench -s`, idle machine."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Iterator

import pytest

pytestmark = [pytest.mark.bench, pytest.mark.browser]

PAINTED = 300.0
"""Milliseconds from the key to the picture, half of all steps."""
WATCH = """() => {
  const inside = (root) => {
    const found = root.querySelector(".atlas[data-heads]");
    if (found) return found;
    for (const host of root.querySelectorAll("*")) { const deep = host.shadowRoot && inside(host.shadowRoot); if (deep) return deep; }
  };
  let grid, before;
  window.asked = 0; window.painted = [];
  document.addEventListener("keydown", () => { window.asked = performance.now(); }, true);
  const look = () => {
    if (!grid?.isConnected) grid = inside(document);
    const step = grid?.innerText.match(/at step ([\\d,]+)/)?.[1];
    if (step && step !== before) { before = step; window.painted.push([performance.now(), step]); }
    requestAnimationFrame(look);
  };
  look();
}"""


@pytest.fixture
def page(chromium) -> Iterator[object]:
    page = chromium.new_page(viewport={"width": 1440, "height": 1000})
    yield page
    page.close()


def opened(page, app_url: str, of: str) -> None:
    page.goto(f"{app_url}/growth?growth.of={of}&growth.step=0")
    page.wait_for_selector(".atlas[data-heads] canvas", timeout=90_000)
    page.wait_for_timeout(4_000)
    page.evaluate(WATCH)
    page.wait_for_timeout(500)


@pytest.mark.parametrize("of", ["induction-tiny", "gpt-twin"])
def test_a_step_is_painted(page, app_url, of):
    opened(page, app_url, of)
    page.get_by_test_id("stSlider").get_by_role("slider").focus()
    times = []
    for _ in range(9):
        before = page.evaluate("window.painted.length")
        page.keyboard.press("ArrowRight")
        page.wait_for_function("n => window.painted.length > n", arg=before, polling=20, timeout=30_000)
        times.append(page.evaluate("window.painted.at(-1)[0] - window.asked"))
        page.wait_for_timeout(600)
    print(
        f"\n{of}: a moment seen for the first time is painted after {statistics.median(times):.0f} ms p50, {max(times):.0f} at most (budget {PAINTED:.0f} ms p50)"
    )
    assert statistics.median(times) <= PAINTED


@pytest.mark.parametrize("of", ["induction-tiny", "gpt-twin"])
def test_play_keeps_its_pace(page, app_url, of):
    opened(page, app_url, of)
    page.get_by_role("button", name="Play").click()
    page.wait_for_timeout(9_000)
    seen = page.evaluate("window.painted")
    gaps = [b[0] - a[0] for a, b in itertools.pairwise(seen[1:])]
    print(f"\n{of}: a moment every {statistics.median(gaps):.0f} ms, at most {max(gaps):.0f}")
    assert statistics.median(gaps) <= 900 + PAINTED
