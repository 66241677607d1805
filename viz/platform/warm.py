"""Every page drawn once behind the first screen, for nobody: what it computes first is kept for whoever opens it.

That is what its opening state asks of a model, the figures of it, and what is read from files. A page that is drawn already
costs some milliseconds to draw again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from functools import partial

from viz.platform.visits import visit
from viz.shell import pages


def jobs(loop: asyncio.AbstractEventLoop) -> Iterator[tuple[str, Callable[[], None]]]:
    """Yield for each page its name and the function that draws it once, to be called in any thread except that of the server's `loop`."""
    for entry in pages.discover():
        yield f"the page {entry.slug}", partial(_wait, loop, entry.slug)


def _wait(loop: asyncio.AbstractEventLoop, slug: str) -> None:
    asyncio.run_coroutine_threadsafe(visit(slug), loop).result()
