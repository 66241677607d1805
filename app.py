"""The server. `streamlit run app.py` finds `app`, warms up, and serves `viz/frame.py`."""

from __future__ import annotations

import contextlib
import gc
import logging
from collections.abc import AsyncIterator
from pathlib import Path

import streamlit as st
from starlette.middleware import Middleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit.proto.BackMsg_pb2 import BackMsg

from viz.ui import errors


class KeepCaches:
    """Drops the one browser message that would clear the caches of everybody."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def filtered() -> Message:
            message = await receive()
            while message["type"] == "websocket.receive" and _clears(message.get("bytes")):
                message = await receive()
            return message

        await self.app(scope, filtered if scope["type"] == "websocket" else receive, send)


class FetchAhead:
    """Names, with the page itself, the scripts that figures and instruments are drawn by.

    Else a browser learns of Plotly's 4.7 MB when the first figure arrives, and only then begins to load them. They wait for what the page itself needs.
    """

    SCRIPTS = ("PlotlyChart.*.js", "BidiComponent.*.js")

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        found = [path.name for pattern in self.SCRIPTS for path in (Path(st.__file__).parent / "static" / "static" / "js").glob(pattern)]
        self.links = ", ".join(f"<./static/js/{name}>; rel=modulepreload; fetchpriority=low" for name in found).encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def named(message: Message) -> None:
            headers = message.get("headers", ())
            if message["type"] == "http.response.start" and any(name == b"content-type" and value.startswith(b"text/html") for name, value in headers):
                message = {**message, "headers": [*headers, (b"link", self.links)]}
            await send(message)

        await self.app(scope, receive, named if scope["type"] == "http" and self.links else send)


def _clears(frame: bytes | None) -> bool:
    if not frame or len(frame) > 4096:  # the message is a few bytes; a long one is a widget's state
        return False
    message = BackMsg()
    with contextlib.suppress(Exception):
        message.ParseFromString(frame)
    return message.WhichOneof("type") == "clear_cache"


def warm_up() -> None:
    """Everything that is slow the first time: imports, the shipped models, one figure. Then freeze the heap.

    Streamlit collects garbage after every interaction of anyone; with torch loaded that takes 100-200 ms a time
    unless the objects that stay for good are frozen first.
    """
    import plotly.graph_objects as go
    import threadpoolctl
    import torch

    import core.engine
    from viz import pages, theme

    torch.set_num_threads(1)
    threadpoolctl.threadpool_limits(1, "blas")
    engine = core.engine.default()
    for listing in engine.models():
        if not listing.ok:
            logging.getLogger("atlas").warning("model %s is not served: %s", listing.name, listing.problem)
    engine.warm([listing.name for listing in engine.models() if listing.ok])
    pages.discover()
    go.Figure(go.Heatmap(z=[[0, 1]])).update_layout(template=theme.template()).to_json()
    gc.collect()
    gc.freeze()


@contextlib.asynccontextmanager
async def lifespan(_: st.App) -> AsyncIterator[dict[str, object]]:
    try:
        warm_up()
    except Exception:
        logging.getLogger("atlas").exception("the warm-up did not finish")
    yield {}


app = st.App("viz/frame.py", lifespan=lifespan, middleware=[Middleware(KeepCaches), Middleware(FetchAhead)], on_script_error=errors.show)
