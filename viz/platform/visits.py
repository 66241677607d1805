"""Pages drawn for nobody: as a new visitor's would be, and nothing of it goes to a browser; by the server, or where none runs."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl

from streamlit import config, runtime
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.script_data import ScriptData
from streamlit.runtime.scriptrunner_utils import script_run_context

GLANCE = 0.02
"""Seconds between two looks whether a page is drawn."""
LONGEST = 600.0
"""Seconds that a page may take where no server runs."""
_SCRIPT = "from viz import menu\nfrom viz.shell import pages\nmenu.draw_page(pages.find({slug!r}))"


async def visit(slug: str, query: str = "", state: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Draw a page, made as the server makes its own visit of the first screen (`Runtime.does_script_run_without_error`).

    state: what the session holds before. Returns what it holds after the run. To be awaited in the server's loop.
    """
    server = runtime.get_instance()
    session = AppSession(
        ScriptData(server._main_script_path, is_hello=False),
        server._uploaded_file_mgr,
        server._script_cache,
        lambda: None,
        {},
    )
    for name, value in (state or {}).items():
        session._session_state._new_session_state[name] = value  # as [name] does, which misses a run
    try:
        session.request_rerun(ClientState(page_name=slug, query_string=query))
        while session._scriptrunner is not None:
            await asyncio.sleep(GLANCE)
        return dict(session._session_state.filtered_state)
    finally:
        session.shutdown()


async def first_screen_problem() -> str:
    """Draw the first screen; return what was wrong in one word, "" for nothing."""
    drawn, problem = await runtime.get_instance().does_script_run_without_error()
    return "" if drawn else problem


def visit_from_thread(slug: str, query: str = "", state: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Draw a page, in any thread but that of the server's loop; where no server runs, in this process."""
    if not runtime.exists():
        return _visit_without_server(slug, query, state)
    loop = runtime.get_instance()._get_async_objs().eventloop
    return asyncio.run_coroutine_threadsafe(visit(slug, query, state), loop).result()


def _visit_without_server(slug: str, query: str, state: Mapping[str, Any] | None) -> dict[str, Any]:
    """Draw a page by Streamlit's test framework, for a command; never in a server, whose runtime it would replace."""
    from streamlit.components.v2.component_manager import BidiComponentManager
    from streamlit.testing.v1 import AppTest  # both here, for a server needs neither

    logging.getLogger(script_run_context.__name__).disabled = True  # it misses a browser
    config.set_option(
        "global.disableWidgetStateDuplicationWarning", True
    )  # as .streamlit does, which is read in our own folder alone
    page = AppTest.from_string(_SCRIPT.format(slug=slug), default_timeout=LONGEST)
    page._bidi_component_manager = BidiComponentManager()  # else it searches all installed packages
    for name, value in parse_qsl(query, keep_blank_values=True):
        page.query_params[name] = value
    for name, value in (state or {}).items():
        page.session_state[name] = value
    return dict(page.run().session_state._state.filtered_state)
