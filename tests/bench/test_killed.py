"""A server that is killed at any moment of a lesson comes back, and every visitor finds what he looked at.

`pytest -m bench -s tests/bench/test_killed.py`; about five minutes. CLASS_SIZE=0.2 kills it three times before six visitors.
"""

from __future__ import annotations

import asyncio
import os
import random
import subprocess
import time
from contextlib import ExitStack
from dataclasses import dataclass, field

import pytest

from core.checkpoints.manifest import read_manifest, shipped_folder, verify
from tests.app_server import ROOT, free_port, started_app
from tests.bench.visitors import LOST, actions, all_loaded
from tests.bench.wire import Visit

pytestmark = pytest.mark.bench
SIZE = float(os.environ.get("CLASS_SIZE", "1"))
KILLS, VISITORS = max(2, round(15 * SIZE)), max(2, round(30 * SIZE))
EVERY = 2.0
"""Seconds between two actions of a visitor."""
BACK = 15.0
"""Seconds from the kill to the first page that is drawn again."""


@dataclass
class Loyal:
    """A visitor who comes back, as a browser does, to the address that stands in it."""

    seed: int
    seen: tuple[str, str, dict] | None = None
    """Page, address and view of the last answer."""
    wrong: list[str] = field(default_factory=list)
    returns: int = 0

    async def attend(self, url: str) -> None:
        """Act until the task is cancelled, whatever happens to the server."""
        links, rng = actions(self.seed), random.Random(self.seed)
        while True:
            try:
                visit = await Visit.opened(url, keeps_view=True)
                if self.seen:
                    await self._return(visit, *self.seen)
                while True:
                    answer = await visit.ask(*next(links))
                    self.wrong += answer.wrong
                    self.seen = visit.page, visit.address, answer.view
                    await asyncio.sleep(EVERY * (0.5 + rng.random()))
            except LOST:
                await asyncio.sleep(0.2)

    async def _return(self, visit: Visit, page: str, address: str, view: dict) -> None:
        answer = await visit.ask(page, address)
        self.wrong += answer.wrong
        if answer.view != view:
            other = [place for place in view | answer.view if view.get(place) != answer.view.get(place)]
            self.wrong.append(f"/{page}?{address} is not what it was at {other[:3]}")
        self.returns += 1


def test_killed_in_the_midst_of_a_lesson(tmp_path):
    before = _changed_files()
    took, visitors = asyncio.run(_lesson(tmp_path))
    returns = [visitor.returns for visitor in visitors]
    print(
        f"\nkilled {len(took)} times before {len(visitors)} visitors: serving again after {min(took):.1f} to {max(took):.1f} s (at most {BACK:.0f}); "
        f"{sum(returns)} returns, {min(returns)} to {max(returns)} a visitor"
    )
    assert [found for visitor in visitors for found in visitor.wrong] == []
    assert returns == [len(took)] * len(visitors)
    assert max(took) <= BACK
    assert _changed_files() == before
    for model in read_manifest(shipped_folder()):
        verify(model)


async def _lesson(folder) -> tuple[list[float], list[Loyal]]:
    rng, port, visitors = random.Random(0), free_port(), [Loyal(seed) for seed in range(VISITORS)]
    with ExitStack() as servers:

        async def serve():
            return await asyncio.to_thread(servers.enter_context, started_app(folder, port=port))

        server, took = await serve(), []
        await all_loaded(server.url)
        tasks = [asyncio.create_task(visitor.attend(server.url)) for visitor in visitors]
        await _until(lambda: all(visitor.seen for visitor in visitors))
        for kill in range(1, KILLS + 1):
            await asyncio.sleep(8 * rng.random())
            begun = time.perf_counter()
            server.process.kill()
            server = await serve()
            visit = await Visit.opened(server.url)
            await visit.ask("", {})
            took.append(time.perf_counter() - begun)
            await visit.close()
            await _until(lambda kill=kill: all(visitor.returns >= kill for visitor in visitors))
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    return took, visitors


async def _until(holds) -> None:
    async with asyncio.timeout(60):
        while not holds():
            await asyncio.sleep(0.1)


def _changed_files() -> str:
    return subprocess.run(
        ["git", "status", "--porcelain"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
