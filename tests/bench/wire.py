"""One visitor's websocket, spoken as a browser does: a link goes out, the app's messages come back."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Self
from urllib.parse import urlencode

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.Element_pb2 import Element
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.RootContainer_pb2 import RootContainer
from websockets.asyncio.client import ClientConnection, connect

WRONG = (b"It is in the server's log as error", b"The machine is busy.", b"and that cannot be shown")
"""What the boxes say that a visitor of a healthy server never reads: the error boundary, a full queue, a link that was not understood."""
SHORT = 4096
"""Bytes: a box's text comes in a short message, and only those are searched."""
REPLACED = ForwardMsg.FINISHED_EARLY_FOR_RERUN


@dataclass
class Answer:
    """What came back: after how long, in how many bytes (unpacked), how it ended, what was wrong in it, and when (in ms) the words came that were listened for."""

    begun: float
    milliseconds: float = 0.0
    size: int = 0
    replaced: bool = False
    wrong: list[str] = field(default_factory=list)
    heard: dict[bytes, float] = field(default_factory=dict)
    view: dict[tuple[int, ...], bytes] = field(default_factory=dict)
    """What the visitor reads and sees, place by place, if the visit keeps it."""


class Visit:
    """A browser's tab on the app; `address` is what stands in it behind the question mark. `listens` are words to be noticed; with `keeps_view` an answer says what is seen."""

    def __init__(
        self, socket: ClientConnection, listens: Collection[bytes] = (), keeps_view: bool = False
    ) -> None:
        self.socket, self.listens, self.keeps_view = socket, listens, keeps_view
        self.page = self.address = self._hash = ""

    @classmethod
    async def opened(
        cls,
        url: str,
        *,
        compressed: bool = False,
        headers: Mapping[str, str] | None = None,
        **options: bool | Collection[bytes],
    ) -> Self:
        """A visit of the app at `url` (http://host:port), nothing asked yet."""
        socket = await connect(
            f"{url.replace('http', 'ws', 1)}/_stcore/stream",
            subprotocols=["streamlit"],
            origin=url,
            max_size=None,
            compression="deflate" if compressed else None,
            additional_headers=headers,
        )  # type: ignore[arg-type]
        return cls(socket, **options)  # type: ignore[arg-type]

    async def ask(self, page: str, values: Mapping[str, str] | str) -> Answer:
        """Follows a link and waits until the page is drawn."""
        begun = time.perf_counter()
        await self.send(page, values)
        return await self.answer(begun)

    async def send(self, page: str, values: Mapping[str, str] | str) -> None:
        """Follows a link: a page's name ("" for the first screen) and what stands behind the question mark."""
        message = BackMsg()
        self.address = message.rerun_script.query_string = (
            values if isinstance(values, str) else urlencode(values)
        )
        if page == self.page:
            message.rerun_script.page_script_hash = self._hash
        else:
            message.rerun_script.page_name = page
        self.page = page
        await self.socket.send(message.SerializeToString())

    async def answer(self, begun: float | None = None) -> Answer:
        """Everything up to the end of the script's next run; its time counts from `begun`, or from now."""
        answer = Answer(begun or time.perf_counter())
        while True:
            raw = await self.socket.recv(decode=False)
            answer.size += len(raw)
            message = ForwardMsg.FromString(raw)
            kind = message.WhichOneof("type")
            if kind == "delta":
                self._look_at(message, raw, answer)
            elif kind == "navigation":
                self._hash = message.navigation.page_script_hash
            elif kind == "page_info_changed":
                self.address = message.page_info_changed.query_string
            elif kind == "script_finished":
                answer.milliseconds = 1e3 * (time.perf_counter() - answer.begun)
                answer.replaced = message.script_finished == REPLACED
                return answer

    async def settled(self, released: asyncio.Event, quiet: float = 3.0) -> float:
        """The moment of the last answer, known once the visitor let go and nothing came for `quiet` seconds; replaced ones do not count."""
        last = 0.0
        while True:
            try:
                answer = await asyncio.wait_for(self.answer(), quiet)
            except TimeoutError:
                if released.is_set():
                    return last
            else:
                last = last if answer.replaced else answer.begun + answer.milliseconds / 1e3

    async def close(self) -> None:
        await self.socket.close()

    def _look_at(self, message: ForwardMsg, raw: bytes, answer: Answer) -> None:
        element: Element = message.delta.new_element
        if message.delta.WhichOneof("type") == "new_element" and element.WhichOneof("type") == "exception":
            answer.wrong.append(f"{element.exception.type}: {element.exception.message}")
        if len(raw) < SHORT:
            answer.wrong += [words.decode() for words in WRONG if words in raw]
            for words in self.listens:
                if words in raw:
                    answer.heard.setdefault(words, 1e3 * (time.perf_counter() - answer.begun))
        if (
            self.keeps_view
            and message.delta.WhichOneof("type") == "new_element"
            and message.metadata.delta_path[0] != RootContainer.EVENT
        ):  # a passing word
            answer.view[tuple(message.metadata.delta_path)] = shown(element)


def shown(element: Element) -> bytes:
    """What a visitor reads or sees of an element, the same whether his page knew parts of it already; nothing of controls and links.

    A picture's data is its loader, which comes once, then a header, which names all numbers by their hash, then those that the page has not got;
    before loader and header stands their length.
    """
    kind = element.WhichOneof("type") or "empty"
    part = getattr(element, kind)
    if kind in ("empty", "page_link") or "set_value" in part.DESCRIPTOR.fields_by_name:
        return b""
    if kind == "bidi_component" and part.component_name == "atlas_progress":
        return b""  # it draws nothing, and names the visit
    if kind == "bidi_component" and (data := part.bytes):
        at = 4 + int.from_bytes(data[:4], "little")
        header = json.loads(data[at + 4 : at + 4 + int.from_bytes(data[at : at + 4], "little")])
        return f"{part.id} {header | {'parts': None}}".encode()
    return kind.encode() + part.SerializeToString(deterministic=True)


async def answers(url: str, *links: tuple[str, Mapping[str, str]]) -> list[Answer]:
    """Return the answers to one visitor who follows these links."""
    visit = await Visit.opened(url)
    found = [await visit.ask(*link) for link in links]
    await visit.close()
    return found
