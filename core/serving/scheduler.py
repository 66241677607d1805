"""The order of work: one rule for drawing pages and for the computations that they request.

A request is due at its arrival plus the seconds that its work is expected to take, and the first one due goes first. So
short work passes long work, long work ages meanwhile, so that no stream of short work keeps it waiting for ever, and among
work of like length arrival decides.

- `Turns`: threads that draw or compute take turns. The interpreter runs one thread at a time and hands over every 5 ms; a
  forward gives it up at each of its hundred products and waits up to 5 ms for it again as long as others draw their pages:
  7 ms become 60. One after the other, each is done sooner.
- `Scheduler`: computations, one at a time, in a thread of their own. Short ones take a turn among the pages, long ones run
  beside them. Equal questions share one run.

A caller that is killed while it waits (a stopped script, Ctrl-C) leaves nothing behind.
"""

from __future__ import annotations

import heapq
import itertools
import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import Any

from core.errors import InputError
from core.serving.cache import MISSING, ByteCache, seal

SECONDS_A_UNIT = 20e-6
"""First guess of the seconds one unit of cost (a character times a layer) takes; measured from then on."""

SHORT = 2000.0
"""Work of at most this cost, some 40 ms, takes its turn among the threads that compute; longer work runs beside them."""

NOTICE = 0.5
"""Seconds after which, and then again and again, a waiting caller hears its place."""


class Superseded(Exception):
    """The error of a request that a newer one of the same session replaced."""


class Busy(InputError):
    """The error of a request beyond the limit of waiting ones. Worded like any InputError, so that a page shows it in the same way."""


@dataclass(order=True, slots=True)
class _Place:
    """A thread that waits for its turn, or has it. `called` is set when the turn comes."""

    due: float
    order: int
    called: threading.Event = field(default_factory=threading.Event, compare=False)

    def wait(self, until: float) -> bool:
        """Wait for the turn, at most until this time; return whether it came."""
        return self.called.wait(until - time.monotonic())


@dataclass(slots=True)
class _Drawings:
    """Seconds that a visitor's last drawing took, and all since the last pause; the time when the last one ended."""

    last: float = 0.0
    since_pause: float = 0.0
    end: float = -math.inf


