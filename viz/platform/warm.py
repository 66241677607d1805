"""Warm-up: each page is drawn once in a throw-away session, so that its first results are cached.

These are the runs of models and the figures of its opening state, and contents of files. Drawing a page again then costs
some milliseconds.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from functools import partial

from viz.platform.visits import visit


def jobs(loop: asyncio.AbstractEventLoop, slugs: Iterable[str]) -> Iterator[tuple[str, Callable[[], None]]]:
    """Yield for each page its name and the function that draws it once, to be called in any thread except that of the server's `loop`."""
    for slug in slugs:
        yield f"the page {slug}", partial(_wait, loop, slug)


def _wait(loop: asyncio.AbstractEventLoop, slug: str) -> None:
    asyncio.run_coroutine_threadsafe(visit(slug), loop).result()
