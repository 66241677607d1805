"""A page of a few lines in a real browser: served by Streamlit, opened as often as a test likes, every message counted."""

from __future__ import annotations

import csv
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from app_server import ROOT, started_app
from settling import settle
from windows import hear

SVG = "{http://www.w3.org/2000/svg}"
OPTIONS = {
    "server.address": "127.0.0.1",
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
    flags = [f"--{name}={value}" for name, value in OPTIONS.items()]
    with started_app(folder, *flags, cwd=folder, PYTHONPATH=str(ROOT)) as server:
        yield server.url


def saved(page: Any, kind: str, folder: Path, menu: str = ".atlas") -> Path:
    """The file of this kind that the first menu "Save" within `menu` hands out; a button that still says "Saved" is pressed too."""
    page.locator(f"{menu} .save-open:not(.compare)").first.click()
    with page.expect_download() as waiting:
        page.locator(f'{menu} .save-item[data-kind="{kind}"]').first.click()
    path = folder / waiting.value.suggested_filename
    waiting.value.save_as(path)
    return path


def saved_rows(page: Any, folder: Path) -> list[list[str]]:
    """The table that the first menu saves, as a program reads it."""
    with saved(page, "csv", folder).open(encoding="utf-8-sig", newline="") as file:
        return list(csv.reader(file))


def saved_arrays(page: Any, folder: Path) -> dict[str, np.ndarray]:
    with np.load(saved(page, "npz", folder)) as arrays:
        return dict(arrays)


def saved_texts(page: Any, folder: Path) -> list[str]:
    """The lines of text in the drawing that the first menu saves."""
    return drawn_texts(saved(page, "svg", folder))


def drawn_texts(path: Path) -> list[str]:
    return ["".join(text.itertext()).strip() for text in ET.parse(path).getroot().iter(f"{SVG}text")]


def cell_at(atlas: Any, row: float, column: float) -> tuple[float, float]:
    """The middle of a cell of a matrix on the screen; -1 is the label beside or above it."""
    left, top, unit = (float(part) for part in atlas.get_attribute("data-place").split(","))
    box = atlas.locator(".pane").first.bounding_box()
    x = left - 16 if column < 0 else left + (column + 0.5) * unit
    y = top - 11 if row < 0 else top + (row + 0.5) * unit
    return box["x"] + x, box["y"] + y


def token_at(page: Any, side: str, index: int, n: int = 0) -> tuple[float, float]:
    """Where a head view has drawn a token of a side, on the screen."""
    view = page.locator(".atlas.lines").nth(n)
    across, along = view.get_attribute("data-places").split("|")[side == "key"].split(":")
    at, columns = float(along.split()[index]), view.get_attribute("data-layout") == "columns"
    box = view.locator(".pane").bounding_box()
    left, top = view.locator(".scroller").evaluate("(s) => [s.scrollLeft, s.scrollTop]")
    x, y = (float(across), at - top) if columns else (at - left, float(across))
    return box["x"] + x, box["y"] + y


@dataclass
class Visit:
    """One open page and everything that it said or asked for."""

    page: Any
    tall: ClassVar[int] = 800
    """Pixels of a window, if a test asks for no others."""

    sent: list[Any] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    def attribute(self, name: str, n: int = 0) -> str | None:
        return self.page.locator(".atlas").nth(n).get_attribute(f"data-{name}")

    def data(self, names: str, n: int = 0) -> list[str | None]:
        """Return the attributes of an instrument whose names `names` lists, with spaces between them."""
        return [self.attribute(name, n) for name in names.split()]

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

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
    """Opens pages of one server, each in the place of the one before; of each it asserts that it complained of nothing and asked nobody else."""

    def __init__(self, browser: Any, address: str, make: type[Visit] = Visit) -> None:
        self.browser, self.address, self.make, self.open = browser, address, make, []

    def __call__(
        self,
        show: str,
        width: int = 1280,
        height: int | None = None,
        scheme: str = "light",
        **more: Any,
    ) -> Any:
        self.leave()
        context = self.browser.new_context(
            viewport={"width": width, "height": height or self.make.tall}, color_scheme=scheme, **more
        )
        seen = self.make(context.new_page())
        seen.page.on(
            "websocket", lambda socket: socket.on("framesent", lambda frame: seen.sent.append(frame))
        )
        hear(seen.page, seen.wrong, ours(self.address))
        seen.page.goto(f"{self.address}&show={show}")
        seen.page.wait_for_selector(".atlas[data-mode]", state="attached")
        settle(seen.page)
        self.open.append((context, seen))
        return seen

    def leave(self) -> None:
        while self.open:
            context, seen = self.open.pop()
            assert seen.wrong == []
            context.close()
