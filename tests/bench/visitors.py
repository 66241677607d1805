"""A class of visitors over raw websockets: they join in a wave, act every few seconds by links, and others come and go meanwhile.

    python -m tests.bench.visitors --sessions 100 --seconds 300                     starts the app and drives it
    python -m tests.bench.visitors --url http://127.0.0.1:8501 --sessions 30        drives one that runs
    python -m tests.bench.visitors --flag=--runner.postScriptGC=true --pages ""     other settings of the server, Look only

Of the actions 70% are another head or another small choice, 20% one of 20 common sentences, 10% an own sentence; every
tenth goes to another page. An action counts from the sending of the link to the end of the run that answers it; a visitor
sends the next one only then. Printed: a table, and the same as one line of JSON.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import random
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from urllib.request import Request, urlopen

from websockets.exceptions import WebSocketException

from tests.app_server import started_app
from tests.bench.machine import Reading, read
from tests.bench.wire import Answer, Visit

KNOWN = (
    "the old man woman dog cat saw found took carried gave a little white red house tree river bread apple to his her and then because "
    "was were tired hungry happy very quickly slowly under over near with without many some"
)
COMMON = 20
MODEL = "gpt-mini"
LEAVES, NEW_TEXT, OWN_TEXT = 0.1, 0.3, 0.1
"""Chances of an action: to go to another page; to bring another sentence, and that it is an own one."""
STILL_LOADING = b"still being loaded"
"""What About says until all models and pages are there."""
LOST = (TimeoutError, WebSocketException, OSError)

Link = tuple[str, Mapping[str, str]]
"""A page's name, and the values in its address."""


def _head(rng: random.Random) -> dict[str, str]:
    return {"layer": str(rng.randrange(6)), "head": str(rng.randrange(8))}


PAGES: dict[str, tuple[int, Callable[[random.Random], dict[str, str]]]] = {
    "": (4, _head),
    "decode": (1, lambda rng: {"decode.n": str(rng.randint(1, 8))}),
    "compare": (1, _head),
    "what_if": (1, _head),
    "masks": (1, _head),
    "scaling": (1, lambda rng: {"scaling.draw": str(rng.randrange(100))}),
    "self_attention": (1, lambda rng: {"self_attention.at": str(rng.randrange(6))}),
}
"""Where a class is: a page's share of the visitors, and its small choice. "" is Look."""


def sentence(rng: random.Random, words: int = 18) -> str:
    """Words that every model knows, in any order."""
    return " ".join(rng.choices(KNOWN.split(), k=words)) + "."


def common(number: int) -> str:
    """A sentence that many bring: a preset, or what the teacher says."""
    return sentence(random.Random(1000 + number))


