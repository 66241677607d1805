"""Calls of an ASGI application without a server."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any


def call(
    app: Callable[..., Any], scope: Mapping[str, Any], *received: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """Return what an application sends in this scope to one from whom it receives these messages."""
    waiting, sent = [*received], []

    async def receive() -> Mapping[str, Any]:
        return waiting.pop(0)

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    asyncio.run(app(scope, receive, send))
    return sent
