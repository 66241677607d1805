"""What measurements in a browser share: the whole app as a server, and the system's Chromium."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from app_server import served_app
from chromium import CHROMIUM, CHROMIUM_FLAGS


@pytest.fixture(scope="session")
def app_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with served_app(tmp_path_factory.mktemp("server")) as url:
        yield url


@pytest.fixture(scope="module")  # not longer: Playwright's loop would be in the way of asyncio.run elsewhere
def chromium() -> Iterator[Any]:
    """The system's Chromium under Playwright, one a file."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM, args=CHROMIUM_FLAGS)
        yield browser
        browser.close()
