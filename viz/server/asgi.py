"""What stands between a browser and Streamlit: the first visit made quick, and the caches of everybody kept."""

from __future__ import annotations

import contextlib
import gc
import socket
from pathlib import Path
from typing import ClassVar
from urllib.parse import urlsplit

import streamlit as st
from google.protobuf.message import DecodeError
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit.proto.BackMsg_pb2 import BackMsg


class Sieve:
    """Keeps back what a browser says that would do harm: to clear the caches of everybody, or to go on with a page that was left."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        visit = Visit()

        async def sifted() -> Message:
            message = await receive()
            while message["type"] == "websocket.receive" and visit.refuses(message.get("bytes")):
                message = await receive()
            return message

        await self.app(scope, sifted if scope["type"] == "websocket" else receive, send)


class Visit:
    """What one browser asks for, in its order."""

    def __init__(self) -> None:
        self.page = ""

    def refuses(self, frame: bytes | None) -> bool:
        """Whether a message is to be kept back.

        A part of a page (a fragment) may ask to be drawn anew when the visitor has clicked a link, before the browser hears
        of the new page: a picture came into view, a clock ticked. Streamlit does not find that part any more, and answers
        with an empty page in place of the new one.
        """
        message = BackMsg()
        with contextlib.suppress(DecodeError):
            message.ParseFromString(frame or b"")
        if message.WhichOneof("type") == "rerun_script":
            asked = message.rerun_script
            if asked.fragment_id:
                return bool(self.page) and asked.page_script_hash != self.page
            self.page = (
                asked.page_script_hash
            )  # nothing where the browser does not know yet which page an address opens
        return message.WhichOneof("type") == "clear_cache"


class Remembered:
    """Answers from memory what never changes: Streamlit's scripts, some sixty files a first visit."""

    ASKS = frozenset({b"range", b"if-range", b"if-none-match", b"if-modified-since"})
    """A request with one of these wants a part, or what is new, and goes on to Streamlit."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self.known: dict[str, tuple[Message, bytes]] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if (
            scope["type"] != "http"
            or scope["method"] != "GET"
            or any(name in self.ASKS for name, _ in scope["headers"])
        ):
            await self.app(scope, receive, send)
        elif scope["path"] in self.known:
            start, body = self.known[scope["path"]]
            await send(start)
            await send({"type": "http.response.body", "body": body})
        else:
            await self._learn(scope, receive, send)

    async def _learn(self, scope: Scope, receive: Receive, send: Send) -> None:
        said: list[Message] = []

        async def heard(message: Message) -> None:
            if said or _lasts(message):
                said.append(message)
            await send(message)

        await self.app(scope, receive, heard)
        if said and not said[-1].get("more_body", False):
            self.known[scope["path"]] = said[0], b"".join(part["body"] for part in said[1:])


class NameAhead:
    """Names Plotly's script with a page that drew by it before, so that a browser loads its 4.7 MB while the page is being computed."""

    pages: ClassVar[set[str]] = set()

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        scripts = (Path(st.__file__).parent / "static" / "static" / "js").glob("PlotlyChart.*.js")
        self.link = ", ".join(f"<./static/js/{path.name}>; rel=modulepreload" for path in scripts).encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def named(message: Message) -> None:
            headers = message.get("headers", ())
            if message["type"] == "http.response.start" and any(
                name == b"content-type" and value.startswith(b"text/html") for name, value in headers
            ):
                message = {**message, "headers": [*headers, (b"link", self.link)]}
            await send(message)

        await self.app(
            scope, receive, named if scope["type"] == "http" and _page(scope["path"]) in self.pages else send
        )


def drawn_by_plotly() -> None:
    """Notes that the page of this visit draws by Plotly."""
    if st.context.url:
        NameAhead.pages.add(_page(urlsplit(st.context.url).path))


def send_at_once() -> None:
    """Switches Nagle's algorithm off for all who connect.

    asyncio does so itself, but not for a socket that was made without naming TCP, as Streamlit's is: what is written in two
    parts, as the head and the body of an answer, then waits 40 ms for the browser's delayed acknowledgement, file by file.
    """
    for held in gc.get_objects():
        if type(held) is socket.socket and held.type == socket.SOCK_STREAM:
            with contextlib.suppress(OSError):  # one that is closed meanwhile
                if held.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
                    held.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # who is accepted inherits it


def _page(path: str) -> str:
    """The last part of an address: the page's name, whatever stands before it."""
    return path.rstrip("/").rpartition("/")[2]


def _lasts(start: Message) -> bool:
    """Whether an answer begins that is the same for everybody and for good."""
    return start.get("status") == 200 and any(
        name == b"cache-control" and b"public, immutable" in value for name, value in start["headers"]
    )
