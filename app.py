"""The server. `streamlit run app.py` finds `app`, draws the first screen once, and serves `viz/frame.py`."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator
from pathlib import Path

import streamlit as st
import threadpoolctl
import torch
from altair.utils import schemapi
from starlette.middleware import Middleware
from starlette.routing import Route

import core.layers.linear
import core.serving.engine
import viz
from viz.server import asgi, door, limits, said, spared, start, turns, upkeep
from viz.server.rooms import choose, routes
from viz.server.uploads import routes as uploads
from viz.server.uploads.held import UPLOADS
from viz.shell import errors

COPIES = 2**26
"""Bytes for weights in the processor's own layout: enough for the models of a lesson, and a class of a hundred fits into 1.2 GB beside them."""

SHAPES = 512
"""Shapes of a product for which oneDNN keeps the code that it wrote. By itself 1,024: 20 MB more of a class of a hundred, no less time.
With 256 the others wait a tenth longer beside one who drags."""


BASE = f"/{path}" if (path := str(st.get_option("server.baseUrlPath") or "").strip("/")) else ""
OURS = [
    Route(BASE + route.path, route.endpoint, methods=route.methods)
    for route in (*routes.ROUTES, *uploads.ROUTES)
]
"""The routes that are not Streamlit's, behind `--server.baseUrlPath` as well. No Mount: it would answer for Streamlit's own addresses below it."""


@contextlib.asynccontextmanager
async def lifespan(_: st.App) -> AsyncIterator[dict[str, object]]:
    torch.set_num_threads(1)
    threadpoolctl.threadpool_limits(1, "blas")
    os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", str(SHAPES))  # read at the first product
    schemapi.disable_debug_mode()  # the tests hold every chart against Vega-Lite's schema: 0.2 s a chart that no visitor has to wait for again
    asgi.send_at_once()
    turns.take()
    spared.spare()
    said.gather()
    upkeep.return_large_blocks()
    limits.raise_files()
    choose.begin()
    core.layers.linear.ROOM.most = COPIES
    limits.most_memory()  # a size that cannot be read ends the start, not a lesson
    limits.most_upload()
    core.serving.engine.default().room(limits.room)
    keeper = upkeep.Upkeep()
    await start.first_screen()
    start.the_rest(then=keeper.settle)
    keeping = [asyncio.create_task(each) for each in (keeper.keep(), routes.keep_clean())]
    yield {}
    for each in keeping:
        each.cancel()
    UPLOADS.left(())


between = [Middleware(part) for part in (door.Door, asgi.Sieve, asgi.Remembered, asgi.NameAhead)]
app = st.App(
    Path(viz.__file__).with_name("frame.py"),
    lifespan=lifespan,
    routes=OURS,
    middleware=between,
    on_script_error=errors.show,
)
