"""One browser before the routes of the lecture room, without a server: it keeps its cookies, and reads its stream message by message."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from http.cookies import SimpleCookie
from typing import Any

from starlette.applications import Starlette

from viz.classroom import routes

APP = Starlette(routes=routes.ROUTES)
LOOP = asyncio.Runner()
"""One for all requests: making a loop and its threads takes longer than most answers."""


def scope(
    method: str, address: str, headers: list[tuple[bytes, bytes]], client: str = "10.0.0.1"
) -> dict[str, Any]:
    """A request as a server hands it to an application."""
    path, _, query = address.partition("?")
    said = {"method": method, "path": path, "raw_path": path.encode(), "query_string": query.encode()}
    ends = {"client": (client, 1), "server": ("127.0.0.1", 80), "root_path": ""}
    return {"type": "http", "http_version": "1.1", "scheme": "http", "headers": headers, **said, **ends}


@dataclass
class Answer:
    """What came back."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def told(self) -> Any:
        return json.loads(self.body)


@dataclass
class Visitor:
    """A browser at an address, with the cookies that it was given, each (path, value)."""

    address: str = "10.0.0.1"
    cookies: dict[str, tuple[str, str]] = field(default_factory=dict)

    def post(self, path: str, told: Any = None, *, raw: bytes | None = None) -> Answer:
        """Send an object of JSON, or `raw` bytes."""
        return self._ask("POST", path, json.dumps(told or {}).encode() if raw is None else raw)

    def get(self, path: str) -> Answer:
        """Ask for a page, or a part."""
        return self._ask("GET", path, b"")

    def join(self, code: str, door: str = "") -> Answer:
        return self.post(f"/room/{code}/join", {"door": door})

    def lead(self, code: str, secret: str) -> Answer:
        return self.post(f"/room/{code}/lead", {"secret": secret})

    def steer(self, code: str, act: str, **more: Any) -> Answer:
        return self.post(f"/room/{code}/steer", {"act": act} | more)

    def stream(self, path: str, last: int = 0, messages: int = 1) -> list[list[dict[str, Any]]]:
        """The first messages of a stream, each a list of {"id", "event", "data"}; then it hangs up."""
        got: list[list[dict[str, Any]]] = []

        async def read() -> None:
            gone = asyncio.Event()

            async def receive() -> dict[str, Any]:
                if not asked:
                    asked.append(True)
                    return {"type": "http.request", "body": b"", "more_body": False}
                await gone.wait()
                return {"type": "http.disconnect"}

            async def send(message: dict[str, Any]) -> None:
                if message["type"] == "http.response.start":
                    assert message["status"] == 200
                    return
                text = message.get("body", b"").decode()
                if "data:" in text:
                    got.append([_event(part) for part in text.split("\n\n") if "data:" in part])
                if len(got) >= messages:
                    gone.set()

            asked: list[bool] = []
            headers = [(b"last-event-id", str(last).encode())] if last else []
            async with asyncio.timeout(5):
                await APP(self._scope("GET", path, headers), receive, send)

        LOOP.run(read())
        return got

    def _ask(self, method: str, path: str, body: bytes) -> Answer:
        sent: list[dict[str, Any]] = []

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: Any) -> None:
            sent.append(message)

        LOOP.run(APP(self._scope(method, path), receive, send))
        for name, value in sent[0]["headers"]:
            if name == b"set-cookie":
                for key, morsel in SimpleCookie(value.decode()).items():
                    home = morsel["path"] or path.rpartition("/")[0]  # as a browser does
                    self.cookies[key] = (home, morsel.value)
        headers = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
        return Answer(sent[0]["status"], headers, b"".join(part.get("body", b"") for part in sent[1:]))

    def _scope(
        self, method: str, path: str, headers: list[tuple[bytes, bytes]] | None = None
    ) -> dict[str, Any]:
        held = "; ".join(
            f"{name}={value}" for name, (home, value) in self.cookies.items() if path.startswith(home)
        )
        return scope(
            method, path, [*(headers or []), *([(b"cookie", held.encode())] if held else [])], self.address
        )


def _event(text: str) -> dict[str, Any]:
    found = dict(line.split(": ", 1) for line in text.splitlines() if ": " in line)
    return found | {"data": json.loads(found["data"])}
