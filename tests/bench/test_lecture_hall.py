"""A hundred who follow a lecture: when what the lecturer does is on their page, whether every answer counts once, what is left after;
then the same on two copies of the app that share the room, of which one is killed.

`pytest -m bench -s tests/bench/test_lecture_hall.py`, on an idle machine of two cores. HALL_SIZE=20 takes fewer. The lecturer is a
browser; those who follow are raw connections, as many as phones, in a process of their own thread, so that what is measured is the server
with the wire: what a phone then takes to draw is its own.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.app_server import started_app
from tests.bench.machine import read
from tests.bench.visitors import percentile, rehearse
from tests.chromium import CHROMIUM, CHROMIUM_FLAGS

pytestmark = pytest.mark.bench
SIZE = int(os.environ.get("HALL_SIZE", "100"))


class Phone:
    """One who follows: his seat, and when each topic came last, by its number. Where his server dies he goes to the next one."""

    def __init__(self, urls: Sequence[str], code: str) -> None:
        self.homes = [(at.hostname, at.port) for at in map(urlsplit, urls)]
        self.code, self.seat, self.asked, self.last, self.moved = code, "", "", "", 0
        self.heard: list[tuple[float, str, Any]] = []

    async def post(self, what: str, told: dict[str, Any]) -> str:
        """Send, to the next server where one is gone; the head of what comes back."""
        body = json.dumps(told).encode()
        for home in self.homes * 2:
            try:
                reader, writer = await asyncio.open_connection(*home)
                writer.write(
                    f"POST /room/{self.code}/{what} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nCookie: {self.seat}\r\n"
                    f"Content-Length: {len(body)}\r\n\r\n".encode()
                    + body
                )
                head = (await reader.read()).decode()
                writer.close()
            except OSError:
                continue
            if head:
                assert head.startswith("HTTP/1.1 200"), head[:300]
                return head
        raise AssertionError("no server answers")

    async def follow(self, lag: float) -> None:
        """Join after `lag` seconds and listen until it is over."""
        await asyncio.sleep(lag)
        head = await self.post("join", {})
        self.seat = head[head.lower().index("atlas_seat") :].split(";")[0]
        while not await self._listen():
            self.moved += 1
            self.homes.append(self.homes.pop(0))
            await asyncio.sleep(1)  # as the stream says to a browser

    async def _listen(self) -> bool:
        try:
            reader, writer = await asyncio.open_connection(*self.homes[0], limit=2**24)
            writer.write(
                f"GET /room/{self.code}/events HTTP/1.1\r\nHost: x\r\nCookie: {self.seat}\r\nLast-Event-ID: {self.last}\r\n\r\n".encode()
            )
            topic = ""
            while line := await reader.readline():
                now = time.perf_counter()
                if line.startswith(b"id: "):
                    self.last = line[4:].strip().decode()
                elif line.startswith(b"event: "):
                    topic = line[7:].strip().decode()
                elif line.startswith(b"data: "):
                    told = json.loads(line[6:])
                    self.heard.append((now, topic, told))
                    if topic == "ask":
                        self.asked = told.get("id", "")
                    if topic == "end":
                        writer.close()
                        return True
        except OSError:
            pass
        return False

    def when(self, since: float, topic: str) -> float:
        """Seconds from `since` to the first such topic after it; infinite if it did not come."""
        return next((at - since for at, name, _ in self.heard if name == topic and at >= since), float("inf"))


class Hall:
    """A lecturer with a room, in a browser, and those who follow on one server or several."""

    def __init__(self, stack: ExitStack, urls: Sequence[str]) -> None:
        from playwright.sync_api import sync_playwright

        self.url, self.loop = urls[0], asyncio.new_event_loop()
        threading.Thread(target=self.loop.run_forever, daemon=True).start()
        stack.callback(self.loop.call_soon_threadsafe, self.loop.stop)
        for url in urls:
            asyncio.run(rehearse(url))
        play = stack.enter_context(sync_playwright())
        browser = play.chromium.launch(executable_path=CHROMIUM, args=CHROMIUM_FLAGS)
        stack.callback(browser.close)
        self.page = page = browser.new_page()
        page.goto(f"{self.url}/lecture_room")
        page.get_by_role("button", name="Open a room").click()
        page.locator(".room-bar[data-live]").wait_for()
        code = page.locator(".room-bar b").inner_text().replace(" ", "")
        page.goto(self.url)
        page.locator(".word").first.wait_for()
        page.locator(".room-bar[data-live]").wait_for()
        self.rng = random.Random(0)
        self.phones = [Phone([*urls[n % len(urls) :], *urls[: n % len(urls)]], code) for n in range(SIZE)]

    def come(self) -> None:
        """All join within five seconds."""
        self.following = [  # whoever is held by nobody is collected
            asyncio.run_coroutine_threadsafe(phone.follow(self.rng.uniform(0, 5)), self.loop)
            for phone in self.phones
        ]
        deadline = time.monotonic() + 60
        while sum(bool(phone.heard) for phone in self.phones) < SIZE and time.monotonic() < deadline:
            time.sleep(0.2)
        assert [one.exception() for one in self.following if one.done()] == []
        self.page.locator(".room-bar", has_text=f"{SIZE} joined").wait_for(timeout=20_000)

    def touches(self) -> list[float]:
        """Seconds until a touched word is everywhere."""
        words, waits = self.page.locator(".word"), []
        for n in range(8):
            self.page.mouse.move(2, 2)
            time.sleep(0.4)
            begun = time.perf_counter()
            words.nth(n % words.count()).hover()
            time.sleep(1.0)
            waits += [phone.when(begun, "touch") for phone in self.phones]
        return waits

    def types(self, sentences: Sequence[str]) -> tuple[list[float], list[float]]:
        """Seconds from Enter until a typed sentence's picture is on the lecturer's page, and on everybody's."""
        box, own, waits = self.page.get_by_role("textbox").first, [], []
        for sentence in sentences:
            box.fill(sentence)
            begun = time.perf_counter()
            box.press("Enter")
            self.page.locator(".word", has_text=sentence.split()[-1].rstrip(".")).first.wait_for()
            own.append(time.perf_counter() - begun)
            time.sleep(2.5)
            waits += [phone.when(begun, "picture") for phone in self.phones]
        assert all(
            any(told.get("sentence") == sentences[-1] for _, name, told in phone.heard if name == "view")
            for phone in self.phones
        )
        return own, waits

    def asks(self) -> None:
        """A question of the course is open."""
        self.page.goto(f"{self.url}/scaling")
        self.page.get_by_text("Predict, then look.").wait_for()
        self.page.locator(".room-bar [data-part=reveal]:visible").wait_for()
        time.sleep(1)

    def answer(self) -> Any:
        """All answer within five seconds, and change their answer; what waits for them."""

        async def one(phone: Phone) -> None:
            await asyncio.sleep(self.rng.uniform(0, 5))
            for choice in (0, self.rng.randrange(3)):
                await phone.post("answer", {"question": phone.asked, "answer": choice})

        async def everybody() -> None:
            await asyncio.gather(*map(one, self.phones))

        return asyncio.run_coroutine_threadsafe(everybody(), self.loop)

    def reveal(self) -> None:
        """The answers are shown to all, each counted once."""
        self.page.get_by_text(f"{SIZE} answered").wait_for(timeout=20_000)
        self.page.locator(".room-bar [data-part=reveal]").click()
        time.sleep(3)
        told = [next(told for _, name, told in reversed(one.heard) if name == "ask") for one in self.phones]
        assert all(one["revealed"] and sum(one["counts"]) == one["answered"] == SIZE for one in told)

    def end(self) -> None:
        """The lecture is over, and everybody hears it."""
        self.page.goto(f"{self.url}/lecture_room")
        self.page.get_by_role("button", name="End the room").click()
        self.page.get_by_role("button", name="Open a room").wait_for()
        time.sleep(2)
        assert all(phone.heard[-1][1] == "end" for phone in self.phones)
        assert [one.exception() for one in self.following] == [None] * SIZE
        self.page.close()