class Turns:
    """Turns of threads that draw or compute. They are a courtesy, no lock: after `patience` seconds the next thread runs
    beside the holder, so nothing blocks.

    A thread that gives its turn up for a while comes back with its old due time: work that is half done is finished before
    something new is begun.

    >>> turns = Turns()
    >>> with turns.take():
    ...     with turns.give_up():
    ...         other = threading.Thread(target=turns.take().__enter__); other.start(); other.join()
    """

    PAUSE, MOST, RECENT, VISITORS = 3.0, 0.2, 1.0, 1024
    """A visitor's pause is `PAUSE` times as long as the drawings before it, `MOST` seconds at most, if another visitor drew in the last `RECENT` seconds. So many visitors are remembered."""

    def __init__(self, patience: float = 0.1) -> None:
        self._patience, self._lock, self._thread = patience, threading.Lock(), threading.local()
        self._order = itertools.count()
        self._waiting: list[_Place] = []
        self._holder: _Place | None = None
        self._until = 0.0
        self._visitors: OrderedDict[str, _Drawings] = OrderedDict()

    @contextmanager
    def take(self, after: float = 0.0) -> Iterator[None]:
        """Run the block in a turn of its own, due `after` seconds from now (`-math.inf`: before all). Within a turn it does nothing."""
        if self._mine:
            yield
            return
        self._enter(time.monotonic() + after)
        try:
            yield
        finally:
            self._end()

    @contextmanager
    def drawing_turn(self, visitor: str) -> Iterator[None]:
        """Take a turn for the block that draws a visitor's page, and give it back after it; it is expected to take as long as that visitor's last one.

        A visitor who comes back at once, as one who drags a slider, pauses before it, so that others are served.
        The visitor "" takes no turn, and a block inside such a block none of its own.
        """
        if not visitor or self._mine:
            yield
            return
        if pause := self.pause(visitor, time.monotonic()):
            time.sleep(pause)
        with self.take(self.last_duration(visitor)):
            start = time.monotonic()
            try:
                yield
            finally:
                self.note_drawing(visitor, start, time.monotonic())

    def note_drawing(self, visitor: str, start: float, end: float) -> None:
        """Remember a drawing of a visitor's page, also one that was broken off."""
        with self._lock:
            drawings = self._visitors.setdefault(visitor, _Drawings())
            drawings.last, drawings.since_pause, drawings.end = (
                end - start,
                drawings.since_pause + end - start,
                end,
            )
            self._visitors.move_to_end(visitor)
            while len(self._visitors) > self.VISITORS:
                self._visitors.popitem(last=False)

    def last_duration(self, visitor: str) -> float:
        """Return the seconds that the visitor's last drawing took, `MOST` at most; 0 for a newcomer."""
        with self._lock:
            return min(self._visitors.get(visitor, _Drawings()).last, self.MOST)

    def pause(self, visitor: str, now: float) -> float:
        """Return the seconds that a visitor who comes now has to wait first, and restart the count of the drawings since then.

        A newcomer, and one who is alone, waits for nothing.

        >>> turns = Turns()
        >>> turns.note_drawing("a", 10.00, 10.02); turns.note_drawing("b", 10.02, 10.06)
        >>> [round(turns.pause(*case), 3) for case in (("b", 10.07), ("b", 10.3), ("a", 10.03), ("b", 99.0), ("c", 10.07))]
        [0.11, 0.0, 0.05, 0.0, 0.0]
        """
        with self._lock:
            drawings = self._visitors.get(visitor)
            if drawings is None:
                return 0.0
            until = drawings.end + min(self.PAUSE * drawings.since_pause, self.MOST)
            drawings.since_pause = 0.0
            others = next(
                (seen.end for name, seen in reversed(self._visitors.items()) if name != visitor), -math.inf
            )
        return max(0.0, until - now) if now - others <= self.RECENT else 0.0

    @contextmanager
    def give_up(self) -> Iterator[None]:
        """Release the turn while the block waits for something else, and take it again after it."""
        mine = self._mine
        self._end()
        try:
            yield
        finally:
            if mine:
                self._enter(mine.due)

    @property
    def _mine(self) -> _Place | None:
        return getattr(self._thread, "place", None)

    def _enter(self, due: float) -> None:
        place = _Place(due, next(self._order))
        with self._lock:
            heapq.heappush(self._waiting, place)
            self._call()
        try:
            while not place.wait(self._until):
                with self._lock:
                    self._call()
        except BaseException:
            with self._lock:
                self._remove(place)
            raise
        self._thread.place = place

    def _call(self) -> None:
        """Call the next thread, if no thread has the turn or its holder has had it for long."""
        now = time.monotonic()
        if self._waiting and (self._holder is None or now >= self._until):
            self._holder, self._until = heapq.heappop(self._waiting), now + self._patience
            self._holder.called.set()

    def _remove(self, place: _Place) -> None:
        if place in self._waiting:
            self._waiting.remove(place)
            heapq.heapify(self._waiting)
        if self._holder is place:
            self._holder = None
            self._call()

    def _end(self) -> None:
        if place := self._mine:
            self._thread.place = None
            with self._lock:
                self._remove(place)


TURNS = Turns()
"""The turns of the process: it has one interpreter."""


@dataclass(eq=False, slots=True)
class _Job:
    """A computation, shared by all requests for its key."""

    key: Hashable
    fn: Callable[[], Any]
    cost: float
    due: float
    order: int
    waiters: list[_Waiter] = field(default_factory=list)
    running: bool = False


@dataclass(eq=False, slots=True)
class _Waiter:
    """A caller that waits. `bell` receives (worked, answer or error) pairs; the first one counts."""

    session: str
    since: float = 0.0
    order: int = 0
    job: _Job | None = None
    bell: SimpleQueue[tuple[bool, Any]] = field(default_factory=SimpleQueue)


