"""Who computes takes his turn; who waits gives it up; nobody waits for ever."""

from __future__ import annotations

import threading

from core.serving import executor
from core.serving.cache import ByteCache
from core.serving.turn import Turn


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
    assert done.is_set() and turn._lock.acquire(blocking=False), "what was not taken is not given back"


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
