"""What is cleared away while nobody waits: visitors who have gone, and garbage. The one place for both.

Streamlit collects garbage after every run of anyone, which in a class of a hundred takes 93% of the time; that is off in
`.streamlit/config.toml`, and what the interpreter itself would collect of the oldest generation in the midst of a run is put
off to here. It also keeps a visitor who has gone until some later visitor pushes him out, and then only forgets him: his event
loop, three open files, would be closed by a collection that happens to come. (To be reported to Streamlit: `MemorySessionStorage`
drops a session that expired without `AppSession.shutdown()`, and drops none while nobody comes or goes.)
"""

from __future__ import annotations

import asyncio
import ctypes
import functools
import gc
import logging
import platform
import time

from streamlit import runtime
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.session_manager import SessionInfo

import core.serving.engine
from viz.server import limits
from viz.server.uploads.held import UPLOADS

log = logging.getLogger("atlas")
BEAT = 0.1
"""Seconds between two looks."""
REST = 5.0
"""Seconds from one collection to the next, at least."""
OFTEN, SELDOM = 60.0, 300.0
"""Seconds from one walk through the whole heap to the next, when somebody has left and it is quiet, and else."""
QUIET = 1.0
"""Seconds in which no look found a run under way: in a class that works there are none, and the walk, half a second for which all wait, can wait."""
NEVER = 2**31 - 1
GENERATIONS = 10
"""So many collections of the middle generation make one of the oldest due, as they do by the interpreter's own rule."""

LARGE = 2**22
"""Bytes. What one run keeps is smaller, weights are larger."""
M_MMAP_THRESHOLD, M_ARENA_MAX = -3, -8
"""The numbers of these settings (malloc.h)."""
ARENAS = 2
"""Heaps of the C library: threads that take turns need no more, and each keeps what was freed in it."""


class Upkeep:
    """Looks around ten times a second, in the loop from which every run is begun: so none begins while it works, and it works
    only when none is under way.

    What a collection leaves is frozen: the next one walks only what is new, some milliseconds. The whole heap, all models and
    modules and everybody's sessions, is walked once when `settle()` says that all is loaded, in the first quiet second a minute
    after somebody left, at once when the last one has gone, and every few minutes in any case. So nothing of any visitor is left for long.
    """

    def __init__(self) -> None:
        self._manager = runtime.get_instance()._session_mgr
        self._stored = self._manager._session_storage._cache  # type: ignore[attr-defined]
        self._stored._on_remove = self._gone
        self._left = self._settled = False
        self._last = self._walked = self._ran = float("-inf")
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
        """All is loaded. Before, nothing is collected. Safe to call from any thread."""
        self._settled = True

    def look(self) -> None:
        """Let go of who has gone; collect, if it is due and nobody's run is under way."""
        self._stored.expire()
        if UPLOADS:
            UPLOADS.left({session.id for session in self.visitors()})
        now, most, running = time.monotonic(), limits.most_memory(), self._running()
        if running:
            self._ran = now
        tight = most and limits.memory() > 0.85 * most
        whole = now - self._walked > self._patience(now)
        due = self._settled and (whole or tight or gc.get_count()[2] > GENERATIONS)
        if not due or now - self._last < REST or running:
            return
        if tight:
            core.serving.engine.default().forget()
        if whole or tight:
            gc.unfreeze()
            self._left, self._walked = False, now
        gc.collect()
        gc.freeze()
        if whole or tight:
            _trim()
        self._last = now

    def _patience(self, now: float) -> float:
        """Seconds from one walk through the whole heap to the next."""
        if not self.visitors() and self._left:
            return 0.0
        return OFTEN if self._left and now - self._ran > QUIET else SELDOM

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


def return_large_blocks() -> None:
    """Of the C library: a block of `LARGE` bytes is the system's again as soon as it is free. By itself it keeps ever larger ones, in a heap a thread."""
    if libc := _libc():
        libc.mallopt(M_MMAP_THRESHOLD, LARGE)
        libc.mallopt(M_ARENA_MAX, ARENAS)


def _trim() -> None:
    """Give back to the system what the allocator keeps for later."""
    if libc := _libc():
        libc.malloc_trim(0)


@functools.cache
def _libc() -> ctypes.CDLL | None:
    """The GNU C library, which alone has these two."""
    return ctypes.CDLL(None) if platform.libc_ver()[0] == "glibc" else None
