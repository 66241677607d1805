"""The files of Streamlit's own pages: kept in memory, and the largest of them named ahead of its need."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit

import streamlit as st
from starlette.types import ASGIApp, Message, Receive, Scope, Send

FOLDER = Path(st.__file__).parent / "static"


@cache
def names() -> frozenset[str]:
    """Return the paths of Streamlit's files below its own address, each spelled in the one way that a page uses."""
    return frozenset(path.relative_to(FOLDER).as_posix() for path in FOLDER.rglob("*") if path.is_file())


class Remembered:
    """A middleware that answers from memory what never changes: Streamlit's scripts, some sixty files a first visit.

    Remembered is only a file of Streamlit's folder under its own name, so the memory is bounded by that folder: the same file
    has many other addresses (`/./static/...`), and each would be kept.
    """

    CONDITIONS = frozenset({b"range", b"if-range", b"if-none-match", b"if-modified-since"})
    """A request with one of these wants a part, or what is new, and goes on to Streamlit."""

    def __init__(self, app: ASGIApp, base: str = "") -> None:
        self.app, self.base = app, f"{base}/"
        self.cached: dict[str, tuple[Message, bytes]] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if (
            scope["type"] != "http"
            or scope["method"] != "GET"
            or scope["path"].removeprefix(self.base) not in names()
            or any(name in self.CONDITIONS for name, _ in scope["headers"])
        ):
            await self.app(scope, receive, send)
        elif scope["path"] in self.cached:
            start, body = self.cached[scope["path"]]
            await send(start)
            await send({"type": "http.response.body", "body": body})
        else:
            await self._learn(scope, receive, send)

    async def _learn(self, scope: Scope, receive: Receive, send: Send) -> None:
        answer: list[Message] = []

        async def noted(message: Message) -> None:
            if answer or _lasts(message):
                answer.append(message)
            await send(message)

        await self.app(scope, receive, noted)
        if answer and not answer[-1].get("more_body", False):
            self.cached[scope["path"]] = answer[0], b"".join(part["body"] for part in answer[1:])


class Preloaded:
    """A middleware that names scripts with a page, so that a browser loads them while the page is being computed: the app's own (`own_scripts`), and where a page draws by Plotly that of 4.7 MB."""

    MOST = 200
    """Pages that are remembered; there are some sixty, and an address is what a browser says."""

    def __init__(self, app: ASGIApp, own_scripts: Callable[[str], Collection[str]] = lambda page: ()) -> None:
        self.app, self.own_scripts = app, own_scripts
        self.plotly = sorted(name for name in names() if Path(name).match("static/js/PlotlyChart.*.js"))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def add_link(message: Message) -> None:
            headers = message.get("headers", ())
            if message["type"] == "http.response.start" and any(
                name == b"content-type" and value.startswith(b"text/html") for name, value in headers
            ):
                link = ", ".join(f"<./{name}>; rel=modulepreload" for name in scripts).encode()
                message = {**message, "headers": [*headers, (b"link", link)]}
            await send(message)

        page = _page(scope.get("path", ""))
        scripts = [*self.own_scripts(page), *(self.plotly if page in _plotly_pages else ())]
        await self.app(scope, receive, add_link if scripts and scope["type"] == "http" else send)


_plotly_pages: set[str] = set()


def note_plotly() -> None:
    """Note that the page of this visit draws by Plotly."""
    if st.context.url and len(_plotly_pages) < Preloaded.MOST:
        _plotly_pages.add(_page(urlsplit(st.context.url).path))


def _page(path: str) -> str:
    """Return the last part of an address: the page's name, without any prefix."""
    return path.rstrip("/").rpartition("/")[2]


def _lasts(start: Message) -> bool:
    """Return whether an answer begins that is the same for everybody and for good."""
    return start.get("status") == 200 and any(
        name == b"cache-control" and b"public, immutable" in value for name, value in start["headers"]
    )
