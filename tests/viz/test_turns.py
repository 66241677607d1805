"""Who asks again and again lets the others go first; who is alone, or comes now and then, never waits."""

from __future__ import annotations

import pytest

from viz.platform import run_context, turns


class Clock:
    """Time that passes by sleeping and by running, 0.03 s a run."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.now, self.slept, self.drew, self.visitor = 100.0, [], [], ""
        patch.setattr(turns.time, "perf_counter", lambda: self.now)
        patch.setattr(turns.time, "sleep", self.sleep)
        patch.setattr(run_context, "session", lambda: self.visitor)
        patch.setattr(turns, "PACE", turns.Pace())

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds

    def draw(self, data: str) -> None:
        self.drew.append(data)
        self.now += 0.03

    def ask(self, visitor: str, data: str = "") -> None:
        self.visitor = visitor
        with turns.take_turn(), turns.take_turn():  # a page, and a part of it
            self.draw(data)


@pytest.fixture
def clock(monkeypatch):
    return Clock(monkeypatch)


def test_one_who_drags_alone_is_drawn_at_once(clock):
    for value in range(20):
        clock.ask("one", str(value))
    assert clock.slept == [] and len(clock.drew) == 20


def test_beside_others_he_takes_a_quarter_of_the_time(clock):
    clock.ask("other")
    for _ in range(10):
        clock.ask("one")
    assert clock.slept == pytest.approx([0.09] * 9)
    before = len(clock.slept)
    clock.ask("other")
    assert len(clock.slept) == before  # who has not asked for a while goes at once


def test_the_respite_has_an_end_and_a_failed_run_counts(clock, monkeypatch):
    def fails(data: str) -> None:
        clock.now += 5.0
        raise RuntimeError(data)

    clock.ask("other")
    monkeypatch.setattr(clock, "draw", fails)
    with pytest.raises(RuntimeError):
        clock.ask("one", "no")
    monkeypatch.setattr(clock, "draw", clock.drew.append)
    clock.ask("other")
    clock.ask("one")
    assert clock.slept == [pytest.approx(turns.Pace.MOST)]


def test_outside_a_run_of_a_page_there_are_no_turns(clock):
    for _ in range(9):
        clock.ask("")
    assert clock.slept == [] and not turns.PACE._last


def test_of_many_visitors_only_the_last_ones_are_known():
    pace = turns.Pace()
    for number in range(3 * pace.KNOWN):
        pace.ran(str(number), number, number + 0.01)
    assert len(pace._last) == pace.KNOWN
