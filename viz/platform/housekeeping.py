"""Housekeeping between the runs: sessions of visitors who have gone, and garbage.

Streamlit collects garbage after every run of anyone, which in a class of a hundred takes 93% of the time; that is off in
`.streamlit/config.toml`, and what the interpreter itself would collect of the oldest generation in the midst of a run is put
off to here. It also keeps a visitor who has gone until some later visitor pushes that session out, and then only forgets it: its
event loop, three open files, would be closed by a collection that happens to come (UPSTREAM.md).
"""

from __future__ import annotations

import asyncio
import gc
import logging
import time

from streamlit import runtime
from streamlit.runtime.app_session import AppSession

import core.serving.engine
from viz import limits, memo
from viz.uploads.store import UPLOADS

log = logging.getLogger("atlas")
BEAT = 0.1
"""Seconds between two looks."""
REST = 5.0
"""Seconds from one collection to the next, at least."""
OFTEN, SELDOM = 60.0, 300.0
"""Seconds from one walk through the whole heap to the next, when somebody has left and it is quiet, and else."""
MANY = 50
"""Visitors who have left since the last walk that make one due at once: each leaves half a megabyte that only a walk finds."""
LIGHT = 2**16
"""Bytes up to which a remembered value stays when memory is released: to make the facts of all models again would open every one."""
GROWTH = 0.05
"""The share of the cap by which memory grows until it is released again before `REST` is over."""
QUIET = 1.0
"""Seconds in which no look found a run under way: in a class that works there are none, and the walk, half a second for which all wait, can wait."""
NEVER = 2**31 - 1
GENERATIONS = 10
"""So many collections of the middle generation make one of the oldest due, as they do by the interpreter's own rule."""


class Sessions:
    """The sessions of visitors in Streamlit's books; none where a new version keeps other books."""

    def __init__(self) -> None:
        self.problem = ""
        self._by_id: dict[str, AppSession] = {}
        try:
            self._manager = runtime.get_instance()._session_mgr
            self._expire = self._manager._session_storage._cache.expire  # type: ignore[attr-defined]
            self.present()
            self.running()
        except (AttributeError, TypeError) as error:
            self.problem = f"Streamlit's list of sessions cannot be read ({error}); garbage is collected without regard to runs"
            log.warning("%s", self.problem)

    def present(self) -> list[AppSession]:
        """Return the sessions that are connected, or may still reconnect."""
        return [] if self.problem else [info.session for info in self._manager.list_sessions()]

    def running(self) -> bool:
        """Return whether the page of any session is being computed."""
        return any(session._scriptrunner is not None for session in self.present())

    def close_expired(self) -> int:
        """Close the sessions that are over; return their number."""
        if self.problem:
            return 0
        self._expire()
        present = {session.id: session for session in self.present()}
        expired = [session for name, session in self._by_id.items() if name not in present]
        self._by_id = present
        for session in expired:
            session.shutdown()
        return len(expired)


def release_memory() -> None:
    """Release what can be made again when somebody asks: results, charts, and models that nobody uses."""
    engine = core.serving.engine.default()
    engine.forget()
    memo.remembered.clear(above=LIGHT)
    engine.close_unused()
    limits.return_freed_memory()


class Upkeep:
    """Housekeeping that looks around ten times a second, in the loop from which every run is begun: so none begins while it works, and it works
    only when none is under way.

    What a collection leaves is frozen: the next one walks only what is new, some milliseconds. The whole heap, all models and
    modules and everybody's sessions, is walked once when `settle()` says that all is loaded, in the first quiet second a minute
    after somebody left, at once when the last one has gone or `MANY` have, and every few minutes in any case. So nothing of any visitor is left for long.
    """

    def __init__(self) -> None:
        self.sessions = Sessions()
        self._departed, self._settled, self._lowest = 0, False, 0
        self._last = self._walked = self._ran = self._released = float("-inf")
        gc.set_threshold(*gc.get_threshold()[:2], NEVER)

    async def keep(self) -> None:
        """Call `look` regularly until the server ends."""
        while True:
            await asyncio.sleep(BEAT)
            try:
                self.look()
            except Exception:
                log.exception("the upkeep failed once; it goes on")

    def settle(self) -> None:
        """Allow garbage collection, once everything is loaded. May be called from any thread."""
        self._settled = True

    def look(self) -> None:
        """Close the sessions of visitors who have gone; collect garbage if it is due and no page is being computed."""
        self._departed += self.sessions.close_expired()
        if UPLOADS and not self.sessions.problem:
            UPLOADS.forget_absent({session.id for session in self.sessions.present()})
        now, most, running = time.monotonic(), limits.memory_limit(), self.sessions.running()
        if running:
            self._ran = now
        in_use = limits.memory_in_use() if most else 0
        tight = in_use > limits.TIGHT * most
        whole = now - self._walked > self._patience(now)
        due = self._settled and (whole or tight or gc.get_count()[2] > GENERATIONS)
        self._lowest = min(self._lowest, in_use)
        if tight and (in_use - self._lowest > GROWTH * most or now - self._released >= REST):
            release_memory()
            self._released, self._lowest = now, limits.memory_in_use()
        if not due or now - self._last < REST or running:
            return
        if whole or tight:
            gc.unfreeze()
            self._departed, self._walked = 0, now
        gc.collect()
        gc.freeze()
        if tight:
            limits.return_freed_memory()
        self._last = now

    def _patience(self, now: float) -> float:
        """Return the seconds from one walk through the whole heap to the next."""
        if self._departed >= MANY or (self._departed and not self.sessions.present()):
            return 0.0
        return OFTEN if self._departed and now - self._ran > QUIET else SELDOM
