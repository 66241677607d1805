"""What browser tests share: one Chromium, one server of the whole app and one of all small pages; no visitor finds anything of another."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from app_server import COLD, served_app
from chromium import CHROMIUM, CHROMIUM_FLAGS
from every_page import Met, met
from framing import other_site
from settling import PATIENCE, still
from small_app import EVERY, Visit, Visitor, served
from windows import hear, reused

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
def new_page(chromium: Any) -> Iterator[Callable[..., Any]]:
    """Opens pages, each in a window of its own; none may complain, or ask for what does not begin with one of `own` (`hear`)."""
    contexts, wrong = [], []

    def open_page(own: tuple[str, ...] = (), **more: Any) -> Any:
        heard = {name: more.pop(name) for name in ("levels", "but") if name in more}
        contexts.append(chromium.new_context(**more))
        return hear(contexts[-1].new_page(), wrong, own, **heard)

    yield open_page
    assert wrong == []
    for context in contexts:
        context.close()  # after it: what is still being loaded breaks off, which is no fault of the page


@pytest.fixture
def reader(new_page: Callable[..., Any]) -> Callable[..., Any]:
    """Opens a page; no page may warn, or ask for anything outside its folder."""

    def open_page(url: str, **more: Any) -> Any:
        own = (url.rpartition("/")[0] + "/", "blob:", "data:")
        page = new_page(own, levels=("error", "warning"), **more)
        page.goto(url)
        return page

    return open_page


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
def alone(new_page: Callable[..., Any]) -> Callable[..., Any]:
    """Opens a saved page without a network."""

    def open_file(path: Path, **more: Any) -> Any:
        page = new_page(("file:", "blob:", "data:"), offline=True, **more)
        page.goto(path.as_uri())
        page.wait_for_selector(".atlas[data-mode]", state="attached")
        still(page)
        return page

    return open_file


@pytest.fixture
def visitor(request: pytest.FixtureRequest, new_page: Callable[..., Any]) -> Any:
    """A fresh visitor of the whole app; outside requests and errors of the page or the console fail the test."""
    window = {"width": 1280, "height": getattr(request.module, "TALL", 1000)}
    own = ("http://127.0.0.1", "ws://127.0.0.1", "blob:", "data:", "about:", "file:")
    return new_page(own, but="Failed to load resource", viewport=window)
