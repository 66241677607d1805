"""Nothing is left of a visitor who has gone, and garbage is collected between the runs, never inside one."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest
from streamlit import runtime
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.memory_session_storage import MemorySessionStorage
from streamlit.runtime.script_data import ScriptData
from streamlit.runtime.scriptrunner.script_cache import ScriptCache
from streamlit.runtime.websocket_session_manager import WebsocketSessionManager

from viz import limits
from viz.memo import Memo
from viz.platform import housekeeping
from viz.platform.housekeeping import Upkeep

LIFE = 60


class House:
    """Streamlit's own manager of sessions, a clock that is set by hand, and the upkeep of both."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.now, self.patch = 0.0, patch
        storage = MemorySessionStorage(maxsize=3, ttl_seconds=LIFE)
        storage._cache._timer = lambda: self.now  # type: ignore[attr-defined]
        self.manager = WebsocketSessionManager(
            storage, SimpleNamespace(remove_session_files=lambda _: None), ScriptCache(), None
        )  # type: ignore[arg-type]
        self.keeper: Any = None

    def come(self, again: str | None = None) -> AppSession:
        id = self.manager.connect_session(SimpleNamespace(), ScriptData("viz/frame.py", False), {}, again)  # type: ignore[arg-type]
        return self.manager.get_active_session_info(id).session  # type: ignore[union-attr]

    def go(self, session: AppSession) -> None:
        self.manager.disconnect_session(session.id)


@contextmanager
def thresholds_kept() -> Iterator[None]:
    """Leave the collector as it was (tests/conftest.py): the tests behind this one walk no heap of imports."""
    thresholds = gc.get_threshold()
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)
        gc.freeze()


def in_a_house(test: Callable[[House], None]) -> Callable[[pytest.MonkeyPatch], None]:
    """Decorate a test that is given a house, in whose loop it runs."""

    async def inside(monkeypatch: pytest.MonkeyPatch) -> None:
        house = House(monkeypatch)
        monkeypatch.setattr(runtime, "get_instance", lambda: SimpleNamespace(_session_mgr=house.manager))
        house.keeper = Upkeep()
        test(house)

    def run(monkeypatch: pytest.MonkeyPatch) -> None:
        with thresholds_kept():
            asyncio.run(inside(monkeypatch))

    return run


@contextmanager
def collections() -> Iterator[list[int]]:
    """The generations that are collected meanwhile, without the youngest two."""
    found: list[int] = []

    def note(phase: str, info: dict[str, int]) -> None:
        if phase == "stop" and info["generation"] == 2:
            found.append(info["generation"])

    gc.callbacks.append(note)
    try:
        yield found
    finally:
        gc.callbacks.remove(note)


def closed(session: AppSession) -> bool:
    return session._script_event_loop.is_closed()


@in_a_house
def test_a_visitor_who_has_gone_is_let_go_when_his_time_is_over(house: House) -> None:
    stays, goes = house.come(), house.come()
    house.keeper.look()
    house.go(goes)
    house.now = LIFE - 1
    house.keeper.look()
    assert not closed(goes)
    house.now = LIFE + 1
    house.keeper.look()
    assert closed(goes) and not closed(stays)
    assert house.keeper.sessions.present() == [stays]


@in_a_house
def test_who_comes_back_in_time_finds_his_session_as_it_was(house: House) -> None:
    session = house.come()
    house.go(session)
    house.now = LIFE - 1
    assert house.come(again=session.id) is session
    house.now = 3 * LIFE
    house.keeper.look()
    assert not closed(session)


@in_a_house
def test_who_is_pushed_out_by_later_visitors_is_let_go_at_the_next_look(house: House) -> None:
    sessions = [house.come() for _ in range(5)]
    house.keeper.look()
    for session in sessions:
        house.go(session)
    house.keeper.look()
    assert [closed(session) for session in sessions] == [True, True, False, False, False]  # three places


@pytest.fixture
def small_heap(monkeypatch) -> None:
    """A walk through the heap meets only what the test made: it takes a second after some thousand tests."""
    gc.freeze()
    monkeypatch.setattr(gc, "unfreeze", lambda: None)


@pytest.mark.usefixtures("small_heap")
@in_a_house
def test_garbage_waits_until_no_run_is_under_way(house: House) -> None:
    house.patch.setattr(housekeeping, "REST", 3600.0)  # a busy machine takes seconds for a collection
    session = house.come()
    session._scriptrunner = object()  # type: ignore[assignment]
    with collections() as found:
        house.keeper.look()
        assert found == []  # much is being loaded yet
        house.keeper.settle()
        house.keeper.look()
        assert found == []
        session._scriptrunner = None
        house.keeper.look()
        assert found == [2] and gc.get_freeze_count() > 0
        house.keeper._walked = float("-inf")
        house.keeper.look()
        assert found == [2]  # the next one only after a rest


