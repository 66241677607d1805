"""How long a visitor waits for an exhibit: a fresh browser, a warm server. `pytest -m bench -s`; takes some minutes."""

from __future__ import annotations

import http.client
import os
import statistics
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import streamlit
from chromium import CHROMIUM, CHROMIUM_FLAGS
from plain_chromium import PlainChromium

from tests.bench.measuring import judge, seconds
from viz.shell import pages

pytestmark = [pytest.mark.bench, pytest.mark.browser]

BUDGET, VISITS = 2.5, 3
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
def visitor(tmp_path_factory) -> Iterator[PlainChromium]:
    with PlainChromium.started(
        str(CHROMIUM), CHROMIUM_FLAGS, Path(tmp_path_factory.mktemp("profile"))
    ) as browser:
        yield browser


@pytest.fixture(scope="module")
def warm(visitor: PlainChromium, app_url: str) -> str:
    """The server after one visit of every exhibit."""
    for entry in pages.exhibits():
        visitor.seconds(f"{app_url}/{entry.slug}", PAINTED)
    return app_url


def test_every_exhibit_is_there_in_time(visitor: PlainChromium, warm: str) -> None:
    times = {
        entry.slug: sorted(visitor.seconds(f"{warm}/{entry.slug}", PAINTED) for _ in range(VISITS))
        for entry in pages.exhibits()
    }
    print(f"\nload average {os.getloadavg()[0]:.1f}; seconds, best and median of {VISITS} (at most {BUDGET})")
    half = {slug: statistics.median(found) for slug, found in times.items()}
    for slug, found in times.items():
        print(f"{slug:24} {found[0]:5.2f} {half[slug]:5.2f}")
    assert {slug for slug, median in half.items() if median > BUDGET} == set()


def test_files_do_not_wait_for_an_acknowledgement(warm: str) -> None:
    """What a first visit loads, one file after another over one connection: 44 ms each where the answer's two parts wait."""
    connection = http.client.HTTPConnection(urlsplit(warm).netloc)

    def load(path: Path) -> None:
        connection.request("GET", f"/static/js/{path.name}")
        connection.getresponse().read()

    files = sorted((Path(streamlit.__file__).parent / "static" / "static" / "js").glob("*.js"))[:40]
    times = [seconds(lambda path=path: load(path)) for path in files]
    judge("a file", 1e3 * statistics.median(times), 20)
