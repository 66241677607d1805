"""For all tests: fixed seeds, one torch thread, marks by folder, the system's Chromium."""

from __future__ import annotations

import gc
import linecache
import logging
import os
import random
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import threadpoolctl
import torch
import tried_once  # noqa: F401 - a tokenizer that was accepted is not tried again
from chromium import CHROMIUM, CHROMIUM_FLAGS
from hypothesis import settings
from opened_once import _all_as_they_were_opened  # noqa: F401 - a fixture
from redis_server import REDIS, Redis, started_redis

torch.set_num_threads(1)
threadpoolctl.threadpool_limits(1, "blas")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Run the examples of a docstring without asking before each whether any file whose lines are known has changed: a third of their time."""
    if not isinstance(item, pytest.DoctestItem):
        return (yield)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(linecache, "checkcache", lambda filename=None: None)
        return (yield)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Folders whose mark is not wanted need not be read."""
    wanted = config.option.markexpr
    own = collection_path.parent == Path(__file__).parent and collection_path.name in ("browser", "bench")
    return True if own and f"not {collection_path.name}" in wanted else None


def pytest_collection_finish() -> None:
    """Collect garbage seldom, and not in what was imported, which stays."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests get the mark of their folder; browser tests need the system's Chromium; of a test marked `quick` most cases are slow."""
    cases: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        folder = item.path.parent.name
        if folder in ("reference", "bench", "browser"):
            item.add_marker(getattr(pytest.mark, folder))
        if folder == "browser" and CHROMIUM is None:
            item.add_marker(
                pytest.mark.skip(reason="no chromium on this machine: install the system's package")
            )
        if item.get_closest_marker("quick"):
            cases[item.nodeid.partition("[")[0]].append(item)
    for own in cases.values():
        n = own[0].get_closest_marker("quick").args[0]
        kept = {at * len(own) // n for at in range(n)}
        for at, item in enumerate(own):
            if at not in kept:
                item.add_marker(pytest.mark.slow)


@pytest.fixture(autouse=True)
def _same_luck() -> None:
    """Every test starts from the same random state."""
    random.seed(0)
    np.random.seed(0)
    torch.default_generator.manual_seed(
        0
    )  # torch.manual_seed keeps a traceback for a graphics card that is not there


@pytest.fixture(scope="module")  # not longer: Playwright's loop would be in the way of asyncio.run elsewhere
def chromium() -> Iterator[Any]:
    """The system's Chromium under Playwright, one a file; browser tests have one for all (browser/conftest.py)."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM, args=CHROMIUM_FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def redis_process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Redis]:
    """A Redis for the tests of this process, which may be stopped and started."""
    if REDIS is None:
        pytest.skip("no redis-server on this machine: install the system's package")
    with started_redis(tmp_path_factory.mktemp("redis")) as server:
        yield server


@pytest.fixture
def redis_server(redis_process: Redis) -> Redis:
    """A Redis that knows nothing."""
    redis_process.clear()
    return redis_process


@pytest.fixture(params=["memory", "redis"])
def new_rooms(request: pytest.FixtureRequest) -> Iterator[Callable[..., Any]]:
    """Lecture rooms, kept in memory and shared through Redis; called with a clock where time matters."""
    from viz.classroom.store import InMemory

    opened: list[Any] = []

    def new(**clock: Any) -> Any:
        if request.param == "memory":
            opened.append(InMemory(**clock))
        else:
            from viz.classroom.shared import RedisRooms

            opened.append(RedisRooms(request.getfixturevalue("redis_server").url, **clock))
        return opened[-1]

    yield new
    for rooms in opened:
        rooms.close()


@pytest.fixture
def logged() -> Iterator[Callable[..., list[logging.LogRecord]]]:
    """Return what begins a list of all that a logger is given from now on; pytest's own way costs each test half a millisecond (`-p no:logging`)."""
    ends: list[Callable[[], None]] = []

    def begin(name: str | None = None, level: int = logging.NOTSET) -> list[logging.LogRecord]:
        source, keep, lines = logging.getLogger(name), logging.Handler(), []
        keep.emit = lines.append
        source.addHandler(keep)
        ends.append(lambda: source.removeHandler(keep))
        if level:
            ends.append(lambda before=source.level: source.setLevel(before))
            source.setLevel(level)
        return lines

    yield begin
    for end in ends:
        end()


# machines are shared: no time limit an example
settings.register_profile("atlas", deadline=None, derandomize=True, max_examples=15)
settings.register_profile("deep", deadline=None, max_examples=500)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "atlas"))
