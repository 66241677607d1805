"""Messages of a browser that do harm and do not reach Streamlit."""

from __future__ import annotations

import contextlib

from google.protobuf.message import DecodeError
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit.proto.BackMsg_pb2 import BackMsg


class MessageFilter:
    """A middleware that keeps two messages back: to clear the caches of everybody, and to go on with a page that was left."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        requests = Requests()

        async def filtered() -> Message:
            message = await receive()
            while message["type"] == "websocket.receive" and requests.refuse(message.get("bytes")):
                message = await receive()
            return message

        await self.app(scope, filtered if scope["type"] == "websocket" else receive, send)


class Requests:
    """The requests of one browser, in their order."""

    def __init__(self) -> None:
        self.page = ""

    def refuse(self, frame: bytes | None) -> bool:
        """Return whether a message is to be kept back.

        A part of a page (a fragment) may ask to be drawn again when the visitor has clicked a link, before the browser hears
        of the new page: a picture came into view, a clock ticked. Streamlit does not find that part any more, and answers
        with an empty page in place of the new one.
        """
        message = BackMsg()
        with contextlib.suppress(DecodeError):
            message.ParseFromString(frame or b"")
        if message.WhichOneof("type") == "rerun_script":
            rerun = message.rerun_script
            if rerun.fragment_id:
                return bool(self.page) and rerun.page_script_hash != self.page
            # nothing where the browser does not know yet which page an address opens
            self.page = rerun.page_script_hash
        return message.WhichOneof("type") == "clear_cache"
