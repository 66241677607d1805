"""Admission of visitors: nobody to a first screen that cannot be drawn, no newcomer where the machine has no room for one more.

Visitors inside stay, and one who comes back to an earlier session is admitted longer than a newcomer.
"""

from __future__ import annotations

import asyncio

from starlette.datastructures import Headers
from starlette.responses import HTMLResponse, PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from viz import limits
from viz.languages import _, preferred, using
from viz.platform import start

NEWCOMER, JOINING, RETURNING = 64, 40, 16
"""Open files that must be free: for a page and its sixty files, for the connection that the page then makes, for one made again."""
WAITS, PAUSE = 100, 0.1
"""So often a visitor waits this many seconds before the door stays closed: memory that pages take while they are drawn is soon free."""

PAGE = """<!doctype html><html lang="{lang}"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{title}</title>
<body style="font: 18px/1.5 sans-serif; max-width: 34em; margin: 15vh auto; padding: 0 1em"><h1>{title}</h1>
<p>{reason}</p>
<p>{remedy}</p></body></html>"""


def full_page(language: str) -> str:
    """Return the page for a newcomer whom the server has no room for, in a language."""
    with using(language):
        reason = _(
            "This server has no room for one more visitor. {why} Those who are inside stay, so that the lesson goes on.",
            why=limits.refusal_reason(NEWCOMER),
        )
        return PAGE.format(
            lang=language,
            title=_("The atlas is full"),
            reason=reason,
            remedy=_("Try again in a minute: reload this page."),
        )


class Door:
    """Answers for Streamlit where it must not: when it is full, and when health is asked and the first screen failed."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket" and not await _admitted(JOINING if _new(scope) else RETURNING):
            await send({"type": "websocket.close", "code": 1013})
        elif scope["type"] == "http" and scope["path"].endswith("/_stcore/health") and start.REPORT.problem:
            await PlainTextResponse(start.REPORT.problem, 503)(scope, receive, send)
        elif scope["type"] == "http" and _opens(scope) and not await _admitted(NEWCOMER):
            page = full_page(preferred(Headers(scope=scope).get("accept-language", "")))
            await HTMLResponse(page, 503, {"Retry-After": "60", "Cache-Control": "no-store"})(
                scope, receive, send
            )
        else:
            await self.app(scope, receive, send)


async def _admitted(spare_files: int) -> bool:
    """Return whether a visitor is admitted, now or when memory is free within ten seconds; whoever waits takes an open file, so nobody waits for those."""
    waits = 0
    while waits < WAITS and limits.memory_is_short():
        await asyncio.sleep(PAUSE)
        waits += 1
    return not limits.refusal_reason(spare_files)


def _new(scope: Scope) -> bool:
    """Return whether a connection names no earlier session (the third entry of this header)."""
    return (
        len(
            [
                name
                for name in Headers(scope=scope).get("sec-websocket-protocol", "").split(",")
                if name.strip()
            ]
        )
        < 3
    )


def _opens(scope: Scope) -> bool:
    """Return whether a browser asks for a page, and not for a part of one."""
    return scope["method"] == "GET" and "text/html" in Headers(scope=scope).get("accept", "")
