"""What is cleared away while nobody waits: visitors who have gone, and garbage. The one place for both.

Streamlit collects garbage after every run of anyone, which in a class of a hundred takes 93 % of the time; that is off in
`.streamlit/config.toml`, and what the interpreter itself would collect of the oldest generation in the midst of a run is put
off to here. It also keeps a visitor who has gone until some later visitor pushes him out, and then only forgets him: his event
loop, three open files, would be closed by a collection that happens to come. (To be reported to Streamlit: `MemorySessionStorage`
drops a session that expired without `AppSession.shutdown()`, and drops none while nobody comes or goes.)
"""

from __future__ import annotations

import asyncio
import ctypes
import gc
import logging
import sys
import time

from streamlit import runtime
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.session_manager import SessionInfo

import core.engine
from viz.ui import limits

log = logging.getLogger("atlas")
BEAT = 0.1
"""Seconds between two looks."""
REST = 10.0
"""Seconds from one collection to the next, at least."""
NEVER = 2**31 - 1
GENERATIONS = 10
"""So many collections of the middle generation make one of the oldest due, as they do by the interpreter's own rule."""


class Upkeep:
    """Looks around ten times a second, in the loop from which every run is begun: so none begins while it works, and it works
    only when none is under way.

    After `settle()` what is there by then stays for good (models, modules, the tables of the pages) and is never walked again
    by a collection: frozen, at the next quiet moment. When the last visitor has gone the whole heap is walked once, the frozen
    part too, so nothing of any visitor is left.
    """

    def __init__(self) -> None:
        self._manager = runtime.get_instance()._session_mgr
        self._stored = self._manager._session_storage._cache  # type: ignore[attr-defined]
        self._stored._on_remove = self._gone
        self._left = self._whole = self._settled = False
        self._last = 0.0
        gc.set_threshold(*gc.get_threshold()[:2], NEVER)

    async def keep(self) -> None:
        """Look around until the server ends."""
        while True:
            await asyncio.sleep(BEAT)
            try:
                self.look()
            except Exception:
                log.exception("the upkeep failed once; it goes on")

    def settle(self) -> None:
        """What is loaded by now stays; before, nothing is collected at all. Safe to call from any thread."""
        self._whole = self._settled = True

    def look(self) -> None:
        """Let go of who has gone; collect, if it is due and nobody's run is under way."""
        self._stored.expire()
        most = limits.most_memory()
        tight = most and limits.memory() > 0.85 * most
        whole = self._whole or (self._settled and self._left and not self.visitors())
        due = whole or tight or (self._settled and (self._left or gc.get_count()[2] > GENERATIONS))
        if not due or time.monotonic() - self._last < REST or self._running():
            return
        if tight:
            core.engine.default().forget()
        if whole:
            gc.unfreeze()
        gc.collect()
        if whole:
            gc.freeze()
        if whole or tight:
            _trim()
        self._whole = self._left = False
        self._last = time.monotonic()

    def visitors(self) -> list[AppSession]:
        """The sessions that are connected, or may still come back."""
        return [info.session for info in (*self._manager.list_active_sessions(), *self._stored.values())]

    def _running(self) -> bool:
        return any(session._scriptrunner is not None for session in self.visitors())

    def _gone(self, session_id: str, info: SessionInfo) -> None:
        """A stored session was dropped: its time is over, or it is taken up again (then it is active already)."""
        if not self._manager.is_active_session(session_id):
            info.session.shutdown()
            self._left = True


def _trim() -> None:
    """Give back to the system what the allocator keeps for later."""
    if sys.platform == "linux":
        getattr(ctypes.CDLL(None), "malloc_trim", lambda _: None)(0)
