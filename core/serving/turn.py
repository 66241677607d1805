"""Threads that compute take turns.

The interpreter runs one thread at a time and hands over every 5 ms. A forward gives the interpreter up at each of its hundred
products and waits up to 5 ms for it again, as long as others draw their pages: 7 ms become 60. One after the other, each is
done sooner.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Turn:
    """A courtesy, no lock: whoever waited `patience` seconds for his turn goes on beside the others. So nothing stands still.

    >>> turn = Turn()
    >>> with turn.taken():
    ...     with turn.given_up():
    ...         other = threading.Thread(target=turn.taken().__enter__); other.start(); other.join()
    """

    def __init__(self, patience: float = 0.1) -> None:
        self._patience, self._lock, self._held = patience, threading.Lock(), threading.local()

    @property
    def _mine(self) -> bool:
        return getattr(self._held, "mine", False)

    def _take(self) -> None:
        self._held.mine = self._lock.acquire(timeout=self._patience)

    def _give(self) -> None:
        if self._mine:
            self._held.mine = False
            self._lock.release()

    @contextmanager
    def taken(self) -> Iterator[None]:
        """What is computed within is computed alone, if it can be; once taken, taken again is nothing."""
        if self._mine:
            yield
            return
        self._take()
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
                self._take()


turn = Turn()
"""That of the process: it has one interpreter."""
