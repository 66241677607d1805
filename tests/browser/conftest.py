"""What browser tests of a part share: its APP served once a file, opened as often as a test likes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
from small_app import Visit, Visitor, served


@pytest.fixture(scope="module")
def address(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where the script `APP` of the test file is served."""
    with served(request.module.APP, tmp_path_factory.mktemp("app")) as found:
        yield found


@pytest.fixture
def visit(request: pytest.FixtureRequest, address: str, chromium: Any) -> Iterator[Visitor]:
    """Opens it, each page a `Visit`, or what the test file calls `Seen`."""
    visitor = Visitor(chromium, address, getattr(request.module, "Seen", Visit))
    yield visitor
    visitor.leave()


@pytest.fixture
def visitor(chromium: Any, app_url: str) -> Iterator[Any]:
    """A fresh visitor of the whole app; outside requests and errors of the page or the console fail the test."""
    context = chromium.new_context(viewport={"width": 1280, "height": 1000})
    page = context.new_page()
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda m: wrong.append(m.text) if m.type == "error" and "Failed to load resource" not in m.text else None)
    page.on("request", lambda r: wrong.append(r.url) if urlsplit(r.url).hostname not in (None, "127.0.0.1") else None)
    yield page
    assert wrong == []
    context.close()  # after it: what is still being loaded breaks off, which is no fault of the page
