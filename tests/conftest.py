"""For all tests: fixed seeds, one torch thread, marks by folder, the app as a server for browser tests."""

from __future__ import annotations

import random
from collections.abc import Iterator

import numpy as np
import pytest
import threadpoolctl
import torch
from app_server import served_app
from chromium import CHROMIUM, CHROMIUM_FLAGS
from hypothesis import settings

torch.set_num_threads(1)
threadpoolctl.threadpool_limits(1, "blas")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests get the mark of their folder; browser tests need the system's Chromium."""
    for item in items:
        folder = item.path.parent.name
        if folder in ("reference", "bench", "browser"):
            item.add_marker(getattr(pytest.mark, folder))
        if folder == "browser":
            item.add_marker(pytest.mark.flaky(reruns=2))  # a busy machine may draw late; the report names who needed it (-rR)
        if folder == "browser" and CHROMIUM is None:
            item.add_marker(pytest.mark.skip(reason="no chromium on this machine: install the system's package"))


@pytest.fixture(autouse=True)
def _same_luck() -> None:
    """Every test starts from the same random state."""
    random.seed(0)
    np.random.seed(0)
    torch.manual_seed(0)


@pytest.fixture(scope="session")
def app_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with served_app(tmp_path_factory.mktemp("server")) as url:
        yield url


@pytest.fixture(scope="module")  # not longer: Playwright's loop would be in the way of asyncio.run elsewhere
def chromium() -> Iterator[object]:
    """The system's Chromium under Playwright, one a file."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM, args=CHROMIUM_FLAGS)
        yield browser
        browser.close()


settings.register_profile("atlas", deadline=None, derandomize=True)  # machines are shared: no time limit an example
settings.load_profile("atlas")