class Scheduler:
    """A queue that runs functions one at a time in a thread of its own, the first one due first, and stores their results in `cache`.

    - One waiting place a session: a newer request takes the older one's place, whose thread gets Superseded at once;
      a request that runs already ends and goes to the cache. The session "" is nobody's: never replaced.
    - Equal keys share one run, also while waiting; it is dropped only when nobody waits for it any more.
    - At most `max_waiting` requests wait, of at most `max_cost` together (one alone may cost more); beyond that, Busy.
    - Errors reach everyone who shares the run and are not kept.

    >>> scheduler = Scheduler(ByteCache(10_000))
    >>> scheduler.ask("six times seven", lambda: 6 * 7, cost=1)
    42
    >>> scheduler.close()
    """

    def __init__(
        self,
        cache: ByteCache,
        *,
        max_waiting: int = 128,
        max_cost: float = 500_000,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._cache, self._max_waiting, self._max_cost, self._now = cache, max_waiting, max_cost, now
        self._lock = threading.Lock()
        self._ready = threading.Condition(self._lock)
        self._sessions: dict[str, _Waiter] = {}
        self._waiting: dict[Hashable, _Job] = {}
        self._running: _Job | None = None
        self._worker: threading.Thread | None = None
        self._closed = False
        self._order = itertools.count()
        self._spent, self._served = SECONDS_A_UNIT * 1000, 1000.0

    def ask(
        self,
        key: Hashable,
        fn: Callable[[], Any],
        cost: float = 1.0,
        session: str = "",
        on_wait: Callable[[int], None] | None = None,
    ) -> Any:
        """Return the value of `fn()`, from the cache, from a run shared with others, or from a run of its own.

        `cost` is in characters times layers. While the request waits, `on_wait(place)` is called in the caller's
        thread every half second (0 = running, 1 = next); it may raise to give up. Called from within a running
        function, `ask` computes on the spot.

        Raises Superseded, Busy, whatever `fn` raised, RuntimeError once the scheduler is closed.
        """
        if threading.current_thread() is self._worker:
            return self._value(key, fn)
        waiter = _Waiter(session)
        try:
            with self._lock:
                self._enter(waiter, key, fn, max(cost, 1.0))
            worked, answer = self._answer(waiter, on_wait)
            if worked:
                return answer
            raise answer
        finally:
            answer = None  # an error holds this frame, so the frame must not hold the error
            with self._lock:
                self._leave(waiter)

    def place(self, session: str) -> int | None:
        """Return the position of the session's request in the queue: 0 running, 1 next, and so on; None if it has none."""
        with self._lock:
            waiter = self._sessions.get(session)
            return self._place(waiter) if waiter else None

    def close(self) -> None:
        """End the worker after its present job; threads that wait get RuntimeError."""
        with self._lock:
            self._closed = True
            for job in self._waiting.values():
                self._tell(job, (False, RuntimeError("The engine was closed.")))
            self._waiting.clear()
            self._ready.notify_all()
            worker = self._worker
        if worker is not None and worker.ident is not None:
            worker.join()

    # Everything below down to `_value` runs with the lock held, for microseconds. Each step leaves a state that the
    # worker and later callers can live with, should the caller be killed between two of them: a forgotten waiter
    # costs at most one needless run.

    def _enter(self, waiter: _Waiter, key: Hashable, fn: Callable[[], Any], cost: float) -> None:
        if self._closed:
            raise RuntimeError("The engine was closed.")
        older = self._sessions.get(waiter.session)  # never of the session ""
        waiter.since, waiter.order = self._now(), next(self._order)
        if older and older.job and not older.job.running:
            waiter.since, waiter.order = older.since, older.order
        known = self._cache.get(key)
        job = self._running if self._running and self._running.key == key else self._waiting.get(key)
        if known is not MISSING:
            waiter.bell.put((True, known))
        elif job:
            self._join(waiter, job)
        if older:
            older.bell.put((False, Superseded("A newer request of this session took the place of this one.")))
            self._leave(older)
        if known is MISSING and not job:
            self._admit(cost)
            self._join(waiter, _Job(key, fn, cost, math.inf, waiter.order))
            self._wake()

    def _join(self, waiter: _Waiter, job: _Job) -> None:
        waiter.job = job
        if waiter.session:
            self._sessions[waiter.session] = waiter
        job.waiters.append(waiter)
        if not job.running:
            job.due = min(job.due, waiter.since + self._seconds(_rounded(job.cost)))
            job.order = min(job.order, waiter.order)
            self._waiting[job.key] = job

    def _leave(self, waiter: _Waiter) -> None:
        if self._sessions.get(waiter.session) is waiter:
            del self._sessions[waiter.session]
        job = waiter.job
        if job and waiter in job.waiters:
            job.waiters.remove(waiter)
        if job and not job.waiters and self._waiting.get(job.key) is job:
            del self._waiting[job.key]

    def _admit(self, cost: float) -> None:
        waiting = sum(job.cost for job in self._waiting.values())
        if len(self._waiting) < self._max_waiting and (not self._waiting or waiting + cost <= self._max_cost):
            return
        ahead = waiting + (self._running.cost if self._running else 0.0)
        seconds = max(1, math.ceil(self._seconds(ahead)))
        raise Busy(
            "The server is busy: {n} requests are waiting, about {seconds} s of work.",
            "Beyond that nobody is let in, so that those who wait are served soon.",
            "Try again in about {seconds} s; what you typed is kept.",
            n=len(self._waiting),
            seconds=seconds,
        )

    def _wake(self) -> None:
        if self._worker is None or not self._worker.is_alive():
            self._worker = threading.Thread(target=self._work, name="atlas-engine", daemon=True)
            self._worker.start()
        self._ready.notify_all()

    def _place(self, waiter: _Waiter) -> int | None:
        job = waiter.job
        if job is None or waiter not in job.waiters:
            return None
        if job.running:
            return 0
        return 1 + sum((other.due, other.order) < (job.due, job.order) for other in self._waiting.values())

    def _tell(self, job: _Job, outcome: tuple[bool, Any]) -> None:
        for waiter in job.waiters:
            waiter.bell.put(outcome)

    def _next(self) -> _Job | None:
        """Return the job that is due first, now marked as running; wait for one; None when this worker is to end."""
        while not self._waiting and not self._closed:
            self._ready.wait()
        if self._closed or self._worker is not threading.current_thread():
            return None
        job = min(self._waiting.values(), key=lambda job: (job.due, job.order))
        job.running, self._running = True, job
        del self._waiting[job.key]
        return job

    def _end(self, job: _Job, outcome: tuple[bool, Any], seconds: float) -> None:
        self._running = None
        self._spent, self._served = 0.9 * self._spent + seconds, 0.9 * self._served + job.cost
        self._tell(job, outcome)

    def _seconds(self, cost: float) -> float:
        """Return the seconds that work of this cost is expected to take, from measured jobs."""
        return cost * self._spent / self._served

    # Below: without the lock.

    def _value(self, key: Hashable, fn: Callable[[], Any]) -> Any:
        """Return the value from the cache, or compute and store it."""
        value = self._cache.get(key)
        if value is MISSING:
            value = fn()
            seal(value)
            self._cache.put(key, value)
        return value

    def _answer(self, waiter: _Waiter, on_wait: Callable[[int], None] | None) -> tuple[bool, Any]:
        if not waiter.bell.empty():  # known already: the caller's turn goes on
            return waiter.bell.get()
        while True:
            try:
                with TURNS.give_up():
                    return waiter.bell.get(timeout=NOTICE)
            except Empty:
                with self._lock:
                    place = self._place(waiter)
                if on_wait is not None and place is not None:
                    on_wait(place)

    def _work(self) -> None:
        while True:
            with self._lock:
                job = self._next()
            if job is None:
                return
            start = time.perf_counter()
            try:
                first = -math.inf  # somebody waits for it
                with TURNS.take(first) if job.cost <= SHORT else nullcontext():
                    outcome = True, self._value(job.key, job.fn)
            except BaseException as error:  # noqa: BLE001 - a Rust panic is no Exception; it is the callers' to handle
                outcome = False, error
            seconds = time.perf_counter() - start
            with self._lock:
                self._end(job, outcome, seconds)
            del job, outcome  # an idle worker keeps no result alive


def _rounded(cost: float) -> float:
    """Return the cost rounded up to a power of 4, so that among texts of similar length the order of arrival decides.

    >>> _rounded(700), _rounded(1000), _rounded(1025)
    (1024.0, 1024.0, 4096.0)
    """
    return 4.0 ** math.ceil(math.log(cost, 4))
