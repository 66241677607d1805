"""From nothing to a first picture, beside what importing the libraries alone takes, in one run.

`pytest -m bench -s tests/bench/test_start.py`, on an idle machine.
"""

from __future__ import annotations

import asyncio
import statistics
import subprocess
import sys
import time

import pytest

from tests.app_server import ROOT, started_app
from tests.bench.wire import Visit

pytestmark = pytest.mark.bench
TURNS = 5


def test_the_first_picture(tmp_path):
    """At most 1.6 times the imports and a second."""
    imports, pictures = [], []
    for turn in range(TURNS + 1):  # the first turn fills the system's own caches
        begun = time.perf_counter()
        subprocess.run([sys.executable, "-c", "import torch, streamlit, altair"], cwd=ROOT, check=True)
        between = time.perf_counter()
        with started_app(tmp_path) as server:
            wrong = asyncio.run(_picture(server.url))
            drawn = time.perf_counter()
        assert not wrong
        if turn:
            imports.append(between - begun)
            pictures.append(drawn - between)
    base, took = statistics.median(imports), statistics.median(pictures)
    print(
        f"\nimporting torch, streamlit and altair {base:.2f} s; the first picture after {took:.2f} s (at most {1.6 * base + 1:.2f})"
    )
    assert took <= 1.6 * base + 1


async def _picture(url: str) -> list[str]:
    visit = await Visit.opened(url)
    answer = await visit.ask("", {})
    await visit.close()
    return answer.wrong
