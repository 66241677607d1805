"""A browser that sends a model, or what it says is one, to the routes of the upload, without a server."""

from __future__ import annotations

import asyncio
import json
import resource
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from room_visitor import scope
from starlette.applications import Starlette

from viz.uploads import routes
from viz.uploads.store import UPLOADS

APP = Starlette(routes=routes.ROUTES)
CONFIG, TOKENIZER, HEAD, WEIGHTS = "config.json", "tokenizer.json", "head", "model.safetensors"
ALL = object()
"""As long as it is."""


@dataclass
class Sender:
    """One visitor with his three files; `send` sends a part as he likes, `all` in order until one is refused."""

    files: dict[str, bytes]
    session: str = "Ana"
    asked: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, folder: Path, session: str = "Ana") -> Sender:
        return cls({name: (folder / name).read_bytes() for name in (CONFIG, TOKENIZER, WEIGHTS)}, session)

    @property
    def head(self) -> bytes:
        weights = self.files[WEIGHTS]
        return weights[: min(8 + int.from_bytes(weights[:8], "little"), routes.MOST[HEAD])]

    def send(
        self,
        part: str,
        body: bytes | Sequence[bytes] | None = None,
        *,
        length: Any = ALL,
        ticket: str = "",
        pause: float = 0.0,
    ) -> tuple[int, dict[str, str]]:
        """The status and what was said. `body` in several pieces, `length` said in words of one's own, a pause before each piece."""
        name, _, query = part.partition("?")
        if name == HEAD and not query:
            query = f"bytes={len(self.files[WEIGHTS])}"
        given = body if body is not None else self.head if name == HEAD else self.files.get(name, b"{}")
        pieces = [given] if isinstance(given, bytes) else list(given)
        said = sum(map(len, pieces)) if length is ALL else length
        headers = [] if said is None else [(b"content-length", str(said).encode())]
        address = f"/upload/{ticket or UPLOADS.ticket(self.session)}/{name}?{query}"
        sent: list[Any] = []

        async def receive() -> dict[str, Any]:
            await asyncio.sleep(pause)
            if not pieces:
                return {"type": "http.request", "body": b"", "more_body": False}
            return {"type": "http.request", "body": pieces.pop(0), "more_body": bool(pieces)}

        async def hear(message: Any) -> None:
            sent.append(message)

        asyncio.run(APP(scope("POST", address, headers), receive, hear))
        told = b"".join(part.get("body", b"") for part in sent[1:])
        return sent[0]["status"], json.loads(told) if told.startswith(b"{") else {}

    def all(self, *parts: str) -> tuple[int, dict[str, str]]:
        """All four in order; the answer that is no 200, or the last."""
        status, told = 0, dict[str, str]()
        for part in parts or (CONFIG, TOKENIZER, HEAD, WEIGHTS):
            status, told = self.send(part)
            if status != 200:
                break
        return status, told


def refused(answer: tuple[int, dict[str, str]], *words: str) -> None:
    """A refusal has three parts in words, names its cause and no path of this machine."""
    status, told = answer
    assert status >= 400 and set(told) == {"wrong", "rule", "remedy"}, answer
    assert all(part.rstrip()[-1] in ".?" for part in told.values()), told
    sentences = " ".join(told.values()).casefold()
    assert all(word.casefold() in sentences for word in words), f"{words} not in {told}"
    assert "/tmp" not in str(told) and "atlas-upload" not in str(told)


class Watch:
    """In time, and without memory."""

    def __enter__(self) -> Watch:
        self.peak, self.begun = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.perf_counter()
        return self

    def __exit__(self, *_: object) -> None:
        assert time.perf_counter() - self.begun < 5
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - self.peak < 20 * 1024
