"""A long day: two thousand visitors come and go, and nothing is left of them.

`pytest -m bench -s tests/bench/test_endurance.py`; a quarter of an hour. ENDURANCE=0.05 makes the day twenty times shorter.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import time
from collections.abc import Iterator
from itertools import islice

import pytest

from tests.bench.machine import Reading, read
from tests.bench.measuring import judge
from tests.bench.visitors import actions
from tests.bench.wire import Visit

pytestmark = pytest.mark.bench
VISITS, RERUNS = max(80, round(2000 * float(os.environ.get("ENDURANCE", "1")))), 10
BESIDE = 10
"""So many are there at a time."""
FACES = 40
"""The same visitors come again and again: what they ask for is kept from their first visit on, so memory that grows later is lost."""
LIFE = 60.0
"""Seconds that a session is kept for a visitor who may come back (`disconnectedSessionTTL`)."""


def test_nothing_is_left_of_who_has_gone(rehearsed_app):
    url, pid = rehearsed_app.url, rehearsed_app.process.pid
    base, day, after, waited, wrong = asyncio.run(_day(url, pid))
    parts = (day[i * len(day) // 4 : (i + 1) * len(day) // 4] for i in range(4))
    quarters = [statistics.median(found.rss for found in part) for part in parts]
    busy = f"{max(found.threads for found in day)} threads, {max(found.files for found in day)} open files"
    print(
        f"\n{VISITS} visits, {VISITS * RERUNS} reruns, at most {busy}\nbefore {base}\nafter  {after}, {waited:.0f} s later"
    )
    assert wrong == []
    megabytes = ", ".join(f"{rss:.0f}" for rss in quarters)
    judge("memory of the last quarter", quarters[3] / quarters[0], 1.05, "of the first", f"MB: {megabytes}")
    assert after.threads <= base.threads and after.files <= base.files


async def _day(url: str, pid: int) -> tuple[Reading, list[Reading], Reading, float, list[str]]:
    """Before; each time a hundredth of the visits is over; after the last one's session has ended, and how long that took."""
    wrong: list[str] = []
    await _visits(url, iter(range(FACES)), wrong)
    await asyncio.sleep(2 * LIFE)
    base, day = read(pid), []

    def watched() -> Iterator[int]:
        for number in range(VISITS):
            if number % max(1, VISITS // 100) == 0:
                day.append(read(pid))
            yield number % FACES

    await _visits(url, watched(), wrong)
    gone = time.perf_counter()
    while True:
        after, waited = read(pid), time.perf_counter() - gone
        if waited > 2 * LIFE or (after.threads <= base.threads and after.files <= base.files):
            return base, day, after, waited, wrong
        await asyncio.sleep(1)


async def _visits(url: str, faces: Iterator[int], wrong: list[str]) -> None:
    async def come() -> None:
        for face in faces:
            visit = await Visit.opened(url)
            for link in islice(actions(face), RERUNS):
                wrong.extend((await asyncio.wait_for(visit.ask(*link), 60)).wrong)
            await visit.close()

    await asyncio.gather(*(come() for _ in range(BESIDE)))
