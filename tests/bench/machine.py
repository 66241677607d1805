"""What a process takes of the machine, as Linux tells it under /proc."""

from __future__ import annotations

import copy
import json
import os
import random
import re
import statistics
import time
from collections.abc import Callable, Mapping, MutableSequence, Sequence
from dataclasses import dataclass
from pathlib import Path

WORK, WALK = 0.0023, 0.06
"""Seconds that `interpreter_work` and `heap_walk` take on the machine of the bars, which spends 17 ms of processor time on an answer in a lesson."""
TICKS, PAGE = os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGESIZE")


@dataclass(frozen=True)
class Reading:
    """Seconds of processor time since its start, megabytes in memory, threads, open files."""

    cpu: float
    rss: float
    threads: int
    files: int


def read(pid: int) -> Reading:
    """A process as it stands now.

    >>> now = read(os.getpid())
    >>> now.cpu > 0, now.rss > 1, now.threads >= 1, now.files >= 3
    (True, True, True, True)
    """
    home = Path("/proc") / str(pid)
    after_name = home.joinpath("stat").read_text().rpartition(")")[2].split()
    return Reading(
        cpu=(int(after_name[11]) + int(after_name[12])) / TICKS,
        rss=int(home.joinpath("statm").read_text().split()[1]) * PAGE / 1e6,
        threads=int(after_name[17]),
        files=len(list(home.joinpath("fd").iterdir())),
    )


def slowness() -> float:
    """How many times slower this machine is now than the machine of the bars; at least 1.

    The bars of a class are those of that machine. On a slower one the class acts as many times more slowly, and may wait as
    many times longer: the same load and the same patience, in the machine's own time. Where neighbours share the machine, work
    that fits into the processor's cache keeps its pace, while a server's, whose objects lie all over its memory, may take three
    times as long: an answer in a lesson takes longer just as a walk over a large heap does.
    """
    heap, order = scattered_heap()
    work = statistics.median(_times(interpreter_work, 400))
    walk = statistics.median(_times(lambda: heap_walk(heap, order), 8))
    return max(1.0, work / WORK, walk / WALK)


def _times(call: Callable[[], object], number: int) -> list[float]:
    times = []
    for _ in range(number):
        begun = time.perf_counter()
        call()
        times.append(time.perf_counter() - begun)
    return times


def scattered_heap() -> tuple[list[dict[str, str]], list[int]]:
    """Many small objects (some 150 MB), and a random order to visit all of them in."""
    heap = [{"word": str(place)} for place in range(400_000)]
    order = list(range(len(heap)))
    random.Random(1).shuffle(order)
    return heap, order


def heap_walk(heap: Sequence[Mapping[str, str]], order: MutableSequence[int], number: int = 100_000) -> int:
    """Read the words of the next `number` objects in `order`, which turns so that the next walk meets others."""
    letters = sum(len(heap[place]["word"]) for place in order[:number])
    order[:] = order[number:] + order[:number]
    return letters


def interpreter_work() -> int:
    """Do what a server does for a page, in small: objects, texts, copies and JSON."""
    rows = [{"place": place, "word": f"w{place}", "weight": place / 7} for place in range(600)]
    text = json.dumps(rows)
    words = re.findall(r"\w+", text)
    again = copy.deepcopy(json.loads(text)[:60])
    counts: dict[str, int] = {}
    for word in words:
        counts[word] = counts.get(word, 0) + 1
    return sum(len(row) for row in again) + max(counts.values())
