"""A hundred students at once: what each waits for, what the server takes, and the same class under Streamlit's own settings.

`pytest -m bench -s tests/bench/test_class.py`, on an idle machine of two cores; a quarter of an hour. CLASS_SIZE=0.1 makes
every class and its time ten times smaller, to see that it runs.
"""

from __future__ import annotations

import asyncio
import os
import random
import time
import urllib.request
from collections.abc import Iterable
from itertools import cycle, repeat, takewhile

import pytest

from tests.app_server import started_app
from tests.bench.machine import read, slowness
from tests.bench.visitors import MODEL, Figures, Lesson, common, percentile, rehearse, sentence
from tests.bench.wire import Answer, Visit

pytestmark = pytest.mark.bench
SIZE = float(os.environ.get("CLASS_SIZE", "1"))
OLD = ("--runner.postScriptGC", "true", "--server.fileWatcherType", "auto")
"""What Streamlit does unless it is told otherwise: all garbage collected after every run, every module watched."""
PLACE = b"Others are computing: "
"""How the page says that a request waits in the row."""


def people(number: int) -> int:
    return max(2, round(SIZE * number))


def test_a_lesson(tmp_path):
    """A hundred visitors for five minutes on seven pages; others join meanwhile. In the machine's own time, see `slowness`."""
    with started_app(tmp_path) as server:
        asyncio.run(rehearse(server.url))
        slow = slowness()
        lesson = Lesson(server.url, people(100), SIZE * 300).slowed(slow)
        figures = asyncio.run(lesson.held(server.process.pid))
    print(
        f"\n{people(100)} visitors, a lesson; the machine is {slow:.2f} times slower than that of the bars before it, {slowness():.2f} times after\n{figures.table()}\n{figures.line()}"
    )
    assert not figures.wrong and not figures.lost
    assert (
        percentile(figures.actions, 0.5) <= 40 * slow
        and percentile(figures.actions, 0.95) <= 150 * slow
        and percentile(figures.actions, 0.99) <= 500 * slow
    )
    assert percentile(figures.wave, 0.95) <= 150 * slow and percentile(figures.later, 0.95) <= 150 * slow
    assert figures.server is not None and figures.server[1].rss <= 1200


def test_what_a_visitor_costs_who_only_sits_there(tmp_path):
    """Megabytes of a visit that was drawn and is left alone."""
    with started_app(tmp_path) as server:
        asyncio.run(rehearse(server.url))
        cost = asyncio.run(_sitting(server.url, server.process.pid, people(100)))
    print(f"\na visitor who only sits there: {cost:.2f} MB (at most 1)")
    assert cost <= 1


async def _sitting(url: str, pid: int, number: int) -> float:
    link = ("", {"model": MODEL, "text": common(0)})
    early = [await _come(url, link) for _ in range(10)]  # threads and pools grow with the first ones
    before = read(pid).rss
    late = [await _come(url, link) for _ in range(number)]
    cost = (read(pid).rss - before) / number
    for visit in early + late:
        await visit.close()
    return cost


async def _come(url: str, link: tuple[str, dict[str, str]], **options) -> Visit:
    visit = await Visit.opened(url, **options)
    await visit.ask(*link)
    return visit


def test_one_button_pressed_by_all(tmp_path):
    """Fifty visitors follow one link to a new sentence within a second: it is computed once. Then each brings an own one, then a long one."""
    with started_app(tmp_path, command=("streamlit", "run", "tests/bench/counted.py")) as server:
        asyncio.run(rehearse(server.url))
        slow = slowness()
        same, computed, own, long = asyncio.run(_pressed(server.url, people(50)))
    last, took, told = (
        max(answer.milliseconds for answer in same),
        _last(own),
        [answer.heard[PLACE] for answer in long if PLACE in answer.heard],
    )
    print(
        f"\nthe machine is {slow:.2f} times slower than that of the bars"
        f"\n{len(same)} press the same button within a second: {computed} forward, p50 {percentile([answer.milliseconds for answer in same], 0.5):.0f}, the last {last:.0f} ms (at most {1500 * slow:.0f})"
        f"\n{len(own)} bring sentences of their own: the last answer {took:.2f} s after the first press (at most {3 * slow:.1f})"
        f"\n{len(long)} bring long ones: the last answer after {_last(long):.1f} s; {len(told)} were told their place, the first after {min(told, default=0):.0f} ms"
    )
    assert not [answer.wrong for answer in same + own + long if answer.wrong]
    assert computed == 1 and last <= 1500 * slow and took <= 3 * slow
    assert 500 <= min(told) <= 1000


