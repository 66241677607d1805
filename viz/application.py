"""The server: its routes, the middleware between a browser and Streamlit, and its start."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

import streamlit as st
import threadpoolctl
import torch
from altair.utils import schemapi
from starlette.middleware import Middleware
from starlette.routing import Route

import core.layers.linear
import core.serving.engine
from viz import limits, memo
from viz.classroom import backend, routes
from viz.platform import (
    admission,
    housekeeping,
    message_filter,
    scripts,
    security,
    shutdown,
    start,
    static_files,
    streamlit_patches,
)
from viz.shell import errors, pages
from viz.uploads import routes as uploads
from viz.uploads.store import UPLOADS

BASE = f"/{path}" if (path := str(st.get_option("server.baseUrlPath") or "").strip("/")) else ""
ROUTES = [
    Route(BASE + route.path, route.endpoint, methods=route.methods)
    for route in (
        *routes.ROUTES,
        *uploads.ROUTES,
        Route(f"/{scripts.FOLDER}/{{name}}", scripts.answer, methods=["GET"]),
    )
]
"""The routes that are not Streamlit's, behind `--server.baseUrlPath` as well. No Mount: it would answer for Streamlit's own addresses below it."""


def _own_scripts(page: str) -> tuple[str, ...]:
    """Return the scripts that each of the app's pages fetches; the pages of a lecture room have their own."""
    return scripts.names() if page in {"", *(entry.slug for entry in pages.discover())} else ()


MIDDLEWARE = [
    Middleware(start.WordedFailure),
    Middleware(security.SecurityHeaders),
    Middleware(security.SameOrigin),
    Middleware(security.EmbedLinks),
    Middleware(admission.Door),
    Middleware(message_filter.MessageFilter),
    Middleware(static_files.Remembered, base=BASE),
    Middleware(static_files.Preloaded, own_scripts=_own_scripts),
]
on_script_error = errors.show


def check_settings() -> None:
    """Read what the server's start says in variables, and use the store of rooms that it names.

    Raises:
        SystemExit: with a sentence, for one that cannot be read.
    """
    try:
        limits.apply_profile()
        limits.memory_limit()
        limits.upload_limit()
        limits.cache_limit()
        limits.arena_limit()
        security.policy()
        backend.configure_backend()
    except ValueError as error:
        raise SystemExit(str(error)) from None


@contextlib.asynccontextmanager
async def lifespan(_: st.App) -> AsyncIterator[dict[str, object]]:
    """Start the services around Streamlit, draw the first screen once, admit visitors, and clear up at the end."""
    torch.set_num_threads(1)
    threadpoolctl.threadpool_limits(1, "blas")
    schemapi.disable_debug_mode()  # the tests hold every chart against Vega-Lite's schema: 0.2 s a chart that no visitor has to wait for again
    limits.raise_files()
    limits.limit_arenas()
    core.layers.linear.PACKED_WEIGHTS.capacity_bytes = 0  # copies of weights in the processor's own layout: 240 MB of a class of thirty, and no bar needs them
    engine = core.serving.engine.default()
    engine.set_memory_budget(limits.free_bytes, limits.calm_bytes)
    if most := limits.cache_limit():
        engine.set_cache_budget(most // 2, most)
        memo.remembered.budget = most // 2
    server = shutdown.web_server()
    shutdown.limit_the_wait(server)
    start.REPORT.failures += streamlit_patches.apply()
    keeper = housekeeping.Upkeep()
    if keeper.sessions.problem:
        start.REPORT.failures += (keeper.sessions.problem,)
    start.end_with(start.text_problem())
    await start.first_screen(errors.count)
    start.end_with(start.memory_problem())
    start.warm_up_in_background([entry.slug for entry in pages.discover()], on_done=keeper.settle)
    keeping = [asyncio.create_task(each) for each in (keeper.keep(), routes.remove_ended_rooms(server))]
    yield {}
    for each in keeping:
        each.cancel()
    UPLOADS.forget_absent(())
