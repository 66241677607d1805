"""Turns of visitors: runs come one after the other, and whoever waits for a model gives his turn up.

Short runs go a little before long ones: a run is due by as much later as the visitor's last one took. A visitor who asks again
and again, as one does who drags a slider, lets the others go first for three times as long as the last run took.

The error boundary of a page and of each part that is drawn by itself takes the turn (`viz.shell.errors.guard`).
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager

from core.serving.turn import turn
from viz.platform import run_context


class Pace:
    """Who ran when, for how long; from it how long a visitor lets others go first.

    Nothing while he is alone (nobody else ran for `RECENT` seconds) or has not just run. What he sends meanwhile takes the
    place of what he sent before, so the last value of one who drags is drawn as soon.

    >>> pace = Pace()
    >>> pace.ran("a", 10.00, 10.02); pace.ran("b", 10.02, 10.06)
    >>> [round(pace.respite(*asked), 3) for asked in (("b", 10.07), ("b", 10.3), ("a", 10.08), ("b", 99.0), ("c", 10.07))]
    [0.11, 0.0, 0.0, 0.0, 0.0]
    """

    SHARE, MOST, RECENT, KNOWN = 3.0, 0.2, 1.0, 1024
    """Runs that a respite takes, its seconds at most; seconds in which another ran; visitors that are remembered."""

    def __init__(self) -> None:
        self._last: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._lock = threading.Lock()

    def ran(self, visitor: str, begun: float, ended: float) -> None:
        """A run of his is over."""
        with self._lock:
            self._last[visitor] = begun, ended
            self._last.move_to_end(visitor)
            while len(self._last) > self.KNOWN:
                self._last.popitem(last=False)

    def yields(self, visitor: str) -> float:
        """How many seconds later than he came his next run is due: as long as his last one took; a newcomer's at once.

        >>> pace = Pace()
        >>> pace.ran("a", 10.00, 10.02)
        >>> [round(pace.yields(visitor), 3) for visitor in "ab"]
        [0.02, 0.0]
        """
        with self._lock:
            begun, ended = self._last.get(visitor, (0.0, 0.0))
        return min(ended - begun, self.MOST)

    def respite(self, visitor: str, now: float) -> float:
        """Seconds to wait before his next run."""
        with self._lock:
            begun, ended = self._last.get(visitor, (now, now))
            others = next(
                (end for other, (_, end) in reversed(self._last.items()) if other != visitor), float("-inf")
            )
        if now - others > self.RECENT:
            return 0.0
        return max(0.0, ended + min(self.SHARE * (ended - begun), self.MOST) - now)


PACE = Pace()
"""The pace of the process."""
_inside = threading.local()


@contextmanager
def take_turn() -> Iterator[None]:
    """Draw in turn what is drawn within; once taken, taken again is nothing. Outside a run of a page there are no turns."""
    visitor = run_context.session()
    if not visitor or getattr(_inside, "run", False):
        yield
        return
    if wait := PACE.respite(visitor, time.perf_counter()):
        time.sleep(wait)
    with turn.taken(after=PACE.yields(visitor)):
        begun, _inside.run = time.perf_counter(), True
        try:
            yield
        finally:
            _inside.run = False
            PACE.ran(visitor, begun, time.perf_counter())
