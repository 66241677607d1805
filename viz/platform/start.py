"""How the server comes up: the first screen is drawn once, then visitors are let in, and the rest follows behind it.

The rest is every model that verifies, and every page drawn once. Whoever asks for a part of it first gets it first: models
open side by side, and a page is imported when it is opened.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import streamlit as st

import core.serving.engine
from viz.platform import limits, run_context, visits, warm
from viz.shell import errors

log = logging.getLogger("atlas")
PAUSE = 0.01
"""Seconds between two parts of the rest, for those who wait already."""


@dataclass
class Report:
    """How far it is: `problem` says why the first screen cannot be drawn, `behind` what of the rest failed."""

    problem: str = ""
    behind: tuple[str, ...] = ()
    over: bool = False


REPORT = Report()


async def first_screen() -> None:
    """Draw what a first visitor sees, once. A failure is in the log, in the answer to `/_stcore/health`, and in About."""
    begun, before = time.perf_counter(), errors.seen()
    try:
        problem = await visits.first_screen_problem()
    except Exception as error:
        log.exception("the first screen")
        problem = type(error).__name__
    if problem or errors.seen() > before:
        REPORT.problem = f"The first screen cannot be drawn ({problem or 'error'}): see the server's log."
        log.critical("%s", REPORT.problem)
    else:
        log.info("the first screen took %.1f s", time.perf_counter() - begun)


def the_rest(then: Callable[[], None]) -> None:
    """Load what the other pages need, in a thread of its own, and call `then()`."""
    core.serving.engine.default().on_slow_open = _opening
    loop = asyncio.get_running_loop()

    def load() -> None:
        for name, part in itertools.chain(_parts(), warm.jobs(loop)):
            try:
                part()
            except Exception as error:  # the other parts are served all the same
                log.exception("the warm-up of %s failed", name)
                REPORT.behind += (f"{name} ({type(error).__name__})",)
            time.sleep(PAUSE)
        REPORT.over = True
        then()

    threading.Thread(target=load, name="warm-up", daemon=True).start()


def _parts() -> Iterator[tuple[str, Callable[[], object]]]:
    engine = core.serving.engine.default()
    for listing in engine.models():
        if listing.ok and listing.foreign and limits.most_memory():
            continue  # where memory is short a foreign one is opened when somebody asks for it
        if listing.ok:
            yield listing.name, partial(_warm, listing.name)
        else:
            log.warning("model %s is not served: %s", listing.name, listing.problem)
            REPORT.behind += (f"{listing.name}: {listing.problem}",)


def _warm(name: str) -> None:
    engine = core.serving.engine.default()
    example = engine.open(name).reader.example
    engine.run(core.serving.engine.RunRequest(name, example, keep=()))


def _opening(name: str) -> None:
    """Tell a visitor who waits for a model that it is being opened."""
    if run_context.running():
        st.toast(f"Opening {name}.", icon=":material/hourglass_empty:")
