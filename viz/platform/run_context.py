"""The run of a page as Streamlit knows it: whose it is, which part of the page draws, where on the page."""

from __future__ import annotations

import logging
from typing import Any

from streamlit import dataframe_util, runtime
from streamlit.delta_generator_singletons import context_dg_stack
from streamlit.errors import FragmentHandledException
from streamlit.runtime.scriptrunner import get_script_run_ctx, script_runner
from streamlit.runtime.scriptrunner_utils.exceptions import ScriptControlException
from streamlit.runtime.scriptrunner_utils.script_run_context import ThreadState

CONTROL = (ScriptControlException, FragmentHandledException, KeyboardInterrupt, SystemExit, GeneratorExit)
"""Exceptions by which Streamlit stops a run or begins it again; none of them is an error."""
_NO_FRAGMENT = "Couldn't find fragment"

arrow_bytes = dataframe_util.convert_anything_to_arrow_bytes


def session() -> str:
    """Return the id of the browser session whose run this is; empty outside a run (tests, notebooks, threads)."""
    context = get_script_run_ctx(suppress_warning=True)
    return context.session_id if context else ""


def running() -> bool:
    """Return whether this thread draws a page."""
    return get_script_run_ctx(suppress_warning=True) is not None


def visited() -> bool:
    """Return whether a page is drawn for somebody, and not by the server for nobody, so that it is quick later (`warm`)."""
    return not runtime.exists() or runtime.get_instance().is_active_session(session())


def went_back() -> bool:
    """Return whether this run comes from the browser's back or forward button."""
    return bool(getattr(get_script_run_ctx(suppress_warning=True), "is_history_navigation", False))


def identity() -> object:
    """Return an object that is the same during one run and another one in the next."""
    return getattr(get_script_run_ctx(suppress_warning=True), "cursors", None)


def part() -> str | None:
    """Return the id of the part of the page (the fragment) that draws; None for the whole page."""
    return ThreadState.get().fragment_id if running() else None


def container() -> Any:
    """Return the container in which the next element is drawn."""
    return context_dg_stack.get()[-1]


def _worth_a_line(record: logging.LogRecord) -> bool:
    """Return whether a line of the log says anything: not that a part was asked for which a newer run has left out."""
    return not str(record.msg).startswith(_NO_FRAGMENT)


logging.getLogger(script_runner.__name__).addFilter(_worth_a_line)