def actions(seed: int, pages: Sequence[str] = tuple(PAGES)) -> Iterator[Link]:
    """What one visitor does, without an end: the first one joins Look with a common sentence.

    >>> page, values = next(actions(0))
    >>> page, values["text"] == common(0)
    ('', True)
    """
    rng, page, values = random.Random(seed), pages[0], {"model": MODEL, "text": common(0)}
    while True:
        yield page, values
        if rng.random() < LEAVES:
            page = rng.choices(pages, [PAGES[name][0] for name in pages])[0]
            values = {"model": MODEL, "text": values["text"]}
        if rng.random() < NEW_TEXT:
            text = sentence(rng) if rng.random() < OWN_TEXT / NEW_TEXT else common(rng.randrange(COMMON))
            values = {name: value for name, value in values.items() if "." not in name} | {
                "text": text
            }  # what was chosen about the old one is gone
        else:
            values = values | PAGES[page][1](rng)


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least this share of the values does not exceed; nan of none.

    >>> percentile([4, 1, 3, 2], 0.5), percentile([4, 1, 3, 2], 0.95)
    (2, 4)
    """
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)] if values else math.nan


@dataclass
class Figures:
    """What a class met: milliseconds of the first wave of joins, of later joins and of actions; what went wrong, and what the server took."""

    wave: list[float] = field(default_factory=list)
    later: list[float] = field(default_factory=list)
    actions: list[float] = field(default_factory=list)
    pages: dict[str, list[float]] = field(default_factory=dict)
    """The actions again, by page."""
    wrong: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    late: int = 0
    """Actions that began a whole period after their time, because the answer before them had not come."""
    seconds: float = 0.0
    driver: float = 0.0
    """Seconds of processor time of the driver itself."""
    server: tuple[Reading, Reading] | None = None
    """Before and at the end of the lesson, the visitors still there."""

    def note(self, answer: Answer, *among: list[float]) -> None:
        for values in among:
            values.append(answer.milliseconds)
        self.wrong += answer.wrong

    @property
    def answers(self) -> int:
        """How many pages were drawn."""
        return len(self.wave) + len(self.later) + len(self.actions)

    def table(self) -> str:
        """The figures for a reader."""
        lines = [f"{'':18}{'number':>8}{'p50':>9}{'p95':>9}{'p99':>9}{'max':>9}  ms"]
        for name, values in (
            ("first joins", self.wave),
            ("later joins", self.later),
            ("actions", self.actions),
            *(("  " + (page or "look"), values) for page, values in sorted(self.pages.items())),
        ):
            lines.append(
                f"{name:18}{len(values):8}"
                + "".join(f"{percentile(values, share):9.1f}" for share in (0.5, 0.95, 0.99, 1))
            )
        lines.append(
            f"wrong {len(self.wrong)}, lost {len(self.lost)}, late {self.late}; {len(self.actions) / max(self.seconds, 1e-9):.1f} actions/s in {self.seconds:.0f} s; "
            f"the driver took {1e3 * self.driver / max(self.answers, 1):.2f} ms of processor an answer"
        )
        if self.server:
            before, after = self.server
            cpu = after.cpu - before.cpu
            lines.append(
                f"server: {cpu:.1f} s of processor ({cpu / max(self.seconds, 1e-9):.0%} of a core), {before.rss:.0f} to {after.rss:.0f} MB, "
                f"threads {before.threads} to {after.threads}, open files {before.files} to {after.files}"
            )
        return "\n".join(lines + [f"  {each}" for each in sorted({*self.wrong[:5], *self.lost[:5]})])

    def line(self) -> str:
        """The same for a program."""
        times = {
            name: {
                "number": len(values),
                **{
                    f"p{share:g}": round(percentile(values, share / 100), 1)
                    for share in (50, 95, 99, 100)
                    if values
                },
            }
            for name, values in (("wave", self.wave), ("later", self.later), ("actions", self.actions))
        }
        server = (
            dict(zip(("before", "after"), map(asdict, self.server), strict=True)) if self.server else None
        )
        return json.dumps(
            {
                **times,
                "wrong": len(self.wrong),
                "lost": len(self.lost),
                "late": self.late,
                "seconds": round(self.seconds, 1),
                "driver_cpu": round(self.driver, 2),
                "server": server,
            }
        )


@dataclass(frozen=True)
class Lesson:
    """A class: `sessions` visitors join within `join` seconds and act every `every` seconds; another comes every `newcomer` seconds and stays for `stay`."""

    url: str
    sessions: int = 100
    seconds: float = 300.0
    every: float = 5.0
    join: float = 10.0
    newcomer: float = 3.0
    stay: float = 20.0
    pages: tuple[str, ...] = tuple(PAGES)
    limit: float = 60.0
    """An answer that takes longer is lost."""
    compressed: bool = False
    """Messages come compressed, as to a browser."""
    seed: int = 0
    by_page: bool = False
    """A visitor fetches the page and a file first, and brings the cookie that came with the page: a balancer knows him by it."""

    def slowed(self, times: float) -> Lesson:
        """The same class, every time of it so many times longer."""
        spans = {
            name: times * getattr(self, name)
            for name in ("seconds", "every", "join", "newcomer", "stay", "limit")
        }
        return replace(self, **spans)

    async def held(self, pid: int | None = None) -> Figures:
        """The figures of the whole lesson; with the server's `pid` also what it took."""
        figures, begun, cpu = Figures(), time.perf_counter(), time.process_time()
        before, rng, end = pid and read(pid), random.Random(self.seed), begun + self.join + self.seconds
        comers = [(begun + rng.random() * self.join, end, figures.wave) for _ in range(self.sessions)]
        comers += [
            (at, min(end, at + self.stay), figures.later)
            for i in range(int(self.seconds / self.newcomer))
            for at in [begun + self.join + i * self.newcomer]
        ]
        tasks = [
            asyncio.create_task(self._attend(self.seed * 10_000 + i, *comer, figures))
            for i, comer in enumerate(comers)
        ]
        await asyncio.sleep(end - time.perf_counter())
        if pid and before:
            figures.server = before, read(pid)
        await asyncio.gather(*tasks)
        figures.seconds, figures.driver = time.perf_counter() - begun, time.process_time() - cpu
        return figures

    async def _attend(
        self, seed: int, comes: float, leaves: float, joins: list[float], figures: Figures
    ) -> None:
        links, first = actions(seed, self.pages), random.Random(seed).random() * self.every
        await asyncio.sleep(comes - time.perf_counter())
        while time.perf_counter() < leaves:
            try:
                return await self._stay(links, first, leaves, joins, figures)
            except LOST as problem:  # like a browser he comes back
                figures.lost.append(repr(problem))
                await asyncio.sleep(1)

    async def _stay(
        self, links: Iterator[Link], first: float, leaves: float, joins: list[float], figures: Figures
    ) -> None:
        begun = time.perf_counter()
        visit = await Visit.opened(
            self.url,
            compressed=self.compressed,
            headers=await asyncio.to_thread(fetched, self.url) if self.by_page else None,
        )
        try:
            answer = await asyncio.wait_for(visit.ask(*next(links)), self.limit)
            answer.milliseconds = 1e3 * (time.perf_counter() - begun)  # the connection's opening too
            figures.note(answer, joins)
            due = time.perf_counter() + first
            while due < leaves:
                await asyncio.sleep(due - time.perf_counter())
                figures.late += time.perf_counter() > due + self.every
                page, values = next(links)
                answer = await asyncio.wait_for(visit.ask(page, values), self.limit)
                figures.note(answer, figures.actions, figures.pages.setdefault(page, []))
                due = max(due + self.every, time.perf_counter())
            await asyncio.sleep(leaves - time.perf_counter())
        finally:
            await visit.close()


