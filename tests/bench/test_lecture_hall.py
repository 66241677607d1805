"""A hundred who follow a lecture: when what the lecturer does is on their page, whether every answer counts once, what is left after.

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
from contextlib import ExitStack
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
    """One who follows: his seat, and when each topic came last, by its number."""

    def __init__(self, url: str, code: str) -> None:
        at = urlsplit(url)
        self.host, self.port, self.code = at.hostname, at.port, code
        self.seat, self.asked = "", ""
        self.heard: list[tuple[float, str, Any]] = []

    async def post(self, what: str, told: dict[str, Any]) -> str:
        """Send; the head of what comes back."""
        reader, writer = await asyncio.open_connection(self.host, self.port)
        body = json.dumps(told).encode()
        writer.write(
            f"POST /room/{self.code}/{what} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nCookie: {self.seat}\r\n"
            f"Content-Length: {len(body)}\r\n\r\n".encode()
            + body
        )
        head = (await reader.read()).decode()
        writer.close()
        assert head.startswith("HTTP/1.1 200"), head[:300]
        return head

    async def follow(self, lag: float) -> None:
        """Join after `lag` seconds and listen until it is over."""
        await asyncio.sleep(lag)
        head = await self.post("join", {})
        self.seat = head[head.lower().index("atlas_seat") :].split(";")[0]
        reader, writer = await asyncio.open_connection(self.host, self.port, limit=2**24)
        writer.write(
            f"GET /room/{self.code}/events HTTP/1.1\r\nHost: x\r\nCookie: {self.seat}\r\n\r\n".encode()
        )
        topic = ""
        while line := await reader.readline():
            if line.startswith(b"event: "):
                topic = line[7:].strip().decode()
            elif line.startswith(b"data: "):
                told = json.loads(line[6:])
                self.heard.append((time.perf_counter(), topic, told))
                if topic == "ask":
                    self.asked = told.get("id", "")
                if topic == "end":
                    break
        writer.close()

    def when(self, since: float, topic: str) -> float:
        """Seconds from `since` to the first such topic after it; infinite if it did not come."""
        return next((at - since for at, name, _ in self.heard if name == topic and at >= since), float("inf"))


def test_a_hundred_follow(tmp_path):
    from playwright.sync_api import sync_playwright

    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True).start()
    with started_app(tmp_path) as server, ExitStack() as stack:
        asyncio.run(rehearse(server.url))
        play = stack.enter_context(sync_playwright())
        browser = play.chromium.launch(executable_path=CHROMIUM, args=CHROMIUM_FLAGS)
        page = browser.new_page()
        page.goto(f"{server.url}/lecture_room")
        page.get_by_role("button", name="Open a room").click()
        page.locator(".room-bar[data-live]").wait_for()
        code = page.locator(".room-bar b").inner_text().replace(" ", "")
        page.goto(server.url)
        page.locator(".word").first.wait_for()
        page.locator(".room-bar[data-live]").wait_for()
        time.sleep(5)
        before = read(server.process.pid)
        rng = random.Random(0)
        phones = [Phone(server.url, code) for _ in range(SIZE)]
        following = [
            asyncio.run_coroutine_threadsafe(phone.follow(rng.uniform(0, 5)), loop) for phone in phones
        ]
        deadline = time.monotonic() + 60
        while sum(bool(phone.heard) for phone in phones) < SIZE and time.monotonic() < deadline:
            time.sleep(0.2)
        assert [one.exception() for one in following if one.done()] == []
        page.locator(".room-bar", has_text=f"{SIZE} joined").wait_for(timeout=20_000)
        idle = read(server.process.pid).cpu
        time.sleep(5)
        idle = (read(server.process.pid).cpu - idle) / 5

        waits: dict[str, list[float]] = {"touch": [], "view": [], "picture": []}
        words = page.locator(".word")
        for n in range(8):
            page.mouse.move(2, 2)
            time.sleep(0.4)
            begun = time.perf_counter()
            words.nth(n % words.count()).hover()
            time.sleep(1.0)
            waits["touch"] += [phone.when(begun, "touch") for phone in phones]
        sentences = (
            "He has a red house.",
            "The man was hungry.",
            "She found a little cat.",
            "We have no bread.",
        )
        box = page.get_by_role("textbox").first
        for sentence in sentences:
            box.fill(sentence)
            begun = time.perf_counter()
            box.press("Enter")
            time.sleep(2.5)
            for topic in ("view", "picture"):
                waits[topic] += [phone.when(begun, topic) for phone in phones]
        assert all(
            any(told.get("sentence") == sentences[-1] for _, name, told in phone.heard if name == "view")
            for phone in phones
        )

        page.goto(f"{server.url}/scaling")
        page.get_by_text("Predict, then look.").wait_for()
        page.locator(".room-bar [data-part=reveal]:visible").wait_for()
        time.sleep(1)

        async def answers() -> None:
            async def one(phone: Phone) -> None:
                await asyncio.sleep(rng.uniform(0, 5))
                for choice in (0, rng.randrange(3)):
                    await phone.post("answer", {"question": phone.asked, "answer": choice})

            await asyncio.gather(*(one(phone) for phone in phones))

        asyncio.run_coroutine_threadsafe(answers(), loop).result(60)
        page.get_by_text(f"{SIZE} answered").wait_for(timeout=10_000)
        page.locator(".room-bar [data-part=reveal]").click()
        time.sleep(3)
        told = [next(told for _, name, told in reversed(phone.heard) if name == "ask") for phone in phones]
        assert all(one["revealed"] and sum(one["counts"]) == one["answered"] == SIZE for one in told)

        page.goto(f"{server.url}/lecture_room")
        page.get_by_role("button", name="End the room").click()
        page.get_by_role("button", name="Open a room").wait_for()
        time.sleep(2)
        assert all(phone.heard[-1][1] == "end" for phone in phones)
        page.close()
        time.sleep(70)  # until the sessions are let go and the heap is walked
        after = read(server.process.pid)
        browser.close()
    loop.call_soon_threadsafe(loop.stop)
    print(f"\n{SIZE} follow; idle they take {100 * idle:.1f} % of a core")
    for topic, found in waits.items():
        print(
            f"{topic}: p50 {1000 * percentile(found, 0.5):.0f} ms, p95 {1000 * percentile(found, 0.95):.0f} ms"
        )
    print(f"memory {before.rss:.0f} MB before, {after.rss:.0f} MB after; files {before.files}, {after.files}")
    assert percentile(waits["touch"], 0.95) <= 0.3
    assert after.files <= before.files + 5
