"""One gate for all computing: one thing runs, the rest waits in a fair and bounded order.

The order is that of fair queueing (Demers, Keshav and Shenker, "Analysis and simulation of a fair queueing algorithm",
1989): the request that goes next is the one that would be ready first if all waiting sessions were served at once, each
at an equal share. It is due at *virtual time when it came + its cost*; serving a cost among n requests moves virtual
time on by cost / n. So a short request passes long ones, also a crowd of them; a long one ages while short ones
pass, so no stream of them keeps it waiting for ever; requests of like cost go in order of arrival. Costs are
rounded up to powers of 4 for this: between sentences of like length, arrival decides.

Callers never compute and never hold the lock while they wait: a worker thread of the gate computes, callers wait for
its answer. A caller that is killed while it waits (a stopped script, Ctrl-C) leaves nothing behind.
"""

from __future__ import annotations

import itertools
import math
import threading
import time
from collections.abc import Callable, Hashable
from contextlib import nullcontext
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import Any

from core.errors import InputError
from core.serving.cache import MISSING, ByteCache, seal
from core.serving.turn import turn

SECONDS_A_UNIT = 20e-6
"""First guess of the seconds one unit of cost (a character times a layer) takes; measured from then on."""

SHORT = 2000.0
"""What costs at most this, some 40 ms, takes its turn among the threads that compute; what is longer runs beside them."""

PATIENCE = 0.5
"""Seconds after which, and then again and again, a waiting caller is told its place."""


class Superseded(Exception):
    """A newer request of the same session took this one's place: its answer is of no interest to anybody."""


class Busy(InputError):
    """Too much is waiting already. Worded like any InputError, so that a page shows it in the same calm way."""


@dataclass(eq=False, slots=True)
class _Job:
    """One computation, shared by all who ask for its key."""

    key: Hashable
    fn: Callable[[], Any]
    cost: float
    due: float
    order: int
    waiters: list[_Waiter] = field(default_factory=list)
    running: bool = False


@dataclass(eq=False, slots=True)
class _Waiter:
    """One caller. `bell` receives at most a few (worked, answer or error) pairs; the first one counts."""

    session: str
    since: float = 0.0
    order: int = 0
    job: _Job | None = None
    bell: SimpleQueue[tuple[bool, Any]] = field(default_factory=SimpleQueue)


class Gate:
    """Runs functions one at a time in a thread of its own, and keeps what they return in `cache`.

    - One waiting place a session: a newer request takes the older one's place, whose thread gets Superseded at once;
      a request that runs already ends and goes to the cache. The session "" stands for nobody: never replaced.
    - Equal keys share one run, also while waiting; it is dropped only when nobody waits for it any more.
    - At most `max_waiting` requests wait, of at most `max_cost` together (one alone may cost more); beyond that, Busy.
    - Errors reach everyone who shares the run and are not kept.

    >>> gate = Gate(ByteCache(10_000))
    >>> gate.ask("six times seven", lambda: 6 * 7, cost=1)
    42
    >>> gate.close()
    """

    def __init__(self, cache: ByteCache, *, max_waiting: int = 128, max_cost: float = 500_000) -> None:
        self._cache, self._max_waiting, self._max_cost = cache, max_waiting, max_cost
        self._lock = threading.Lock()
        self._ready = threading.Condition(self._lock)
        self._sessions: dict[str, _Waiter] = {}
        self._waiting: dict[Hashable, _Job] = {}
        self._running: _Job | None = None
        self._worker: threading.Thread | None = None
        self._closed = False
        self._now = 0.0
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
        """The value of `fn()`, from the cache, from a run shared with others, or from a run of its own.

        `cost` is in characters times layers. While the request waits, `on_wait(place)` is called in the caller's
        thread every half second (0 = running, 1 = next); it may raise to give up. Called from within a running
        function, `ask` computes on the spot.

        Raises Superseded, Busy, whatever `fn` raised, RuntimeError once the gate is closed.
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
        """Where the session's request stands: 0 running, 1 next, and so on; None if it has none."""
        with self._lock:
            waiter = self._sessions.get(session)
            return self._place(waiter) if waiter else None

    def close(self) -> None:
        """End the worker after what it runs now; whoever waits gets RuntimeError."""
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
        waiter.since, waiter.order = self._now, next(self._order)
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
            job.due = min(job.due, waiter.since + _weight(job.cost))
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
        seconds = max(1, math.ceil(ahead * self._spent / self._served))
        raise Busy(
            f"The server is busy: {len(self._waiting)} requests are waiting, about {seconds} s of work.",
            "Beyond that nobody is let in, so that those who wait are served soon.",
            f"Try again in about {seconds} s; what you typed is kept.",
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
        """The job that is due first, now running; waits for one; None when this worker is to end."""
        while not self._waiting and not self._closed:
            self._ready.wait()
        if self._closed or self._worker is not threading.current_thread():
            return None
        job = min(self._waiting.values(), key=lambda job: (job.due, job.order))
        job.running, self._running = True, job
        del self._waiting[job.key]
        return job

    def _done(self, job: _Job, outcome: tuple[bool, Any], seconds: float) -> None:
        self._running = None
        self._now += _weight(job.cost) / (1 + len(self._waiting))
        self._spent, self._served = 0.9 * self._spent + seconds, 0.9 * self._served + job.cost
        self._tell(job, outcome)

    # Below: without the lock.

    def _value(self, key: Hashable, fn: Callable[[], Any]) -> Any:
        """From the cache, or computed and kept."""
        value = self._cache.get(key)
        if value is MISSING:
            value = fn()
            seal(value)
            self._cache.put(key, value)
        return value

    def _answer(self, waiter: _Waiter, on_wait: Callable[[int], None] | None) -> tuple[bool, Any]:
        if not waiter.bell.empty():  # known: who has his turn keeps it
            return waiter.bell.get()
        while True:
            try:
                with turn.given_up():
                    return waiter.bell.get(timeout=PATIENCE)
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
                with turn.taken(first) if job.cost <= SHORT else nullcontext():
                    outcome = True, self._value(job.key, job.fn)
            except BaseException as error:  # noqa: BLE001 - a Rust panic is no Exception; it is the callers' to handle
                outcome = False, error
            seconds = time.perf_counter() - start
            with self._lock:
                self._done(job, outcome, seconds)
            del job, outcome  # an idle worker keeps no result alive


def _weight(cost: float) -> float:
    """The cost rounded up to a power of 4."""
    return 4.0 ** math.ceil(math.log(cost, 4))
