"""Limits of this process, open files and memory, and how much of each is used.

A visitor costs four open files (one connection, and Streamlit's event loop for the session). Near the limit new visitors
are refused in words and those inside stay. `ATLAS_MEMORY=2G streamlit run app.py` caps the memory in the same way.
"""

from __future__ import annotations

import math
import os
import re
from contextlib import suppress
from pathlib import Path

from viz.number_text import megabytes

try:
    import resource
except ImportError:  # Windows names no such limit
    resource = None  # type: ignore[assignment]

VARIABLE, UPLOAD, HUB = "ATLAS_MEMORY", "ATLAS_UPLOAD", "ATLAS_HUB"
UPLOADED = 2**29
SHARE = 0.9
"""Of the cap of memory, the share at which nobody new is let in."""
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


def free_bytes() -> float:
    """Return the bytes that are free for one more model; infinite without a limit."""
    most = memory_limit()
    return SHARE * most - memory_in_use() if most else math.inf


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


def refusal_reason(spare_files: int) -> str:
    """Return the reason for refusing new visitors, "" while there is capacity. `spare_files` must stay free for those inside."""
    if (most := file_limit()) and open_files() > most - spare_files:
        return f"All of its {most:,} open files are in use."
    if (most := memory_limit()) and memory_in_use() > SHARE * most:
        return f"Its {megabytes(most)} of memory are in use."
    return ""
