"""How the server comes up: the first screen is drawn once, then visitors are let in, and the rest follows behind it.

The rest is every model that verifies, and every page drawn once. Whoever asks for a part of it first gets it first: models
open side by side, and a page is imported when it is opened.
"""

from __future__ import annotations

import asyncio
import importlib
import itertools
import logging
import math
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial

import streamlit as st
from starlette.types import ASGIApp, Message, Receive, Scope, Send

import core.serving.engine
from core.errors import InputError
from viz import limits
from viz.number_text import megabytes
from viz.platform import run_context, visits, warm

log = logging.getLogger("atlas")
PAUSE = 0.01
"""Seconds between two parts of the rest, for those who wait already."""
WARM_SHARE = 0.7
"""Of the cap of memory, the share at which the warm-up ends; the rest is opened and drawn when somebody asks for it."""
VISITORS = 2**28
"""Bytes that a cap of memory should leave for visitors."""


@dataclass
class Report:
    """How far it is: `problem` says why the first screen cannot be drawn, `failures` what of the rest failed."""

    problem: str = ""
    failures: tuple[str, ...] = ()
    over: bool = False


REPORT = Report()


class WordedFailure:
    """A middleware that lets a start that fails end in the sentence that `lifespan` raised, without a trace."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def worded(message: Message) -> None:
            if message["type"] == "lifespan.startup.failed" and REPORT.problem:
                message = {**message, "message": REPORT.problem}
            await send(message)

        await self.app(scope, receive, worded if scope["type"] == "lifespan" else send)


def end_with(problem: str) -> None:
    """End the start with this sentence; go on where there is none."""
    if problem:
        REPORT.problem = problem
        raise RuntimeError(problem)


def text_problem() -> str:
    """Return what is wrong with the texts that every page reads when it is imported; "" for nothing."""
    try:
        importlib.import_module("viz.menu")
    except InputError as error:
        return str(error)
    return ""


def memory_problem() -> str:
    """Return why nobody can be let in though nobody is there; "" where there is room for visitors."""
    most, now = limits.memory_limit(), limits.memory_in_use()
    if not most or now <= limits.SHARE * most:
        return ""
    needed = math.ceil((now / limits.SHARE + VISITORS) / 2**20 / 100) * 100
    return (
        f"{limits.VARIABLE} allows {megabytes(most)}, and the app alone takes {megabytes(now)}: nobody could be let in. "
        f"Set it to {needed}M or more, or leave it out."
    )


async def first_screen(count_errors: Callable[[], int]) -> None:
    """Draw the first page once, before any visitor does; a failure is in the log, in the answer to `/_stcore/health`, and in About. `count_errors` counts the errors shown so far."""
    begun, before = time.perf_counter(), count_errors()
    try:
        problem = await visits.first_screen_problem()
    except Exception as error:
        log.exception("the first screen")
        problem = type(error).__name__
    if problem or count_errors() > before:
        REPORT.problem = f"The first screen cannot be drawn ({problem or 'error'}): see the server's log."
        log.critical("%s", REPORT.problem)
    else:
        log.info("the first screen took %.1f s", time.perf_counter() - begun)


def warm_up_in_background(slugs: Iterable[str], on_done: Callable[[], None]) -> None:
    """Open the models and draw the pages `slugs` once, in a thread of its own; call `on_done()` at the end."""
    core.serving.engine.default().on_slow_open = _opening
    loop = asyncio.get_running_loop()

    def load() -> None:
        for name, part in itertools.chain(_parts(), warm.jobs(loop, slugs)) if limits.warms_up() else ():
            if limits.memory_in_use() > WARM_SHARE * (limits.memory_limit() or math.inf):
                log.info("the warm-up ends before %s: memory is left for visitors", name)
                break
            try:
                part()
            except Exception as error:  # the other parts are served all the same
                log.exception("the warm-up of %s failed", name)
                REPORT.failures += (f"{name} ({type(error).__name__})",)
            time.sleep(PAUSE)
        REPORT.over = True
        on_done()
        if problem := memory_problem():
            REPORT.failures += (problem,)
            log.critical("%s", problem)

    threading.Thread(target=load, name="warm-up", daemon=True).start()


def _parts() -> Iterator[tuple[str, Callable[[], object]]]:
    engine = core.serving.engine.default()
    for listing in engine.models():
        if listing.ok and listing.foreign and limits.memory_limit():
            continue  # where memory is short a foreign one is opened when somebody asks for it
        if listing.ok:
            yield listing.name, partial(_warm, listing.name)
        else:
            log.warning("model %s is not served: %s", listing.name, listing.problem)
            REPORT.failures += (f"{listing.name}: {listing.problem}",)


def _warm(name: str) -> None:
    engine = core.serving.engine.default()
    example = engine.open(name).reader.example
    engine.run(core.serving.engine.RunRequest(name, example, keep=()))


def _opening(name: str) -> None:
    """Tell a visitor who waits for a model that it is being opened."""
    if run_context.running():
        st.toast(f"Opening {name}.", icon=":material/hourglass_empty:")
