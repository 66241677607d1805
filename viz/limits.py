"""Limits of this process, open files and memory, how much of each is used, and profiles: settings for one purpose under one name.

A visitor costs four open files (one connection, and Streamlit's event loop for the session). Near the limit new visitors
are refused in words and those inside stay. `ATLAS_MEMORY=2G streamlit run app.py` caps the memory in the same way.
"""

from __future__ import annotations

import ctypes
import math
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from viz.languages import _
from viz.number_text import megabytes

try:
    import resource
except ImportError:  # Windows names no such limit
    resource = None  # type: ignore[assignment]

VARIABLE, UPLOAD, HUB = "ATLAS_MEMORY", "ATLAS_UPLOAD", "ATLAS_HUB"
PROFILE, CACHE, ARENAS = "ATLAS_PROFILE", "ATLAS_CACHE", "ATLAS_ARENAS"
WARM_UP = "ATLAS_WARM_UP"
PROFILES = {
    "": {},
    "container": {VARIABLE: "3G"},
    "small": {
        VARIABLE: "700M",
        CACHE: "48M",
        ARENAS: "2",
        WARM_UP: "0",
        "ATLAS_TRAININGS": "0",
        UPLOAD: "0",
        HUB: "0",
        "ATLAS_INSTALLED": "0",
    },
}
"""By the name of a profile, what its variables are where they are not set one by one.

container is the Dockerfile's. small is for a hosted Space: the shipped models alone, no uploads, no trainings, nothing made
ready before somebody asks; models that nobody uses are closed where memory is short.
"""
UPLOADED = 2**29
SHARE, TIGHT = 0.9, 0.8
"""Of the cap of memory, the shares at which nobody new is let in, and at which models that nobody uses are closed and what can be made again is released."""
M_MMAP_THRESHOLD, M_ARENA_MAX, MADV_DONTNEED = -3, -8, 4
"""Names of Linux and glibc (malloc.h, sys/mman.h)."""
LARGE, LIBRARY = 2**20, 1024
"""Bytes of a block that is mapped on its own; kilobytes of a library in memory from which on it is worth while to release them."""
UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30}
FILES = next((folder for folder in ("/proc/self/fd", "/dev/fd") if os.path.isdir(folder)), "")


def open_files() -> int:
    """Return how many files are open in this process; 0 where the system does not say."""
    return len(os.listdir(FILES)) if FILES else 0


def file_limit() -> int:
    """Return how many files may be open; 0 where the system does not say."""
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0] if resource else 0


def raise_files() -> None:
    """Take all the open files that the system grants when asked."""
    if resource:
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        with suppress(ValueError, OSError):  # macOS says "no limit" and refuses it
            resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, hard), hard))


def memory_in_use() -> int:
    """Return the bytes of this process in memory; 0 where the system does not say."""
    with suppress(OSError, ValueError, IndexError):
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return 0


def memory_limit() -> int:
    """Return the limit set in `ATLAS_MEMORY`, in bytes; 0 for none.

    Raises:
        ValueError: it is not a number of bytes such as 2G.

    >>> os.environ[VARIABLE] = "1.5G"
    >>> memory_limit() == 1.5 * 2**30, os.environ.pop(VARIABLE)
    (True, '1.5G')
    """
    return _size(VARIABLE)


def upload_limit() -> int:
    """Return the most bytes of weights that a visitor may upload, as set in `ATLAS_UPLOAD` (1 is half a gigabyte); 0 if uploads are off.

    Raises:
        ValueError: it is no size.
    """
    return UPLOADED if os.environ.get(UPLOAD, "").strip() == "1" else _size(UPLOAD)


def allows_hub() -> bool:
    """Return whether visitors may have models fetched from the Hub (`ATLAS_HUB=1`)."""
    return os.environ.get(HUB, "").strip() == "1"


def free_bytes(share: float = SHARE) -> float:
    """Return the bytes that are free for one more model, up to this share of the cap; infinite without a limit."""
    most = memory_limit()
    return share * most - memory_in_use() if most else math.inf


def calm_bytes() -> float:
    """Return the bytes that are free before shipped models are closed that nobody uses; infinite without a limit."""
    return free_bytes(TIGHT)


