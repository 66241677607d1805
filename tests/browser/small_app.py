"""A page of a few lines in a real browser: served by Streamlit, opened as often as a test likes, every message counted."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from settling import settle

ROOT = Path(__file__).parents[2]
OPTIONS = {
    "server.address": "127.0.0.1",
    "server.headless": "true",
    "server.fileWatcherType": "none",
    "browser.gatherUsageStats": "false",
    "client.toolbarMode": "minimal",
}


EVERY = """
from pathlib import Path
import streamlit as st

path = Path(__file__).parent / f"{st.query_params['app']}.py"
exec(compile(path.read_text("utf-8"), str(path), "exec"), {"__name__": path.stem, "__file__": str(path)})
"""
"""A script that runs the one beside it that `?app=` names."""


@contextmanager
def served(app: str, folder: Path) -> Iterator[str]:
    """The address at which `app`, the text of a Streamlit script, is served. `?show=` chooses what it shows."""
    (folder / "app.py").write_text(app, "utf-8")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [
        sys.executable,
        "-m",
        "streamlit",
        "run",
        "app.py",
        f"--server.port={port}",
        *(f"--{k}={v}" for k, v in OPTIONS.items()),
    ]
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(
            command, cwd=folder, env=os.environ | {"PYTHONPATH": str(ROOT)}, stdout=log, stderr=log
        )
        address = f"http://127.0.0.1:{port}"
        for _ in range(300):
            try:
                urllib.request.urlopen(f"{address}/_stcore/health", timeout=1).close()
                break
            except OSError:
                time.sleep(0.2)
        try:
            yield address
        finally:
            process.terminate()
            process.wait(timeout=20)


def saved(page: Any, kind: str, folder: Path, menu: str = ".atlas") -> Path:
    """The file of this kind that the first menu "Save" within `menu` hands out; a button that still says "Saved" is pressed too."""
    page.locator(f"{menu} .save-open:not(.compare)").first.click()
    with page.expect_download() as waiting:
        page.locator(f'{menu} .save-item[data-kind="{kind}"]').first.click()
    path = folder / waiting.value.suggested_filename
    waiting.value.save_as(path)
    return path


@dataclass
class Visit:
    """One open page and everything that it said or asked for."""

    page: Any
    tall: ClassVar[int] = 800
    """Pixels of a window, if a test asks for no others."""

    sent: list[Any] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    outside: list[str] = field(default_factory=list)

    def attribute(self, name: str, n: int = 0) -> str | None:
        return self.page.locator(".atlas").nth(n).get_attribute(f"data-{name}")

    def text(self, place: str) -> str:
        return self.page.locator(place).first.inner_text()

    def says(self, words: str) -> None:
        """Wait until Python has written `words`."""
        self.page.get_by_text(words, exact=True).first.wait_for()

    def saved(self, kind: str, folder: Path) -> Path:
        """The file of this kind that the menu "Save" of the first instrument makes."""
        return saved(self.page, kind, folder)

    def width(self) -> int:
        return self.page.evaluate("document.documentElement.scrollWidth")


def ours(address: str) -> tuple[str, ...]:
    """How the address of everything begins that a page of this server may ask for."""
    place = address.partition("/?")[0]
    return place, place.replace("http", "ws"), "blob:", "data:"


class Visitor:
    """Opens pages of one server, each in the place of the one before or `beside` it; of each it asserts that it complained of nothing and asked nobody else."""

    def __init__(self, browser: Any, address: str, make: type[Visit] = Visit) -> None:
        self.browser, self.address, self.make, self.open = browser, address, make, []

    def __call__(
        self,
        show: str,
        width: int = 1280,
        height: int | None = None,
        scheme: str = "light",
        beside: bool = False,
        **more: Any,
    ) -> Any:
        if not beside:
            self.leave()
        context = self.browser.new_context(
            viewport={"width": width, "height": height or self.make.tall}, color_scheme=scheme, **more
        )
        seen = self.make(context.new_page())
        own = ours(self.address)
        seen.page.on(
            "websocket", lambda socket: socket.on("framesent", lambda frame: seen.sent.append(frame))
        )
        seen.page.on("console", lambda m: seen.errors.append(m.text) if m.type == "error" else None)
        seen.page.on("pageerror", lambda error: seen.errors.append(str(error)))
        seen.page.on("request", lambda r: None if r.url.startswith(own) else seen.outside.append(r.url))
        seen.page.goto(f"{self.address}&show={show}")
        seen.page.wait_for_selector(".atlas[data-mode]", state="attached")
        settle(seen.page)
        self.open.append((context, seen))
        return seen

    def leave(self) -> None:
        while self.open:
            context, seen = self.open.pop()
            assert (seen.errors, seen.outside) == ([], [])
            context.close()
