"""What a process takes of the machine, as Linux tells it under /proc."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

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