async def _pressed(url: str, number: int) -> tuple[list[Answer], int, list[Answer], list[Answer]]:
    rng = random.Random(0)
    visits = [
        await _come(url, ("", {"model": MODEL, "text": common(0)}), listens=(PLACE,)) for _ in range(number)
    ]

    async def press(texts: Iterable[str]) -> list[Answer]:
        async def one(visit: Visit, text: str) -> Answer:
            await asyncio.sleep(rng.random())
            return await visit.ask("", {"model": MODEL, "text": text})

        return await asyncio.gather(*map(one, visits, texts))

    before = await _forwards(url)
    same = await press(repeat(sentence(rng), number))
    computed = await _forwards(url) - before
    own = await press([sentence(rng) for _ in visits])
    long = await press([sentence(rng, 300) for _ in visits[:20]])
    for visit in visits:
        await visit.close()
    return same, computed, own, long


def _last(answers: list[Answer]) -> float:
    """Seconds from the first press to the last answer."""
    return max(answer.begun + answer.milliseconds / 1e3 for answer in answers) - min(
        answer.begun for answer in answers
    )


async def _forwards(url: str) -> int:
    with await asyncio.to_thread(urllib.request.urlopen, f"{url}/forwards", timeout=10) as told:
        return int(told.read())


def test_one_who_drags(tmp_path):
    """A visitor drags Decode's temperature, twenty values a second of the machine's own time, while thirty others have their lesson."""
    with started_app(tmp_path) as server:
        asyncio.run(rehearse(server.url))
        slow = slowness()
        calm, beside, last = asyncio.run(_dragged(server.url, people(30), max(10.0, SIZE * 90), slow))
    print(
        f"\nthe machine is {slow:.2f} times slower than that of the bars"
        f"\n{people(30)} visitors, nobody drags\n{calm.table()}\none drags, the last value after {1e3 * last:.0f} ms (at most {300 * slow:.0f})\n{beside.table()}"
    )
    assert not calm.wrong + calm.lost + beside.wrong + beside.lost
    assert percentile(beside.actions, 0.95) <= 2 * percentile(calm.actions, 0.95)
    assert last <= 0.3 * slow


async def _dragged(url: str, number: int, seconds: float, slow: float) -> tuple[Figures, Figures, float]:
    """Hold two lessons of so many seconds, the second beside a visitor who drags; everybody acts `slow` times more slowly."""
    calm, beside = (Lesson(url, number, seconds / slow, join=5.0, seed=seed).slowed(slow) for seed in (0, 1))
    return await calm.held(), *await asyncio.gather(beside.held(), _drag(url, seconds + 5, 0.05 * slow))


async def _drag(url: str, seconds: float, pause: float) -> float:
    """Return the seconds from the last of the values to its answer; a value is sent at each `pause`."""
    values, end, released = (
        {"model": MODEL, "text": "Once upon a time"},
        time.perf_counter() + seconds,
        asyncio.Event(),
    )
    visit = await _come(url, ("decode", values))
    settled = asyncio.create_task(visit.settled(released))
    sent = 0.0
    for step in takewhile(lambda _: time.perf_counter() < end, cycle([*range(5, 195), *range(195, 5, -1)])):
        sent = time.perf_counter()
        await visit.send(
            "decode", values | {"decode.temperature": f"{step / 100:g}", "decode.seed": str(step)}
        )
        await asyncio.sleep(pause)
    released.set()
    last = await settled
    await visit.close()
    return last - sent


def test_the_settings_of_before(tmp_path):
    """The same class on Look, with the app's own settings and with Streamlit's."""
    rows = {}
    for name, flags in (("the app's settings", ()), ("Streamlit's settings", OLD)):
        with started_app(tmp_path, *flags) as server:
            asyncio.run(rehearse(server.url))
            rows[name] = asyncio.run(
                Lesson(server.url, people(100), max(20.0, SIZE * 60), pages=("",), limit=120).held(
                    server.process.pid
                )
            )
        print(f"\n{people(100)} visitors on Look, {name}\n{rows[name].table()}\n{rows[name].line()}")
    new, old = (percentile(figures.actions, 0.5) for figures in rows.values())
    print(
        f"\nthe median of an action: {old:.0f} ms before, {new:.1f} ms now, {old / new:.0f} times faster (at least 100)"
    )
    assert old >= 100 * new
