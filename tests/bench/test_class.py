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
from tests.bench.measuring import judge, spread
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


def test_a_lesson(rehearsed_app):
    """A hundred visitors for five minutes on seven pages; others join meanwhile. In the machine's own time, see `slowness`."""
    server, slow = rehearsed_app, slowness()
    lesson = Lesson(server.url, people(100), SIZE * 300).slowed(slow)
    figures = asyncio.run(lesson.held(server.process.pid))
    print(f"\n{people(100)} visitors, a lesson; {slow:.2f} times slower before it, {slowness():.2f} after")
    print(figures.table(), figures.line(), sep="\n")
    assert not figures.wrong and not figures.lost
    for what, times, share, most in (
        ("an action, half", figures.actions, 0.5, 40),
        ("19 of 20 actions", figures.actions, 0.95, 150),
        ("99 of 100 actions", figures.actions, 0.99, 500),
        ("19 of 20 first joins", figures.wave, 0.95, 150),
        ("19 of 20 later joins", figures.later, 0.95, 150),
    ):
        judge(what, percentile(times, share), most * slow)
    assert figures.server is not None
    judge("memory", figures.server[1].rss, 1200, "MB")


def test_what_a_visitor_costs_who_only_sits_there(rehearsed_app):
    """Megabytes of a visit that was drawn and is left alone."""
    url, pid = rehearsed_app.url, rehearsed_app.process.pid
    cost = asyncio.run(_sitting(url, pid, people(100)))
    judge("a visitor who only sits there", cost, 1, "MB")


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
    told = [answer.heard[PLACE] for answer in long if PLACE in answer.heard]
    pressed = [answer.milliseconds for answer in same]
    print(
        f"\n{len(same)} press the same button: {computed} forward, {spread(pressed)}; {len(long)} bring long sentences:"
    )
    print(f"the last answer after {_last(long):.1f} s, {len(told)} were told their place")
    assert not [answer.wrong for answer in same + own + long if answer.wrong]
    assert computed == 1
    judge("the last of the same button", max(pressed), 1500 * slow)
    judge(f"the last of {len(own)} own sentences", _last(own), 3 * slow, "s")
    judge("the first who was told a place", min(told), 1000)
    assert min(told) >= 500


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


def test_one_who_drags(rehearsed_app):
    """A visitor drags Decode's temperature, twenty values a second of the machine's own time, while thirty others have their lesson."""
    slow, seconds = slowness(), max(10.0, SIZE * 90)
    calm, beside, last = asyncio.run(_dragged(rehearsed_app.url, people(30), seconds, slow))
    print(f"\n{people(30)} visitors, nobody drags\n{calm.table()}\none drags\n{beside.table()}")
    assert not calm.wrong + calm.lost + beside.wrong + beside.lost
    ratio = percentile(beside.actions, 0.95) / percentile(calm.actions, 0.95)
    judge("19 of 20 actions beside who drags", ratio, 2, "times as long")
    judge("the last value that was dragged", last, 0.3 * slow, "s")


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
            lesson = Lesson(server.url, people(100), max(20.0, SIZE * 60), pages=("",), limit=120)
            rows[name] = asyncio.run(lesson.held(server.process.pid))
        print(f"\n{people(100)} visitors on Look, {name}\n{rows[name].table()}\n{rows[name].line()}")
    new, old = (percentile(figures.actions, 0.5) for figures in rows.values())
    judge("the median of an action now", new / old, 0.01, "of before", f"{new:.1f} ms of {old:.0f}")
