"""A tab that is closed in the middle of a decoding leaves nothing running, and the engine serves the next visitor."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from small_app import ROOT, served

STEPS = 120
PATIENCE = 60.0
APP = f"""
import runpy, time
import core.serving.engine
from core.serving.scheduler import Scheduler
from streamlit.runtime.websocket_session_manager import WebsocketSessionManager

def note(word):
    with open("work.txt", "a") as out:
        out.write(word + "\\n")

if not hasattr(core.serving.engine, "noted"):
    leave = WebsocketSessionManager.disconnect_session

    def left(sessions, visitor):
        leave(sessions, visitor)
        note("left")

    WebsocketSessionManager.disconnect_session = left
    core.serving.engine.noted, value = True, Scheduler._value

    def slow(gate, key, fn):
        def work():
            if key[0] == "value" and key[1][0] == "decode.step":
                note(f"step {{key[1][2]}}")
                time.sleep(0.1)
            return fn()
        return value(gate, key, work)

    Scheduler._value = slow
note("begin")
try:
    runpy.run_path({str(ROOT / "viz" / "frame.py")!r})
finally:
    note("end")
"""


class Server:
    """The app with an engine that takes its time and notes each step that it computes, each run of a page, each end of one."""

    def __init__(self, address: str, work: Path) -> None:
        self.address, self.work = address, work

    def lines(self, word: str) -> list[str]:
        found = self.work.read_text().splitlines() if self.work.exists() else []
        return [line for line in found if line.startswith(word)]

    @property
    def steps(self) -> int:
        return len(self.lines("step"))

    def idle(self) -> bool:
        """No script of any visitor runs."""
        return len(self.lines("begin")) == len(self.lines("end"))


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    folder = tmp_path_factory.mktemp("slow")
    with served(APP, folder) as address:
        yield address, folder / "work.txt"


@pytest.fixture
def server(address: tuple[str, Path]) -> Server:
    """Its notes are of this test alone."""
    address[1].unlink(missing_ok=True)
    return Server(*address)


def until(fact: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not fact():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.05)


def stays(server: Server) -> int:
    """How many steps were computed when the visitor had left and his last script had ended; nothing is computed after it."""
    until(lambda: server.lines("left") and server.idle())
    computed = server.steps
    for _ in range(30):  # as long as thirty steps take
        time.sleep(0.1)
        assert server.steps <= computed + 1 and server.idle(), "the step that was under way may end"
    return server.steps


def visit(browser: Any, server: Server, query: str) -> Any:
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.goto(f"{server.address}/decode?{query}", timeout=PATIENCE * 1000)
    return context, page


@pytest.mark.slow
def test_a_tab_closed_in_the_middle_of_a_long_decoding_leaves_nothing_running(
    chromium: Any, server: Server
) -> None:
    context, _ = visit(chromium, server, f"decode.n={STEPS}")
    until(lambda: server.steps >= 5)
    context.close()
    computed = stays(server)
    assert 5 <= computed < STEPS - 30

    context, page = visit(
        chromium, server, f"decode.n={computed + 2}"
    )  # the engine serves the next one, and what was computed is not computed again
    page.wait_for_selector(
        f'.atlas.timeline[data-steps="{computed + 2}"]', state="attached", timeout=PATIENCE * 1000
    )
    assert computed + 2 <= server.steps <= computed + 4
    assert len(set(server.lines("step"))) >= server.steps - 1
    context.close()
    until(lambda: len(server.lines("left")) == 2 and server.idle())


@pytest.mark.slow
def test_a_tab_closed_while_it_plays_leaves_nothing_running(chromium: Any, server: Server) -> None:
    context, page = visit(chromium, server, "text=The+king&decode.speed=8")
    page.wait_for_selector('.atlas.timeline[data-steps="1"]', state="attached", timeout=PATIENCE * 1000)
    page.get_by_role("button", name="Play").click()
    until(lambda: server.steps >= 5)
    context.close()
    assert 5 <= stays(server) < STEPS
