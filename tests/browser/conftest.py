"""What browser tests share: one Chromium, one server of the whole app and one of all small pages; no visitor finds anything of another."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from app_server import COLD, served_app
from chromium import CHROMIUM, CHROMIUM_FLAGS
from every_page import Met, met
from framing import other_site
from settling import PATIENCE, still
from small_app import EVERY, Visit, Visitor, served
from windows import reused

OWN = (None, "127.0.0.1")


RUNNING = ExitStack()
"""What ends Chromium, and Playwright, whose loop would be in the way of asyncio.run elsewhere."""


@functools.cache
def started() -> Any:
    """One Chromium for all browser tests; its pages know when they are at rest (settling.py), its windows are used again (windows.py)."""
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=PATIENCE)
    play = RUNNING.enter_context(sync_playwright())
    browser = play.chromium.launch(executable_path=CHROMIUM, args=CHROMIUM_FLAGS)
    RUNNING.callback(browser.close)
    return reused(browser)


@pytest.fixture
def chromium() -> Any:
    return started()


@pytest.fixture
def reader(chromium: Any) -> Iterator[Callable[..., Any]]:
    """Opens a page; no page may complain, or ask for anything outside its folder."""
    contexts, wrong = [], []

    def open_page(url: str, **more: Any) -> Any:
        contexts.append(chromium.new_context(**more))
        page = contexts[-1].new_page()
        page.on("console", lambda m: wrong.append(m.text) if m.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        own = (url.rpartition("/")[0] + "/", "blob:", "data:")
        page.on("request", lambda r: None if r.url.startswith(own) else wrong.append(r.url))
        page.goto(url)
        return page

    yield open_page
    assert wrong == []
    for context in contexts:
        context.close()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[None]:
    """After the last browser test before another one Chromium ends."""
    yield
    if nextitem is None or nextitem.path.parent != item.path.parent:
        RUNNING.close()
        started.cache_clear()


@pytest.fixture(scope="session")
def other_sites() -> Iterator[tuple[str, str]]:
    """Two other sites, whose pages show in a frame what follows `#`; the first one may show the app."""
    with ExitStack() as running:
        yield running.enter_context(other_site()), running.enter_context(other_site())


@pytest.fixture(scope="session")
def app_url(tmp_path_factory: pytest.TempPathFactory, other_sites: tuple[str, str]) -> Iterator[str]:
    """Where the whole app is served, to which one may upload, and which one other site may show in a frame."""
    with served_app(
        tmp_path_factory.mktemp("server"), COLD, ATLAS_UPLOAD="64M", ATLAS_FRAME=other_sites[0]
    ) as url:
        yield url


@pytest.fixture(scope="session")
def walked(app_url: str, tmp_path_factory: pytest.TempPathFactory) -> list[Met]:
    """Return every twentieth page of the app, each opened once for all tests that judge pages."""
    return met(started(), app_url, tmp_path_factory.mktemp("charts"))


@pytest.fixture(scope="session")
def small_apps(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """Where the small pages are served, and the folder in which each is a script."""
    folder = tmp_path_factory.mktemp("apps")
    with served(EVERY, folder) as url:
        yield url, folder


@pytest.fixture(scope="module")
def address(request: pytest.FixtureRequest, small_apps: tuple[str, Path]) -> str:
    """Where the script `APP` of the test file is served; what it is asked for follows after `&`."""
    url, folder = small_apps
    name = request.module.__name__
    (folder / f"{name}.py").write_text(request.module.APP, "utf-8")
    return f"{url}/?app={name}"


@pytest.fixture
def visit(request: pytest.FixtureRequest, address: str, chromium: Any) -> Iterator[Visitor]:
    """Opens it, each page a `Visit`, or what the test file calls `Seen`."""
    visitor = Visitor(chromium, address, getattr(request.module, "Seen", Visit))
    yield visitor
    visitor.leave()


@pytest.fixture
def alone(chromium: Any) -> Iterator[Any]:
    """Opens a saved page without a network; no page may complain or ask for anything."""
    contexts, wrong = [], []

    def open_file(path: Path, **more: Any) -> Any:
        contexts.append(chromium.new_context(offline=True, **more))
        page = contexts[-1].new_page()
        page.on("console", lambda m: wrong.append(m.text) if m.type == "error" else None)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on(
            "request",
            lambda r: None if r.url.startswith(("file:", "blob:", "data:")) else wrong.append(r.url),
        )
        page.goto(path.as_uri())
        page.wait_for_selector(".atlas[data-mode]", state="attached")
        still(page)
        return page

    yield open_file
    assert wrong == []
    for context in contexts:
        context.close()


@pytest.fixture
def visitor(request: pytest.FixtureRequest, chromium: Any, app_url: str) -> Iterator[Any]:
    """A fresh visitor of the whole app; outside requests and errors of the page or the console fail the test."""
    context = chromium.new_context(viewport={"width": 1280, "height": getattr(request.module, "TALL", 1000)})
    page = context.new_page()
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on(
        "console",
        lambda m: (
            wrong.append(m.text) if m.type == "error" and "Failed to load resource" not in m.text else None
        ),
    )
    page.on("request", lambda r: wrong.append(r.url) if urlsplit(r.url).hostname not in OWN else None)
    yield page
    assert wrong == []
    context.close()  # after it: what is still being loaded breaks off, which is no fault of the page
