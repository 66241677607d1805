"""Threads that compute or draw take turns, give them up while they wait, and never wait for ever."""

from __future__ import annotations

import math
import threading

import pytest

from core.serving import scheduler
from core.serving.cache import ByteCache
from core.serving.scheduler import Scheduler, Turns, _Place


def test_one_at_a_time_and_given_up_while_something_else_is_waited_for():
    turn, inside, most, order = Turns(patience=30), 0, 0, []
    lock = threading.Lock()

    def compute(name: str) -> None:
        nonlocal inside, most
        with turn.take():
            with lock:
                inside += 1
                most = max(most, inside)
            order.append(name)
            with lock:
                inside -= 1

    with turn.take():
        others = [threading.Thread(target=compute, args=(str(i),)) for i in range(8)]
        for other in others:
            other.start()
        assert order == [], "nobody computes beside whoever has the turn"
        with turn.give_up():
            for other in others:
                other.join()
        assert turn._mine
    assert most == 1 and sorted(order) == [str(i) for i in range(8)] and not turn._mine


def test_whoever_waited_long_enough_goes_on_beside_the_others():
    turn, done = Turns(patience=0.01), threading.Event()

    def compute() -> None:
        with turn.take(), turn.take():
            done.set()

    with turn.take():
        other = threading.Thread(target=compute)
        other.start()
        other.join()
    assert done.is_set() and turn._holder is None and not turn._waiting, (
        "whose turn was passed on gives back what is his"
    )


def test_who_is_due_first_goes_first_and_who_comes_back_keeps_his_place():
    turn, order = Turns(patience=30), []

    def compute(name: str, after: float) -> None:
        with turn.take(after):
            order.append(name)
            if name == "asked for":
                wait(4)  # who gave his turn up has come back

    def wait(number: int) -> None:
        while len(turn._waiting) < number:
            threading.Event().wait(0.001)

    asked = {"long": 60.0, "short": 0.0, "as short": 0.0, "asked for": -math.inf}
    threads = [threading.Thread(target=compute, args=one) for one in asked.items()]
    with turn.take():
        for number, thread in enumerate(threads, 1):
            thread.start()
            wait(number)
        with turn.give_up():
            pass
        order.append("first")
    for thread in threads:
        thread.join()
    assert order == ["asked for", "first", "short", "as short", "long"]


def test_a_turn_goes_on_when_who_waited_for_it_is_killed(monkeypatch):
    turn = Turns(patience=30)

    def kill(*_: object) -> bool:
        raise KeyboardInterrupt

    def be_killed() -> None:
        with pytest.raises(KeyboardInterrupt), turn.take():
            raise AssertionError("he was killed")

    with turn.take(), monkeypatch.context() as patch:
        patch.setattr(_Place, "wait", kill)
        other = threading.Thread(target=be_killed)
        other.start()
        other.join()
        assert not turn._waiting
    with turn.take():
        assert turn._mine


def test_what_is_known_already_is_answered_without_giving_the_turn_up(monkeypatch):
    given_up = []
    monkeypatch.setattr(
        scheduler,
        "TURNS",
        type("Watched", (Turns,), {"give_up": lambda self: (given_up.append(1), Turns.give_up(self))[1]})(),
    )
    with scheduler.TURNS.take():
        waiting = Scheduler(ByteCache(10_000))
        assert [waiting.ask("six times seven", lambda: 6 * 7), len(given_up)] == [42, 1]
        assert [waiting.ask("six times seven", lambda: 6 * 7), len(given_up)] == [42, 1]
        waiting.close()


# Visitors


@pytest.fixture
def clock(monkeypatch):
    """Seconds that pass where a test says so."""
    now = [100.0]
    monkeypatch.setattr(scheduler.time, "monotonic", lambda: now[0])
    return now


def test_a_page_is_expected_to_take_as_long_as_the_last_one(clock):
    turns = Turns(patience=30)
    durations = [turns.last_duration("a")]
    with turns.drawing_turn("a"), turns.drawing_turn("a"):  # a page, and a part of it
        clock[0] += 0.03
    assert [*durations, turns.last_duration("a")] == pytest.approx([0.0, 0.03])


def test_a_page_that_fails_counts_and_a_duration_has_an_end(clock):
    turns = Turns(patience=30)

    def fail() -> None:
        with turns.drawing_turn("a"):
            clock[0] += 5.0
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert turns.last_duration("a") == Turns.MOST and turns._holder is None


def test_who_draws_again_and_again_pauses_for_others_but_not_alone(clock, monkeypatch):
    turns, pauses = Turns(patience=30), []

    def sleep(seconds: float) -> None:
        pauses.append(round(seconds, 3))
        clock[0] += seconds

    monkeypatch.setattr(scheduler.time, "sleep", sleep)

    def draw(visitor: str, seconds: float) -> None:
        with turns.drawing_turn(visitor):
            clock[0] += seconds

    draw("drags", 0.05)
    draw("drags", 0.05)
    assert pauses == []  # nobody else is there
    draw("other", 0.01)
    draw("drags", 0.03)  # 0.15 after its last drawing, of which 0.01 are over
    draw("drags", 0.5)
    draw("drags", 0.05)  # three times a long drawing: the longest pause
    assert pauses == [0.14, 0.09, Turns.MOST]
    clock[0] += 0.3
    draw("drags", 0.05)
    assert len(pauses) == 3  # it came later than that
    draw("other", 0.0)
    for _ in range(3):  # drawings that are broken off count together
        turns.note_drawing("drags", clock[0] - 0.01, clock[0])
    draw("drags", 0.05)
    assert pauses[3:] == [Turns.MOST]  # three times 0.05 + 3 * 0.01


def test_a_short_page_goes_before_a_long_one_that_came_at_the_same_time():
    turns, order = Turns(patience=30), []
    now = scheduler.time.monotonic()
    turns.note_drawing("long", now - 9, now - 8.9)

    def draw(visitor: str) -> None:
        with turns.drawing_turn(visitor):
            order.append(visitor)

    threads = [threading.Thread(target=draw, args=(visitor,)) for visitor in ("long", "comes")]
    with turns.drawing_turn("other"):
        for number, thread in enumerate(threads, 1):
            thread.start()
            while len(turns._waiting) < number:
                threading.Event().wait(0.001)
    for thread in threads:
        thread.join()
    assert order == ["comes", "long"]


def test_nobody_takes_no_turn_and_only_the_last_visitors_are_remembered():
    turns = Turns()
    with turns.drawing_turn(""):
        assert turns._holder is None
    for number in range(turns.VISITORS + 10):
        with turns.drawing_turn(str(number)):
            pass
    assert len(turns._visitors) == turns.VISITORS