SENTENCES = ("He has a red house.", "The man was hungry.", "She found a little cat.", "We have no bread.")


def said(name: str, found: Sequence[float]) -> str:
    return f"{name}: p50 {1000 * percentile(found, 0.5):.0f} ms, p95 {1000 * percentile(found, 0.95):.0f} ms"


def test_a_hundred_follow(tmp_path):
    with started_app(tmp_path) as server, ExitStack() as stack:
        hall = Hall(stack, [server.url])
        time.sleep(5)
        before = read(server.process.pid)
        hall.come()
        idle = read(server.process.pid).cpu
        time.sleep(5)
        idle = (read(server.process.pid).cpu - idle) / 5
        touches = hall.touches()
        own, pictures = hall.types(SENTENCES)
        hall.asks()
        hall.answer().result(60)
        hall.reveal()
        hall.end()
        time.sleep(70)  # until the sessions are let go and the heap is walked
        after = read(server.process.pid)
    print(f"\n{SIZE} follow; idle they take {100 * idle:.1f}% of a core")
    print(said("a touch", touches), said("a typed sentence", pictures), sep="\n")
    print(said("the same on the lecturer's own page", own))
    print(f"memory {before.rss:.0f} MB before, {after.rss:.0f} MB after; files {before.files}, {after.files}")
    assert percentile(touches, 0.95) <= 0.3
    assert after.files <= before.files + 5


def test_two_copies_share_a_room_and_one_is_killed(tmp_path, redis_server):
    with ExitStack() as stack:
        copies = [
            stack.enter_context(started_app(_folder(tmp_path, name), ATLAS_ROOMS=redis_server.url))
            for name in ("first", "second")
        ]
        hall = Hall(stack, [copy.url for copy in copies])
        hall.come()
        touches = hall.touches()
        own, pictures = hall.types(SENTENCES[:2])
        hall.asks()
        answering = hall.answer()
        time.sleep(2)
        copies[1].process.kill()
        killed = time.perf_counter()
        answering.result(60)
        hall.reveal()
        back = [phone for phone in hall.phones if phone.moved]
        assert len(back) == SIZE // 2 and all(phone.heard[-1][0] > killed for phone in back)
        hall.page.goto(hall.url)
        hall.page.locator(".word").first.wait_for()
        pictures += hall.types(SENTENCES[2:])[1]
        hall.end()
    print(f"\n{SIZE} follow at two copies; {len(back)} went to the other when theirs was killed")
    print(said("a touch", touches), said("a typed sentence", pictures), sep="\n")
    print(said("the same on the lecturer's own page", own))
    assert percentile(touches, 0.95) <= 0.3


def _folder(place: Path, name: str) -> Path:
    (place / name).mkdir()
    return place / name