def fetched(url: str) -> dict[str, str]:
    """The page and one of its files, as a browser begins; what it sends from then on."""
    with urlopen(url, timeout=60) as page:
        headers = {
            "Cookie": "; ".join(cookie.partition(";")[0] for cookie in page.headers.get_all("Set-Cookie", ()))
        }
    urlopen(Request(f"{url}/app/static/favicon.svg", headers=headers), timeout=60).close()
    return headers


async def all_loaded(url: str) -> None:
    """Waits until every model and page is there."""
    visit = await Visit.opened(url, listens=(STILL_LOADING,))
    while (await visit.ask("about", {})).heard:
        await asyncio.sleep(0.2)
    await visit.close()


async def rehearse(url: str, pages: Sequence[str] = tuple(PAGES)) -> None:
    """A teacher's first look at every page once all is loaded, so that the class meets a warm server."""
    await all_loaded(url)
    visit = await Visit.opened(url)
    for page in pages:
        for number in range(3):
            await visit.ask(page, {"model": MODEL, "text": common(number)})
    await visit.close()


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--url", help="a running app; without it one is started")
    parser.add_argument(
        "--flag",
        action="append",
        default=[],
        help="a flag for the app that is started, such as --flag=--runner.postScriptGC=true",
    )
    parser.add_argument(
        "--pages", default=",".join(PAGES), help='names of pages with commas between them, "" for Look'
    )
    parser.add_argument("--compressed", action="store_true", help="messages come compressed, as to a browser")
    for name, default in (
        ("sessions", 100),
        ("seconds", 300.0),
        ("every", 5.0),
        ("join", 10.0),
        ("newcomer", 3.0),
        ("seed", 0),
    ):
        parser.add_argument(f"--{name}", type=type(default), default=default)
    given = vars(parser.parse_args())
    url, flags, pages = given.pop("url"), given.pop("flag"), tuple(given.pop("pages").split(","))
    with ExitStack() as stack:
        server = (
            None
            if url
            else stack.enter_context(
                started_app(Path(stack.enter_context(tempfile.TemporaryDirectory())), *flags)
            )
        )
        lesson = Lesson(url or server.url, pages=pages, **given)  # type: ignore[union-attr]
        asyncio.run(rehearse(lesson.url, pages))
        figures = asyncio.run(lesson.held(server.process.pid if server else None))
    print(figures.table(), figures.line(), sep="\n")


if __name__ == "__main__":
    main()
