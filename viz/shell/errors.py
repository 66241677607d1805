"""The error boundary: a visitor sees a sentence, the log sees the trace, no other visitor sees anything."""

from __future__ import annotations

import contextlib
import logging
import secrets
from collections.abc import Iterator

import streamlit as st

from core.errors import InputError
from core.serving.scheduler import TURNS
from viz.languages import _
from viz.platform import run_context
from viz.shell import language, notices

_LOG = logging.getLogger("atlas")
_shown_count = 0


def count() -> int:
    """Return the number of errors shown since the start, to all visitors together."""
    return _shown_count


@contextlib.contextmanager
def guard() -> Iterator[None]:
    """Run a page, or a fragment (as a decorator below `@st.fragment`), inside the boundary and in its turn.

    Bad input, and a server that is too busy, is shown as its three parts, and the visitor's text stays in the box. A request that a newer one replaced
    ends the run silently. Anything else, a panic in Rust included (those are BaseException), shows a short number that
    is also in the log. Streamlit's own stop and rerun pass through.
    """
    language.begin()
    try:
        with TURNS.drawing_turn(run_context.session()):
            yield
    except run_context.CONTROL:
        raise
    except BaseException as error:
        show(error)


def show(error: BaseException) -> bool:
    """Tell the visitor about one error; also the server's handler for what escaped the boundary (callbacks)."""
    from core.serving.engine import Superseded

    global _shown_count
    if isinstance(error, Superseded):
        st.stop()
    _shown_count += 1
    language.begin()
    if isinstance(error, InputError):
        notices.box(error.wrong, error.rule, error.remedy)
    else:
        number = secrets.token_hex(3)
        _LOG.error("error %s", number, exc_info=error)
        notices.box(
            _("Something went wrong on our side; nothing you typed is lost."),
            _("It is in the server's log as error {number}.", number=number),
            _("Press R to start over, or change the text and try again."),
            icon=":material/error:",
        )
    return True
