"""Headers that tell a browser what the app's pages may do, and the check where a request comes from.

`ATLAS_FRAME="https://moodle.example.edu"` lets pages of these addresses show the app in a frame; else only its own may. The
page that leads a lecture room is never shown in a frame of another site, whatever the setting.
"""

from __future__ import annotations

import base64
import hashlib
import os
import re
from functools import cache
from urllib.parse import urlsplit

import streamlit as st
from starlette.datastructures import Headers
from starlette.responses import JSONResponse, RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from viz.platform import static_files

FRAME = "ATLAS_FRAME"
INLINE = re.compile(r"<script>(.*?)</script>", re.DOTALL)
EMBED_ONE = re.compile(rb"(?:^|(?<=&))embed=1(?=&|$)")
NEVER_FRAMED = frozenset({"lecture_room"})
"""Pages with the controls of a lecture room: no other site may show them in a frame. Those below /room say so themselves; one that a frame reaches by its menu is refused there (viz/shell/embed)."""
UNSAFE = frozenset({"POST", "PUT", "PATCH", "DELETE"})
SELF = "'self'"
PORTS = {"http": 80, "https": 443, "ws": 80, "wss": 443}


def frame_ancestors() -> str:
    """Return the addresses whose pages may show the app in a frame.

    Raises:
        ValueError: the setting is not a list of addresses.
    """
    addresses = os.environ.get(FRAME, "").split()
    for address in addresses:
        if not re.fullmatch(r"https?://(\*\.)?[\w.-]+(:\d+)?", address):
            raise ValueError(
                f"{FRAME}={address!r} is not the address of a site. It begins with https:// and has no path, such as "
                "https://moodle.example.edu. Correct it, or leave it out and only the app's own pages show it in a frame."
            )
    return " ".join((SELF, *addresses))


@cache
def policy(framed: bool = True) -> str:
    """Return the Content-Security-Policy of the app's pages: nothing from elsewhere, of inline scripts only Streamlit's own.

    framed: whether the sites of `ATLAS_FRAME` may show the page in a frame.

    Vega compiles the expressions of a chart, hence 'unsafe-eval'; components come as text and are imported as blobs.
    """
    index = static_files.FOLDER / "index.html"
    scripts = INLINE.findall(index.read_text("utf-8")) if index.is_file() else []
    own = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in scripts]
    return "; ".join(
        (
            "default-src 'self'",
            " ".join(("script-src 'self' blob: 'unsafe-eval'", *(f"'sha256-{digest}'" for digest in own))),
            "style-src 'self' 'unsafe-inline'",
            "img-src 'self' data: blob:",
            "font-src 'self' data:",
            "media-src 'self' data: blob:",
            "worker-src 'self' blob:",
            "connect-src 'self' data: blob:",
            "object-src 'none'",
            "base-uri 'self'",
            "form-action 'self'",
            f"frame-ancestors {frame_ancestors() if framed else SELF}",
        )
    )


class SecurityHeaders:
    """A middleware that adds the headers to every answer that does not bring its own."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        framed = scope.get("path", "").rstrip("/").rpartition("/")[2] not in NEVER_FRAMED

        async def secured(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = list(message.get("headers", ()))
                names = {name.lower() for name, _ in headers}
                page = any(
                    name.lower() == b"content-type" and value.startswith(b"text/html")
                    for name, value in headers
                )
                added = {b"x-content-type-options": "nosniff", b"referrer-policy": "same-origin"}
                added |= {b"content-security-policy": policy(framed)} if page else {}
                headers += [(name, text.encode()) for name, text in added.items() if name not in names]
                message = {**message, "headers": headers}
            await send(message)

        await self.app(scope, receive, secured if scope["type"] == "http" else send)


class EmbedLinks:
    """A middleware that sends a link with `?embed=1` on to the same with `?embed=true`, the spelling that Streamlit's own script reads."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        query = scope.get("query_string", b"")
        if scope["type"] == "http" and scope["method"] == "GET" and EMBED_ONE.search(query):
            spelled = EMBED_ONE.sub(b"embed=true", query).decode("latin-1")
            await RedirectResponse(f"?{spelled}", 307)(
                scope, receive, send
            )  # any prefix before the path stays
        else:
            await self.app(scope, receive, send)


class SameOrigin:
    """A middleware that refuses websockets, and requests that change something, from pages of another site."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        socket = scope["type"] == "websocket"
        if not (socket or (scope["type"] == "http" and scope["method"] in UNSAFE)) or sent_by_us(
            Headers(scope=scope)
        ):
            await self.app(scope, receive, send)
        elif socket:
            await receive()
            await send({"type": "websocket.close", "code": 1008})
        else:
            refusal = "A page of another site sent this. Only pages of this app may. Open the app itself."
            await JSONResponse({"error": refusal}, 403)(scope, receive, send)


def sent_by_us(headers: Headers) -> bool:
    """Return whether a request comes from a page of this app, or from no page at all.

    A browser that names the relation (`Sec-Fetch-Site`) is believed, for a page cannot write that header. Of others the
    `Origin` must have the host and the port that were asked for; a proxy that passes on a host without a port is compared
    without. Streamlit's own settings `server.enableCORS` and `server.corsAllowedOrigins` open it further.
    """
    relation, origin = headers.get("sec-fetch-site", ""), headers.get("origin", "")
    if relation in ("same-origin", "none") or not (relation or origin):
        return True
    if not st.get_option("server.enableCORS") or origin in (st.get_option("server.corsAllowedOrigins") or ()):
        return True
    if relation:
        return False
    hosts = (headers.get("host", ""), headers.get("x-forwarded-host", ""))
    return any(host and _same_host(origin, host) for host in hosts)


def _same_host(origin: str, host: str) -> bool:
    try:
        page, asked = urlsplit(origin), urlsplit(f"//{host}")
        port = page.port or PORTS.get(page.scheme)
        return bool(page.hostname) and page.hostname == asked.hostname and asked.port in (None, port)
    except ValueError:
        return False
