"""How long the server takes for each page, over a raw websocket: a new visitor's first answer, and the page drawn again.

`pytest -m bench -s tests/bench/test_page_reruns.py`, on an idle machine; two minutes.
"""

from __future__ import annotations

import asyncio
import os
from statistics import median

import pytest

from core.serving.scheduler import Turns
from tests.bench.machine import slowness
from tests.bench.wire import Visit
from viz.shell import pages

pytestmark = pytest.mark.bench
FIRST, AGAIN = 250.0, 40.0
"""Milliseconds of a first visit, and of a page that is drawn again without a run of a model."""
TURNS = 9


def test_every_page_is_there_at_once(loaded_app):
    slow = slowness()
    found = asyncio.run(_visited(loaded_app.url))
    print(f"\n{slow:.2f} times slower; load average {os.getloadavg()[0]:.1f}; ms first, and again:")
    for slug, (first, again) in sorted(found.items(), key=lambda row: -row[1][1]):
        print(f"{slug:24} {first:7.1f} {again:7.1f}")
    late = {slug for slug, times in found.items() if times[0] > slow * FIRST or times[1] > slow * AGAIN}
    assert late == set()


async def _visited(url: str) -> dict[str, tuple[float, float]]:
    return {e.slug: await _one(url, "" if e.slug == pages.HOME else e.slug) for e in pages.discover()}


async def _one(url: str, page: str) -> tuple[float, float]:
    await asyncio.sleep(Turns.RECENT)  # who comes back at once while another draws is asked to pause
    visit, times = await Visit.opened(url), []
    for _ in range(1 + TURNS):
        answer = await visit.ask(page, {})
        assert not answer.wrong, (page, answer.wrong)
        times.append(answer.milliseconds)
        await asyncio.sleep(0.05)
    await visit.close()
    return times[0], median(times[1:])