def apply_profile() -> None:
    """Set the variables of the profile that `ATLAS_PROFILE` names, except those that are set.

    Raises:
        ValueError: there is no such profile.
    """
    name = profile()
    if name not in PROFILES:
        names = ", ".join(filter(None, PROFILES))
        raise ValueError(f"{PROFILE}={name!r} is no profile. There is: {names}. Name it, or leave it out.")
    for variable, value in PROFILES[name].items():
        os.environ.setdefault(variable, value)


def profile() -> str:
    """Return the name of the profile; "" for the default."""
    return os.environ.get(PROFILE, "").strip()


def profile_settings() -> list[str]:
    """Return what the variables of the profile are now, as NAME=value."""
    return [f"{variable}={os.environ.get(variable, '')}" for variable in PROFILES[profile()]]


def cache_limit() -> int:
    """Return the bytes that results and charts may take together, as set in `ATLAS_CACHE`; 0 for as many as a class needs.

    Raises:
        ValueError: it is no size.
    """
    return _size(CACHE)


def warms_up() -> bool:
    """Return whether pages and models are made ready before somebody asks for them (not with `ATLAS_WARM_UP=0`)."""
    return os.environ.get(WARM_UP, "").strip() != "0"


def arena_limit() -> int:
    """Return how many arenas `ATLAS_ARENAS` allows; 0 for as many as the C library takes.

    Raises:
        ValueError: it is not a whole number.
    """
    said = os.environ.get(ARENAS, "").strip()
    if not re.fullmatch(r"[0-9]{0,4}", said):
        raise ValueError(
            f"{ARENAS}={said!r} is no number of arenas. It must be a whole number, such as 2. Write one, or leave it out."
        )
    return int(said or 0)


def limit_arenas() -> None:
    """Let the C library allocate from as few arenas as `ATLAS_ARENAS` says, and give large blocks back at once; else nothing.

    A thread takes an arena of its own where it may, and what is freed in one is of no use to the others.
    """
    with suppress(ValueError, OSError, AttributeError):  # another C library
        if arenas := arena_limit():
            library = ctypes.CDLL("libc.so.6")
            library.mallopt(M_ARENA_MAX, arenas)
            library.mallopt(M_MMAP_THRESHOLD, LARGE)


def return_freed_memory() -> None:
    """Return to the system what the C library holds of freed memory, and the pages of libraries, which are read again where they are needed."""
    with suppress(OSError, AttributeError, ValueError):
        library = ctypes.CDLL("libc.so.6")
        library.malloc_trim(0)
        with open("/proc/self/smaps", encoding="utf-8") as maps:
            for begin, end in library_code(maps):
                library.madvise(ctypes.c_void_p(begin), ctypes.c_size_t(end - begin), MADV_DONTNEED)


def library_code(maps: Iterable[str]) -> Iterator[tuple[int, int]]:
    """Yield the first byte and the end of each large piece of memory that holds the code of a library, from the lines of `/proc/self/smaps`.

    Nobody writes there, not even the loader of libraries, so it is read from its file again where it is needed. The tables beside it,
    which the loader filled in, would be read without what was filled in, and the process would end.
    """
    begin = end = 0
    for line in maps:
        if found := re.match(r"([0-9a-f]+)-([0-9a-f]+) r-xp .*\.so", line):
            begin, end = int(found[1], 16), int(found[2], 16)
        elif re.match(r"[0-9a-f]+-", line) or (line.startswith("Rss:") and int(line.split()[1]) < LIBRARY):
            begin = end = 0
        elif end and line.split() == ["Anonymous:", "0", "kB"]:
            yield begin, end


def _size(variable: str) -> int:
    said = os.environ.get(variable, "").strip()
    if not said:
        return 0
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?) *([KMG]?)B?", said, re.IGNORECASE)
    if found is None:
        raise ValueError(
            f"{variable}={said!r} is no size. It must be a number of bytes, such as 2G or 1500M. Say it so, or leave it out."
        )
    return int(float(found[1]) * UNITS[found[2].upper()])


def memory_is_short() -> bool:
    """Return whether so much of the memory is in use that no newcomer is admitted."""
    most = memory_limit()
    return most > 0 and memory_in_use() > SHARE * most


def refusal_reason(spare_files: int) -> str:
    """Return the reason for refusing new visitors, "" while there is capacity. `spare_files` must stay free for those inside."""
    if (most := file_limit()) and open_files() > most - spare_files:
        return _("All of its {n:,} open files are in use.", n=most)
    if memory_is_short():
        return _("Its {size} of memory are in use.", size=megabytes(memory_limit()))
    return ""
