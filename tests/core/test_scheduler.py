"""The scheduler: who computes next and who is replaced."""

from __future__ import annotations

import statistics
import threading
import time

import pytest
from engine_helpers import Caller, Steps, serving, until

from core.serving import scheduler
from core.serving.engine import Superseded

# Order and fairness


def test_order_of_arrival_among_requests_of_like_cost():
    with serving() as engine:
        steps = Steps(engine)
        steps.begin()
        names = [f"s{i}" for i in range(20)]
        for i, name in enumerate(names):
            steps.ask(name, cost=700 + 10 * (i * 7 % 20))  # sentences of like length, in no order of length
        assert [engine.place(name) for name in ("blocker", *names)] == list(range(21))
        assert steps.finish() == ["blocker", *names]


def test_a_flood_of_one_session_takes_one_turn_and_its_last_value_counts():
    with serving() as engine:
        steps = Steps(engine)
        steps.begin()
        flood = [steps.ask(f"flood {i}", session="flood") for i in range(10)]
        for name in ("b", "c", "d"):
            steps.ask(name)
            flood += [steps.ask(f"flood {name} {i}", session="flood") for i in range(10)]
        assert steps.finish() == ["blocker", "flood d 9", "b", "c", "d"]
        assert all(isinstance(caller.end().error, Superseded) for caller in flood[:-1])
        assert flood[-1].answer == "flood d 9"


def test_a_session_that_asks_again_and_again_is_served_in_turn_with_the_others():
    served: list[str] = []
    stop = threading.Event()
    with serving() as engine:

        def one(name: str, i: int, cost: float = 1.0) -> int:
            def work() -> int:
                time.sleep(0.002)
                served.append(name)
                return len(served)

            return engine.submit((name, i), work, cost, session=name)

        def flood() -> None:
            i = 0
            while not stop.is_set():
                one("flood", i := i + 1)

        def polite(name: str) -> list[int]:
            waits = []
            for i in range(10):
                before = len(served)
                waits.append(served[before : one(name, i)].count("flood"))
            return waits

        flooding = Caller(flood)
        visitors = [Caller(lambda name=name: polite(name)) for name in ("b", "c", "d")]
        waits = [wait for visitor in visitors for wait in visitor.end().answer]
        stop.set()
        flooding.end()
    assert len(waits) == 30
    # the one that runs, the one that waits already, one more for the moment of counting; a machine under load may stop a
    # visitor's thread between counting and asking, which says nothing of the gate: three such moments are left out
    assert sorted(waits)[-4] <= 3


def test_a_cheap_request_passes_a_crowd_of_expensive_ones():
    with serving() as engine:
        engine._scheduler._now = lambda: 0.0
        steps = Steps(engine)
        steps.begin()
        for i in range(5):
            steps.ask(f"long {i}", cost=16_000)
        steps.step()  # long 0 runs
        steps.ask("short 0", cost=100)
        steps.step()
        assert steps.begun[-1] == "short 0"
        steps.step()  # long 1 runs
        steps.ask("short 1", cost=100)
        assert engine.place("short 1") == 1
        assert steps.finish() == [
            "blocker",
            "long 0",
            "short 0",
            "long 1",
            "short 1",
            "long 2",
            "long 3",
            "long 4",
        ]


def test_an_expensive_request_is_not_starved_by_cheap_ones():
    clock = 0.0
    with serving() as engine:
        steps = Steps(engine)
        steps.begin()
        engine._scheduler._now = lambda: clock
        engine._scheduler._seconds = lambda cost: cost
        steps.ask("long", cost=16)
        steps.ask("short 0", cost=1)
        turns = 0
        while "long" not in steps.begun:  # there is always a cheaper request waiting beside it
            turns += 1
            clock += 1
            steps.ask(f"short {turns}", cost=1)
            steps.step()
            assert turns < 100
        assert (
            16 <= turns <= 18
        )  # due 16 seconds after it came, so 16 short ones of a second each went before
        steps.finish()


def test_a_replaced_request_hands_on_its_place():
    with serving() as engine:
        steps = Steps(engine)
        steps.begin()
        steps.ask("a")
        steps.ask("b")
        steps.ask("a again", session="a")
        assert (engine.place("a"), engine.place("b")) == (1, 2)
        assert steps.finish() == ["blocker", "a again", "b"]
        assert engine.place("a") is None


def test_place_is_told_while_waiting(monkeypatch):
    monkeypatch.setattr(scheduler, "NOTICE", 0.01)
    places: list[int] = []
    with serving() as engine:
        steps = Steps(engine)
        steps.begin()
        steps.ask("first")
        Caller(lambda: engine.submit("me", lambda: 5, 1, "me", on_wait=places.append))
        until(lambda: 2 in places)
        steps.step()
        until(lambda: 1 in places)
        steps.finish()
    assert places == sorted(places, reverse=True)


# Replacement


@pytest.mark.parametrize("runs", [False, True], ids=["waiting", "running"])
def test_a_superseded_request_returns_within_50_ms(runs):
    delays = []
    with serving() as engine:
        steps = Steps(engine)
        if not runs:
            steps.begin()
        older = steps.begin("me") if runs else steps.ask("me")
        for i in range(11):
            asked = time.perf_counter()
            newer = steps.ask(f"me {i}", session="me")
            older.end()
            assert isinstance(older.error, Superseded)
            delays.append(older.released - asked)
            older = newer
        steps.finish()
        assert older.answer == "me 10"
    assert statistics.median(delays) < 0.050
    assert steps.begun == ["me" if runs else "blocker", "me 10"]


def test_a_superseded_run_ends_and_goes_to_the_cache():
    with serving() as engine:
        steps = Steps(engine)
        older = steps.begin("older")
        steps.ask("newer", session="older")
        assert isinstance(older.end().error, Superseded)
        steps.finish()
        assert engine.submit("older", lambda: "computed again", 1) == "older"


def test_a_superseded_waiter_does_not_stop_the_run_that_others_wait_for():
    with serving() as engine:
        steps = Steps(engine)
        steps.begin()
        mine = steps.ask("shared", session="me")
        theirs = steps.ask("shared", session="them")
        newer = steps.ask("newer", session="me")
        assert isinstance(mine.end().error, Superseded)
        steps.finish()
        assert (theirs.answer, newer.answer) == ("shared", "newer")
        assert sorted(steps.begun) == ["blocker", "newer", "shared"]


def test_the_same_question_again_releases_the_older_thread_and_keeps_the_run():
    with serving() as engine:
        steps = Steps(engine)
        steps.begin()
        older = steps.ask("same", session="me")
        newer = steps.ask("same", session="me")
        assert isinstance(older.end().error, Superseded)
        assert steps.finish() == ["blocker", "same"]
        assert newer.answer == "same"


def test_an_answer_from_the_cache_supersedes_too():
    with serving() as engine:
        engine.submit("known", lambda: "known", 1)
        steps = Steps(engine)
        steps.begin()
        older = steps.ask("older", session="me")
        assert engine.submit("known", lambda: "again", 1, session="me") == "known"
        assert isinstance(older.end().error, Superseded)
        assert engine.place("me") is None
        assert steps.finish() == ["blocker"]


def test_nobody_in_particular_is_never_replaced():
    with serving() as engine:
        steps = Steps(engine)
        steps.begin()
        callers = [Caller(lambda i=i: engine.submit(i, lambda: i * i, 1)) for i in range(5)]
        until(lambda: len(engine._scheduler._waiting) == 5)
        steps.finish()
        assert [caller.end().answer for caller in callers] == [0, 1, 4, 9, 16]
