"""Threads that compute take turns.

The interpreter runs one thread at a time and hands over every 5 ms. A forward gives the interpreter up at each of its hundred
products and waits up to 5 ms for it again, as long as others draw their pages: 7 ms become 60. One after the other, each is
done sooner.
"""

from __future__ import annotations

import heapq
import itertools
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass(order=True, slots=True)
class _Place:
    """One who waits for his turn, or has it. `called` is set when it is his."""

    due: float
    order: int
    called: threading.Event = field(default_factory=threading.Event, compare=False)

    def wait(self, until: float) -> bool:
        """Whether it is his now; waits for it until then at most."""
        return self.called.wait(until - time.monotonic())


class Turn:
    """A courtesy, no lock: whoever has it for longer than `patience` seconds goes on beside the next. So nothing stands still.

    Next is who is due first: when he came, plus the seconds for which he lets others go first. Whoever gives his turn up for
    a while comes back due as he was, so that what is half done is finished before something new is begun.

    >>> turn = Turn()
    >>> with turn.taken():
    ...     with turn.given_up():
    ...         other = threading.Thread(target=turn.taken().__enter__); other.start(); other.join()
    """

    def __init__(self, patience: float = 0.1) -> None:
        self._patience, self._guard, self._held = patience, threading.Lock(), threading.local()
        self._order = itertools.count()
        self._waiting: list[_Place] = []
        self._holder: _Place | None = None
        self._until = 0.0

    @property
    def _mine(self) -> _Place | None:
        return getattr(self._held, "place", None)

    def _take(self, due: float) -> None:
        place = _Place(due, next(self._order))
        with self._guard:
            heapq.heappush(self._waiting, place)
            self._call()
        try:
            while not place.wait(self._until):
                with self._guard:
                    self._call()
        except BaseException:
            with self._guard:
                self._leave(place)
            raise
        self._held.place = place

    def _call(self) -> None:
        """The next one has his turn, if nobody has it or who has it has had it for long."""
        now = time.monotonic()
        if self._waiting and (self._holder is None or now >= self._until):
            self._holder, self._until = heapq.heappop(self._waiting), now + self._patience
            self._holder.called.set()

    def _leave(self, place: _Place) -> None:
        if place in self._waiting:
            self._waiting.remove(place)
            heapq.heapify(self._waiting)
        if self._holder is place:
            self._holder = None
            self._call()

    def _give(self) -> None:
        if place := self._mine:
            self._held.place = None
            with self._guard:
                self._leave(place)

    @contextmanager
    def taken(self, after: float = 0.0) -> Iterator[None]:
        """What is computed within is computed alone, if it can be; once taken, taken again is nothing.

        He lets others go first who come up to `after` seconds after him; with `-math.inf` he goes before all.
        """
        if self._mine:
            yield
            return
        self._take(time.monotonic() + after)
        try:
            yield
        finally:
            self._give()

    @contextmanager
    def given_up(self) -> Iterator[None]:
        """What is waited for within keeps nobody from his turn."""
        mine = self._mine
        self._give()
        try:
            yield
        finally:
            if mine:
                self._take(mine.due)


turn = Turn()
"""That of the process: it has one interpreter."""
