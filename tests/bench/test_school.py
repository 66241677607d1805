"""Two copies of the app behind nginx, as examples/nginx.conf has it, and two hundred visitors: the table of examples/school.md.

`pytest -m bench -s tests/bench/test_school.py`, on an idle machine; three minutes. CLASS_SIZE=0.1 makes it ten times smaller.
"""

from __future__ import annotations

import asyncio
import os
import shutil
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from tests.app_server import ROOT, free_port, started, started_app
from tests.bench.machine import Reading, read
from tests.bench.visitors import Figures, Lesson, fetched, percentile, rehearse

NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
pytestmark = [
    pytest.mark.bench,
    pytest.mark.skipif(NGINX is None, reason="no nginx on this machine: install the system's package"),
]
SIZE = float(os.environ.get("CLASS_SIZE", "1"))
VISITORS, SECONDS = max(20, round(200 * SIZE)), max(20.0, 120 * SIZE)
FREE = 1 / 3
"""The part of a core that is left free."""


@contextmanager
def balanced(folder: Path, *copies: str) -> Iterator[str]:
    """The address of nginx with the file that ships, its three ports changed for free ones."""
    port, text = free_port(), (ROOT / "examples" / "nginx.conf").read_text("utf-8")
    for shipped, ours in (
        ("listen 8080;", f"listen 127.0.0.1:{port};"),
        *zip(("127.0.0.1:8501", "127.0.0.1:8502"), copies, strict=True),
    ):
        assert text.count(shipped) == 1, f"{shipped} does not stand once in examples/nginx.conf"
        text = text.replace(shipped, ours)
    (folder / "nginx.conf").write_text(text, "utf-8")
    command = [str(NGINX), "-p", str(folder), "-c", str(folder / "nginx.conf"), "-g", "daemon off;"]
    url = f"http://127.0.0.1:{port}"
    with started(command, f"{url}/_stcore/health", folder / "nginx.txt"):
        yield url


def test_two_copies_behind_one_address(tmp_path):
    for name in ("one", "two", "nginx"):
        (tmp_path / name).mkdir()
    with started_app(tmp_path / "one") as one, started_app(tmp_path / "two") as two:
        for server in (one, two):
            asyncio.run(rehearse(server.url))
        places = (server.url.removeprefix("http://") for server in (one, two))
        with balanced(tmp_path / "nginx", *places) as url:
            pids = (one.process.pid, two.process.pid)
            before = [read(pid) for pid in pids]
            figures = asyncio.run(Lesson(url, VISITORS, SECONDS, by_page=True).held())
            after = [read(pid) for pid in pids]
            closed, open_ = _status(f"{url}/_stcore/metrics"), _status(f"{one.url}/_stcore/metrics")
            visitor = fetched(url)
            one.process.kill()
            left = {_status(url, visitor), *(_status(url, fetched(url)) for _ in range(10))}
    homes = _homes((tmp_path / "nginx" / "access.log").read_text("utf-8"))
    shares = Counter(copy for copies in homes.values() for copy in copies)
    print(
        f"\n{VISITORS} visitors at two copies behind nginx, a lesson of {SECONDS:.0f} s",
        figures.table(),
        sep="\n",
    )
    print(f"visitors of each copy: {dict(shares)}", _advice(figures, before, after), sep="\n")
    assert not figures.wrong and not figures.lost
    assert len(homes) >= VISITORS and all(len(copies) == 1 for copies in homes.values())
    assert all(0.35 <= share / len(homes) <= 0.65 for share in shares.values()) and len(shares) == 2
    assert (closed, open_) == (404, 200)
    assert left == {200}, "a copy is gone, and its visitors do not reach the other"


def _homes(log: str) -> dict[str, set[str]]:
    """Visitors who drew a page: by name, the copies that they reached with page, file and websocket."""
    homes, drew = defaultdict(set), set()
    for line in log.splitlines():
        visitor, copy, status, *_ = line.split()
        homes[visitor].add(copy)
        if status == "101":
            drew.add(visitor)
    return {visitor: homes[visitor] for visitor in drew}


def _status(url: str, headers: dict[str, str] | None = None) -> int:
    try:
        with urlopen(Request(url, headers=headers or {}), timeout=30) as answer:
            return answer.status
    except HTTPError as error:
        return error.code


def _advice(figures: Figures, before: list[Reading], after: list[Reading]) -> str:
    """The rows of examples/school.md."""
    taken = sum(now.cpu - then.cpu for then, now in zip(before, after, strict=True))
    cpu, half, most = (
        taken / figures.seconds / VISITORS,
        *(percentile(figures.actions, one) for one in (0.5, 0.95)),
    )
    rows = {
        "memory a copy": f"{max(now.rss for now in after) / 1000:.1f} GB",
        "processor a visitor": f"{cpu:.1%} of a core",
        "visitors a core carries, a third of it left free": f"{(1 - FREE) / cpu:.0f}",
        "a visitor waits": f"{half:.0f} ms, nineteen times of twenty at most {most:.0f} ms",
    }
    return "\n".join(f"| {name} | {value} |" for name, value in rows.items())
