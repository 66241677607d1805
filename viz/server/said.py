"""What a run says on its way to the loop that sends it: in handfuls, each named once.

(To be reported to Streamlit: a run wakes the loop for every message, a hundred times for one page, and each time the loop waits
for the interpreter that the run holds; and the name of a message, by which a browser knows what it has already, is hashed by a
function that gives the interpreter up, with the metadata copied out and in again.)
"""

from __future__ import annotations

import functools
from collections import deque
from typing import Any

from streamlit import config
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.scriptrunner import ScriptRunnerEvent
from streamlit.runtime.scriptrunner_utils import script_run_context

SOON = 0.01
"""Seconds that a message waits for others; as long as Streamlit's loop itself rests between two rounds."""


class _Said:
    """What the runs of one session have said and the loop has not yet heard; `called` while the loop is on its way."""

    __slots__ = ("called", "waiting")

    def __init__(self) -> None:
        self.waiting: deque[tuple[Any, Any]] = deque()
        self.called = False


def gather() -> None:
    """From now on."""
    AppSession._on_scriptrunner_event = _together(AppSession._on_scriptrunner_event)  # type: ignore[method-assign]
    script_run_context.populate_hash_if_needed = _named(script_run_context.populate_hash_if_needed)


def _together(tell: Any) -> Any:
    """In place of `tell`, which calls the loop for each event: messages wait for each other, what begins or ends a run is heard at once. The order stays."""

    @functools.wraps(tell)
    def told(self: AppSession, *event: Any, **named: Any) -> None:
        said = self.__dict__.setdefault("_atlas_said", _Said())
        said.waiting.append((event, named))
        if named.get("event") is not ScriptRunnerEvent.ENQUEUE_FORWARD_MSG:
            self._call_soon_on_event_loop(functools.partial(_heard, self, said))
        elif not said.called:  # asked when the message lies there already, so whoever is on his way hears it
            said.called = True
            self._call_soon_on_event_loop(functools.partial(_hear_soon, self, said))

    return told


def _hear_soon(session: AppSession, said: _Said) -> None:
    session._event_loop.call_later(SOON, functools.partial(_heard, session, said))


def _heard(session: AppSession, said: _Said) -> None:
    """In the loop: what lies there by now. Who says more meanwhile calls again."""
    said.called = False
    for _ in range(len(said.waiting)):
        event, named = said.waiting.popleft()
        try:
            session._handle_scriptrunner_event_on_event_loop(*event, **named)
        except Exception as error:  # noqa: BLE001 - as the loop does with one call of many
            session._event_loop.call_exception_handler(
                {"message": "an event of a run failed", "exception": error}
            )


def _named(name: Any) -> Any:
    """`name` of a message, for what a page consists of by the interpreter's own hash, which differs from process to process."""

    @functools.wraps(name)
    def named(message: ForwardMsg) -> None:
        if message.hash or not message.HasField("delta"):
            name(message)
            return
        said = message.delta.SerializeToString(deterministic=True)
        message.hash = f"{hash(said) & (2**64 - 1):016x}{len(said):x}"
        message.metadata.cacheable = (
            len(said) >= _least() and message.delta.WhichOneof("type") == "new_element"
        )

    return named


@functools.cache
def _least() -> int:
    """Bytes of a message that a browser keeps, at least: a setting of the start."""
    return int(config.get_option("global.minCachedMessageSize"))
