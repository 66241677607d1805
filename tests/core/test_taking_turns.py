"""Who computes takes his turn; who waits gives it up; nobody waits for ever."""

from __future__ import annotations

import math
import threading

import pytest

from core.serving import executor
from core.serving.cache import ByteCache
from core.serving.turn import Turn, _Place


def test_one_at_a_time_and_given_up_while_something_else_is_waited_for():
    turn, inside, most, order = Turn(patience=30), 0, 0, []
    lock = threading.Lock()

    def compute(name: str) -> None:
        nonlocal inside, most
        with turn.taken():
            with lock:
                inside += 1
                most = max(most, inside)
            order.append(name)
            with lock:
                inside -= 1

    with turn.taken():
        others = [threading.Thread(target=compute, args=(str(i),)) for i in range(8)]
        for other in others:
            other.start()
        assert order == [], "nobody computes beside whoever has the turn"
        with turn.given_up():
            for other in others:
                other.join()
        assert turn._mine
    assert most == 1 and sorted(order) == [str(i) for i in range(8)] and not turn._mine


def test_whoever_waited_long_enough_goes_on_beside_the_others():
    turn, done = Turn(patience=0.01), threading.Event()

    def compute() -> None:
        with turn.taken(), turn.taken():
            done.set()

    with turn.taken():
        other = threading.Thread(target=compute)
        other.start()
        other.join()
    assert done.is_set() and turn._holder is None and not turn._waiting, (
        "whose turn was passed on gives back what is his"
    )


def test_who_is_due_first_goes_first_and_who_comes_back_keeps_his_place():
    turn, order = Turn(patience=30), []

    def compute(name: str, after: float) -> None:
        with turn.taken(after):
            order.append(name)
            if name == "asked for":
                wait(4)  # who gave his turn up has come back

    def wait(number: int) -> None:
        while len(turn._waiting) < number:
            threading.Event().wait(0.001)

    asked = {"long": 60.0, "short": 0.0, "as short": 0.0, "asked for": -math.inf}
    threads = [threading.Thread(target=compute, args=one) for one in asked.items()]
    with turn.taken():
        for number, thread in enumerate(threads, 1):
            thread.start()
            wait(number)
        with turn.given_up():
            pass
        order.append("first")
    for thread in threads:
        thread.join()
    assert order == ["asked for", "first", "short", "as short", "long"]


def test_a_turn_goes_on_when_who_waited_for_it_is_killed(monkeypatch):
    turn = Turn(patience=30)

    def kill(*_: object) -> bool:
        raise KeyboardInterrupt

    def be_killed() -> None:
        with pytest.raises(KeyboardInterrupt), turn.taken():
            raise AssertionError("he was killed")

    with turn.taken(), monkeypatch.context() as patch:
        patch.setattr(_Place, "wait", kill)
        other = threading.Thread(target=be_killed)
        other.start()
        other.join()
        assert not turn._waiting
    with turn.taken():
        assert turn._mine


def test_what_is_known_already_is_answered_without_giving_the_turn_up(monkeypatch):
    given_up = []
    monkeypatch.setattr(
        executor,
        "turn",
        type("Watched", (Turn,), {"given_up": lambda self: (given_up.append(1), Turn.given_up(self))[1]})(),
    )
    with executor.turn.taken():
        waiting = executor.Gate(ByteCache(10_000))
        assert [waiting.ask("six times seven", lambda: 6 * 7), len(given_up)] == [42, 1]
        assert [waiting.ask("six times seven", lambda: 6 * 7), len(given_up)] == [42, 1]
        waiting.close()
