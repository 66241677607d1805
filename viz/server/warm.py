"""Every page drawn once behind the first screen, for nobody: what it computes first is kept for whoever opens it.

That is what its opening state asks of a model, the figures of it, and what is read from files. A page that is drawn already
costs some milliseconds to draw again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from functools import partial

from streamlit import runtime
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.script_data import ScriptData

from viz.shell import pages

GLANCE = 0.02
"""Seconds between two looks whether a page is drawn."""


def jobs(loop: asyncio.AbstractEventLoop) -> Iterator[tuple[str, Callable[[], None]]]:
    """For each page its name and what draws it once, to be called in any thread but that of the server's `loop`."""
    for entry in pages.discover():
        yield f"the page {entry.slug}", partial(_wait, loop, entry.slug)


def _wait(loop: asyncio.AbstractEventLoop, slug: str) -> None:
    asyncio.run_coroutine_threadsafe(_drawn(slug), loop).result()


async def _drawn(slug: str) -> None:
    """A visit of one page by nobody, made as the server makes its own of the first screen (`Runtime.does_script_run_without_error`)."""
    server = runtime.get_instance()
    visit = AppSession(
        ScriptData(server._main_script_path, is_hello=False),
        server._uploaded_file_mgr,
        server._script_cache,
        lambda: None,
        {},
    )
    try:
        visit.request_rerun(ClientState(page_name=slug))
        while visit._scriptrunner is not None:
            await asyncio.sleep(GLANCE)
    finally:
        visit.shutdown()
