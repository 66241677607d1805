"""How long a visitor waits for an exhibit: a fresh browser, a warm server. `pytest -m bench -s`; takes some minutes."""

from __future__ import annotations

import os
import statistics
import time

import pytest

from viz import pages

pytestmark = [pytest.mark.bench, pytest.mark.browser]

BUDGET, VISITS = 2.5, 5
"""Seconds from the address to the last picture, and how often each exhibit is opened."""
PAINTED = """() => {
  const idle = document.querySelector('[data-testid="stApp"][data-test-script-state="notRunning"]');
  const page = document.querySelector(".st-key-atlas-page");
  if (!idle || !page?.querySelector("h1") || page.querySelector('[data-testid="stSkeleton"]')) return false;
  const drawn = {
    stPlotlyChart: (e) => e.querySelector(".main-svg"), stVegaLiteChart: (e) => e.querySelector("canvas, svg"), stImage: (e) => [...e.querySelectorAll("img")].every((i) => i.complete),
    stBidiComponentIsolated: (e) => [e, ...e.querySelectorAll("*")].some((host) => host.shadowRoot?.querySelector(".atlas, button")),
  };
  return Object.entries(drawn).every(([name, done]) => [...page.querySelectorAll(`[data-testid="${name}"]`)].every(done));
}"""


@pytest.fixture(scope="module")
def warm(chromium, app_url: str) -> str:
    """The server after one visit of every exhibit."""
    for entry in pages.exhibits():
        waited(chromium, f"{app_url}/{entry.slug}")
    return app_url


def waited(chromium, address: str) -> float:
    """Seconds from the address to the last picture, in a browser that knows nothing yet."""
    context = chromium.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    begun = time.perf_counter()
    page.goto(address)
    page.wait_for_function(PAINTED, polling=20, timeout=90_000)
    found = time.perf_counter() - begun
    context.close()
    return found


def test_every_exhibit_is_there_in_time(chromium, warm: str) -> None:
    times = {entry.slug: sorted(waited(chromium, f"{warm}/{entry.slug}") for _ in range(VISITS)) for entry in pages.exhibits()}
    print(f"\nload average {os.getloadavg()[0]:.1f}; seconds from the address to the last picture, best and median of {VISITS} (budget {BUDGET})")
    for slug, found in times.items():
        print(f"{slug:24} {found[0]:5.2f} {statistics.median(found):5.2f}")
    assert {slug: found[0] for slug, found in times.items() if found[0] > BUDGET} == {}
