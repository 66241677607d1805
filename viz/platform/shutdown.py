"""The end of the server: it is noticed before the web server waits for open connections, and the wait has an end."""

from __future__ import annotations

import signal

import uvicorn

GRACE = 5
"""Seconds that open requests have once the server must end; a client that sends or reads nothing would hold it up for good."""


def web_server() -> uvicorn.Server | None:
    """Return the web server that runs this app, by the signal that ends it; None where another one runs it."""
    owner = getattr(signal.getsignal(signal.SIGTERM), "__self__", None)
    return owner if isinstance(owner, uvicorn.Server) else None


def limit_the_wait(server: uvicorn.Server | None) -> None:
    """Limit the time for which open requests delay the end of the server to `GRACE` seconds."""
    if server is not None:
        server.config.timeout_graceful_shutdown = GRACE