@pytest.mark.slow
@in_a_house
def test_the_interpreter_itself_leaves_the_oldest_generation_alone(house: House) -> None:
    class Ring:
        def __init__(self) -> None:
            self.me = self

    gc.unfreeze()
    gc.set_threshold(700, 10, gc.get_threshold()[2])  # as the interpreter begins
    gc.collect()
    with collections() as found:
        kept = [Ring() for _ in range(200_000)]  # far beyond what made one due before
    assert found == [] and len(kept) == 200_000 and gc.get_count()[2] > housekeeping.GENERATIONS


@pytest.mark.slow
@in_a_house
def test_garbage_is_bounded_and_what_the_last_visitor_left_is_freed_even_if_frozen(house: House) -> None:
    class Left:
        def __init__(self) -> None:
            self.me = self

        def __del__(self) -> None:
            freed.append(1)

    def look_later() -> None:
        house.keeper._last = float("-inf")
        house.keeper.look()

    freed: list[int] = []
    stays, goes, left = house.come(), house.come(), Left()
    house.keeper.settle()
    house.keeper.look()  # freezes what belongs to the visitor, too
    del left
    house.go(goes)
    house.now = LIFE + 1
    look_later()
    assert freed == []  # others are here: within a minute
    house.keeper._walked -= housekeeping.OFTEN
    look_later()
    assert freed == [1]
    left = Left()
    house.keeper._walked -= housekeeping.SELDOM
    look_later()
    del left
    house.go(stays)
    house.now = 2 * LIFE + 2
    look_later()
    assert freed == [1, 1]  # nobody is here: at once
    Left()
    for _ in range(2 * housekeeping.GENERATIONS):
        gc.collect(1)
    look_later()
    assert freed == [1, 1, 1]


@pytest.mark.slow
@in_a_house
def test_the_whole_heap_is_walked_when_it_is_quiet_and_in_a_class_that_works_after_minutes(
    house: House,
) -> None:
    before = housekeeping.time.monotonic()

    def walks(back: float) -> bool:
        house.keeper._walked, house.keeper._last = before - back, float("-inf")
        house.keeper.look()
        return house.keeper._walked > before

    works, goes = house.come(), house.come()
    house.keeper.settle()
    house.go(goes)
    house.now = LIFE + 1
    works._scriptrunner = SimpleNamespace(request_stop=lambda: None)
    house.keeper.look()
    assert not walks(housekeeping.SELDOM + 1)  # a run is under way
    works._scriptrunner = None
    assert not walks(housekeeping.OFTEN + 1)  # one was a moment ago
    assert walks(housekeeping.SELDOM + 1)
    house.keeper._departed = housekeeping.MANY - 1
    house.keeper._ran -= housekeeping.QUIET
    assert walks(housekeeping.OFTEN + 1)
    house.keeper._departed = housekeeping.MANY - 1
    assert not walks(1.0)
    house.keeper._departed = housekeeping.MANY
    assert walks(1.0)


@pytest.mark.usefixtures("small_heap")
def test_without_streamlits_list_of_sessions_the_server_runs_and_says_so(monkeypatch) -> None:
    monkeypatch.setattr(runtime, "get_instance", lambda: SimpleNamespace(_session_mgr=SimpleNamespace()))
    with thresholds_kept():
        keeper = Upkeep()
        assert "cannot be read" in keeper.sessions.problem
        keeper.settle()
        with collections() as found:
            keeper.look()
        assert found == [2] and keeper.sessions.present() == []


@pytest.mark.slow
@in_a_house
def test_near_the_cap_of_memory_what_can_be_made_again_is_released_even_while_pages_are_computed(
    house: House,
) -> None:
    forgot: list[str] = []
    memo, kept = Memo(), Memo()
    house.patch.setattr(
        housekeeping.core.serving.engine,
        "default",
        lambda: SimpleNamespace(
            forget=lambda: forgot.append("results"), close_unused=lambda: forgot.append("models")
        ),
    )
    house.patch.setattr(housekeeping.memo, "remembered", memo)
    house.patch.setattr(housekeeping, "REST", 3600.0)
    memo(kept, "facts", lambda: "of a closed model")
    house.keeper.settle()
    house.keeper.look()
    assert forgot == []
    session = house.come()
    session._scriptrunner = object()  # type: ignore[assignment]
    house.patch.setenv(limits.VARIABLE, "100M")
    for megabytes, released in ((75, 0), (85, 1), (89, 1), (81, 1), (87, 2), (91, 2), (93, 3)):
        house.patch.setattr(limits, "memory_in_use", lambda megabytes=megabytes: megabytes * 2**20)
        memo(kept, "chart", lambda: bytes(2**20))
        house.keeper.look()
        assert forgot == ["results", "models"] * released, "above 80 of 100, and again where 5 more came"
    assert memo(kept, "chart", lambda: b"") == b""
    assert memo(kept, "facts", lambda: "made again") == "of a closed model", (
        "small ones cost more to make than to keep"
    )
