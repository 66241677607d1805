"""The small profile: one visitor, then five at once, open every page and step; the server stays small, and nobody is refused.

`pytest -m bench -s tests/bench/test_small_profile.py`; ten minutes. WALK_EVERY=20 opens every twentieth place, to see that it runs;
WALK_PROFILE="" walks the default profile, to compare.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from websockets.exceptions import WebSocketException

from core.checkpoints import manifest
from tests.app_server import ROOT, started_app
from tests.bench.machine import read
from tests.bench.visitors import all_loaded
from tests.bench.wire import Visit
from viz.shell import pages

pytestmark = pytest.mark.bench
MOST = 700.0
"""Megabytes (2^20 bytes) of the server at its peak."""
EVERY, PROFILE = int(os.environ.get("WALK_EVERY", "1")), os.environ.get("WALK_PROFILE", "small")
VISITORS = 5
VIEWS = (
    ("", {"view": "heads"}),
    ("", {"view": "full"}),
    ("decode", {"decode.beam": "3"}),
    ("decode", {"decode.show": "What is kept"}),
    ("inside", {"inside.by": "who"}),
    ("inside", {"inside.by": "ripple"}),
    ("importance", {"importance.by": "many"}),
    ("importance", {"importance.by": "words"}),
    ("importance", {"importance.by": "patch"}),
    ("find", {"find.by": "map"}),
    ("find", {"find.by": "kinds"}),
    ("find", {"find.by": "scatter"}),
    ("find", {"find.by": "corpus"}),
    ("many_texts", {"many_texts.by": "heads"}),
    ("many_texts", {"many_texts.by": "patterns"}),
)
"""Parts of pages that run models beyond what the page opens with."""

Place = tuple[str, dict[str, str]]


@dataclass
class Walk:
    """The measurements of a walk: megabytes after each place, refused visits, errors."""

    after: dict[str, float] = field(default_factory=dict)
    peak: float = 0.0
    refused: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)


def places() -> list[Place]:
    """Every page, every step of the course, parts of pages, and each shipped model on Look and with its card."""
    found: list[Place] = []
    for entry in pages.discover():
        slug = "" if entry.slug == pages.HOME else entry.slug
        found += [
            (slug, {f"{entry.slug}.step": str(step + 1)} if step else {})
            for step in range(max(1, len(entry.steps)))
        ]
    models = [*manifest.read_manifest(manifest.shipped_folder())]
    found += VIEWS
    found += [("", {"model": name}) for name in models] + [
        ("models", {"models.which": name}) for name in models
    ]
    return found[::EVERY]


def megabytes(pid: int) -> float:
    """Return the memory of a process (RSS); `smaps_rollup`, which knows more, keeps the process waiting."""
    return read(pid).rss * 1e6 / 2**20


def memory_by_kind(pid: int) -> dict[str, float]:
    """Return megabytes: in memory, of what is shared its part, and without files."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text("utf-8")
    return {
        name: int(re.findall(rf"^{name}: +(\d+)", lines, re.MULTILINE)[0]) / 1024
        for name in ("Rss", "Pss", "Anonymous")
    }


async def watch(pid: int, walk: Walk) -> None:
    """Note the largest memory, ten times a second."""
    while True:
        walk.peak = max(walk.peak, megabytes(pid))
        await asyncio.sleep(0.1)


async def visited(url: str, pid: int, links: Sequence[Place], walk: Walk) -> None:
    """Open these places one after the other; a newcomer asks for the page after each."""
    try:
        visit = await Visit.opened(url)
    except WebSocketException as problem:
        walk.refused.append(f"the visit itself ({problem})")
        return
    for page, values in links:
        answer = await asyncio.wait_for(visit.ask(page, values), 120)
        name = " ".join([page or "look", *values.values()])
        walk.wrong += [f"{name}: {wrong}" for wrong in answer.wrong]
        walk.after[name] = megabytes(pid)
        print(f"{name:44}{walk.after[name]:6.0f} MB {answer.milliseconds:7.0f} ms", flush=True)
        if not await admitted(url):
            walk.refused.append(name)
    await visit.close()


async def admitted(url: str) -> bool:
    """Return whether a newcomer gets the page."""
    host, port = url.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(
        f"GET / HTTP/1.1\r\nHost: {host}:{port}\r\nAccept: text/html\r\nConnection: close\r\n\r\n".encode()
    )
    status = (await reader.readline()).split()[1]
    writer.close()
    return status == b"200"


async def walked(url: str, pid: int) -> list[Walk]:
    """One visitor's walk, then that of five who begin at different places."""
    await all_loaded(url)
    links = places()
    walks = []
    for visitors in (1, VISITORS):
        walk = Walk()
        watching = asyncio.create_task(watch(pid, walk))
        starts = [len(links) * each // visitors for each in range(visitors)]
        await asyncio.gather(*(visited(url, pid, links[start:] + links[:start], walk) for start in starts))
        watching.cancel()
        walks.append(walk)
    return walks


def allocator() -> dict[str, str]:
    """Return what the Dockerfile sets so that memory is given back."""
    return dict(re.findall(r'(LD_PRELOAD|MALLOC_CONF)="([^"]+)"', (ROOT / "Dockerfile").read_text("utf-8")))


def test_a_small_server_stays_small_whatever_is_opened(tmp_path):
    profile = {"ATLAS_PROFILE": PROFILE} if PROFILE else {}
    with started_app(tmp_path, **profile, **allocator()) as server:
        assert "jemalloc" in Path(f"/proc/{server.process.pid}/maps").read_text("utf-8"), (
            "apt install libjemalloc2"
        )
        begun = megabytes(server.process.pid)
        walks = asyncio.run(walked(server.url, server.process.pid))
        parts = memory_by_kind(server.process.pid)
    print(
        f"\nat the start {begun:.0f} MB; at the end {', '.join(f'{name} {value:.0f}' for name, value in parts.items())}"
    )
    for visitors, walk in zip((1, VISITORS), walks, strict=True):
        rows = sorted(walk.after.items(), key=lambda row: -row[1])
        print(
            f"{visitors} at once: peak {walk.peak:.0f} MB (at most {MOST:.0f}), {len(walk.after)} places, refused {len(walk.refused)}, wrong {len(walk.wrong)}"
        )
        print("\n".join(f"  {name:40}{value:6.0f}" for name, value in rows[:12]))
        print("\n".join(f"  {line}" for line in [*walk.refused[:5], *walk.wrong[:8]]))
    assert all(walk.peak <= MOST and not walk.refused and not walk.wrong for walk in walks)
