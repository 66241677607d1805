"""The scheduler under stress: too many requests, errors, callers that are killed. Nothing leaves it locked."""

from __future__ import annotations

import sys
from linecache import getline
from types import FrameType
from typing import Any

import pytest
from engine_helpers import Caller, Steps, serving, until

from core.serving import cache, scheduler
from core.serving import engine as engine_module
from core.serving.engine import Busy, Engine, Superseded

# Limits


def test_beyond_the_count_new_sessions_are_refused_and_old_ones_may_replace():
    with serving(max_waiting=3) as engine:
        steps = Steps(engine)
        steps.begin()
        for name in ("a", "b", "c"):
            steps.ask(name)
        refused = steps.ask("d")
        assert isinstance(refused.end().error, Busy)
        steps.ask("a again", session="a")
        joined = steps.ask("b", session="e")  # sharing takes no place
        assert steps.finish() == ["blocker", "a again", "b", "c"]
        assert joined.answer == "b"
        assert engine.submit("d", lambda: "served later", 1) == "served later"


def test_beyond_the_total_cost_requests_are_refused_but_one_alone_may_cost_more():
    with serving(max_cost=1000) as engine:
        steps = Steps(engine)
        steps.begin()
        steps.ask("huge", cost=5000)
        assert isinstance(steps.ask("small").end().error, Busy)
        steps.ask("smaller", session="huge", cost=600)
        steps.ask("fits", cost=400)
        assert isinstance(steps.ask("too much").end().error, Busy)
        assert steps.finish() == ["blocker", "smaller", "fits"]


def test_the_estimate_follows_what_was_measured():
    with serving(max_waiting=1) as engine:
        engine._scheduler._spent, engine._scheduler._served = 30.0, 10.0  # as measured: 3 s a unit
        steps = Steps(engine)
        steps.begin()
        steps.ask("waits", cost=4)
        with pytest.raises(Busy, match="about 15 s of work"):
            engine.submit("refused", lambda: None, 1)
        steps.finish()
        assert engine._scheduler._spent / engine._scheduler._served < 2.0


# Errors


class Panic(BaseException):
    """Like a Rust panic: no Exception."""


@pytest.mark.parametrize("kind", [ValueError, MemoryError, Panic, KeyboardInterrupt, SystemExit])
def test_errors_reach_all_who_share_and_are_not_kept(kind):
    tries: list[int] = []

    def fails() -> Any:
        tries.append(1)
        raise kind("no good")

    with serving() as engine:
        steps = Steps(engine)
        steps.begin()
        callers = [Caller(lambda i=i: engine.submit("bad", fails, 1, f"s{i}")) for i in range(5)]
        until(lambda: all(engine.place(f"s{i}") == 1 for i in range(5)))
        steps.finish()
        assert [type(caller.end().error) for caller in callers] == [kind] * 5
        assert len(tries) == 1
        with pytest.raises(kind, match="no good"):
            engine.submit("bad", fails, 1)
        assert len(tries) == 2
        assert engine.submit("bad", lambda: "mended", 1) == "mended"


def test_a_closed_engine_releases_everybody():
    engine = Engine(listing=tuple)
    steps = Steps(engine)
    steps.begin()
    waiting = steps.ask("waits")
    closing = Caller(engine.close)
    assert isinstance(waiting.end().error, RuntimeError)
    steps.finish()
    closing.end()
    with pytest.raises(RuntimeError, match="closed"):
        engine.submit("late", lambda: 1, 1)


# Callers that are killed


class Killed(BaseException):
    """What stops a script thread: no Exception, like Streamlit's own."""


class Killer:
    """Raises Killed at the n-th line that the traced thread runs in the engine's own files.

    The end of a `with` block reports its first line once more; there, and only there, Python itself never
    interrupts (the lock would stay taken by anybody's `with`), so those moments are passed over.
    """

    FILES = frozenset({scheduler.__file__, cache.__file__, engine_module.__file__})

    def __init__(self, line: int) -> None:
        self.left, self.fired = line, False
        self._inside: set[tuple[int, int]] = set()

    def __call__(self, frame: FrameType, event: str, arg: object) -> Any:
        if frame.f_code.co_filename not in self.FILES:
            return None
        if event == "line" and not self._end_of_with(frame):
            self.left -= 1
            if self.left == 0:
                self.fired = True
                raise Killed
        return self

    def _end_of_with(self, frame: FrameType) -> bool:
        if not getline(frame.f_code.co_filename, frame.f_lineno).strip().startswith("with "):
            return False
        here = (id(frame), frame.f_lineno)
        self._inside ^= {here}
        return here not in self._inside


def killed_at(line: int, ask: Any) -> tuple[Caller, Killer]:
    killer = Killer(line)

    def traced() -> Any:
        sys.settrace(killer)
        try:
            return ask()
        finally:
            sys.settrace(None)

    return Caller(traced), killer


@pytest.mark.parametrize("crowded", [False, True], ids=["alone", "others wait"])
def test_a_caller_killed_at_any_line_leaves_the_scheduler_open(crowded, monkeypatch):
    monkeypatch.setattr(scheduler, "NOTICE", 0.005)
    line = 0
    while True:
        line += 1
        with serving() as engine:
            steps = Steps(engine)
            older = None
            if crowded:
                steps.begin()
                older = steps.ask("older", session="me")
                steps.ask("other")
            caller, killer = killed_at(
                line, lambda engine=engine: engine.submit("mine", lambda: "mine", 1, session="me")
            )
            if crowded:
                until(
                    lambda caller=caller, engine=engine: (
                        not caller.is_alive() or engine.place("me") is not None
                    )
                )
                steps._go.release(1000)
            caller.end()
            assert isinstance(caller.error, Killed) == killer.fired
            assert engine.submit("next", lambda: "served", 1, session="you") == "served"
            assert engine.submit("mine again", lambda: "served", 1, session="me") == "served"
            steps.finish()
            assert older is None or older.answer == "older" or isinstance(older.error, Superseded)
            assert engine._scheduler._lock.acquire(timeout=1)
            engine._scheduler._lock.release()
            assert not engine._scheduler._waiting
        if not killer.fired:
            break
    assert line > 40  # the lines of one request: all were tried
    assert caller.answer == "mine"


def test_a_caller_that_gives_up_while_waiting_leaves_nothing_behind(monkeypatch):
    monkeypatch.setattr(scheduler, "NOTICE", 0.01)

    def give_up(place: int) -> None:
        raise Killed

    ran: list[str] = []
    with serving() as engine:
        steps = Steps(engine)
        steps.begin()
        caller = Caller(lambda: engine.submit("mine", lambda: ran.append("mine"), 1, "me", on_wait=give_up))
        assert isinstance(caller.end().error, Killed)
        assert engine.place("me") is None
        assert steps.finish() == ["blocker"]
    assert ran == []


def test_a_caller_that_gives_up_on_a_run_leaves_it_to_the_cache(monkeypatch):
    monkeypatch.setattr(scheduler, "NOTICE", 0.01)

    def give_up(place: int) -> None:
        raise Killed

    with serving() as engine:
        steps = Steps(engine)
        caller = Caller(lambda: engine.submit("mine", lambda: steps._run("mine"), 1, "me", on_wait=give_up))
        assert isinstance(caller.end().error, Killed)
        until(lambda: steps.begun == ["mine"])
        steps.finish()
        until(lambda: engine.cached_bytes > 0)
        assert engine.submit("mine", lambda: "again", 1) == "mine"
