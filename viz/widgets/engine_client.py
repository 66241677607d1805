"""Computing on behalf of one browser session: everything goes through the one engine (its scheduler and its cache)."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import streamlit as st

import core.serving.engine
from core.errors import InputError
from core.serving.engine import Listing, RunRequest
from viz.languages import ENGLISH, _, current, using
from viz.platform.run_context import session as session
from viz.platform.run_context import visited as visited

T = TypeVar("T")
_NOTHING = "compute.nothing"


def open(name: str) -> Any:
    """Open a model by name, for this session, and return it. Raises InputError for a name that does not open, or opens for another visitor only."""
    return core.serving.engine.default().open(name, session())


def model_listing(name: str) -> Listing | None:
    """Return the listing of a model by name, for this session; None if it does not open."""
    return core.serving.engine.default().entry(name, session())


def run(model: str, text: str, **options: Any):
    """Return a run of a model: `pair`, `target`, `keep`, `edits`, `special` as in `core.Model.run`.

    Raises InputError for input that cannot be used, Superseded when a newer request of this session took its place,
    Busy when the queue is full. Pages let all three rise: `errors.guard` tells the visitor.
    """
    request = RunRequest(model=model, text=text, **options)
    with _queue() as tell:
        return core.serving.engine.default().run(request, session=session(), on_wait=tell)


def submit(key: Hashable, fn: Callable[[], T], cost: float) -> T:
    """Compute anything pure through the same scheduler and cache; `key` says all that the answer depends on."""
    with many() as ask:
        return ask(key, fn, cost)


@contextmanager
def many() -> Iterator[Callable[[Hashable, Callable[[], T], float], T]]:
    """Yield a function like `submit` for several computations in a row, which share one message on the page that it waits.

    Between two of them the script ends if nobody waits for it any more: the tab is closed, or something else was clicked.
    """
    with _queue() as tell:

        def ask(key: Hashable, fn: Callable[[], T], cost: float) -> T:
            if session():
                st.session_state.get(
                    _NOTHING
                )  # Streamlit ends a script where it touches the page or the session
            return core.serving.engine.default().submit(
                key, _with_errors_in(current().code, fn), cost, session=session(), on_wait=tell
            )

        yield ask


def per_language(key: Hashable, fn: Callable[[], T]) -> tuple[Hashable, Callable[[], T]]:
    """Return `key` and `fn` for a value with words of ours: made in the visitor's language, and cached apart from those in others."""
    code = current().code

    def computed() -> T:
        with using(code):
            return fn()

    return (key, code), computed


def _with_errors_in(code: str, fn: Callable[[], T]) -> Callable[[], T]:
    """Return a function like `fn` whose errors are in a language; its value, which all languages share, is made in English."""
    if code == ENGLISH.code:
        return fn

    def computed() -> T:
        try:
            return fn()
        except InputError:
            with using(code):
                return fn()

    return computed


@contextmanager
def _queue() -> Iterator[Callable[[int], None]]:
    """Yield the function that shows a request's position in the queue, for requests that wait; the line disappears with the answer.

    Its place is kept from the start: a line that came only with a long wait would move what follows by one, and
    Streamlit would build every picture below again, under the visitor's hands. What is asked for within a computation
    has no such place: it is asked for in the engine's thread, which is no script.
    """
    if not session():
        yield lambda place: None
        return
    spot, told = st.empty(), False

    def tell(place: int) -> None:
        nonlocal told
        told = True
        spot.caption(
            _("Computing.")
            if place < 1
            else _("Others are computing: {place} before you. Your text is kept.", place=place)
        )

    try:
        yield tell
    finally:
        if told:
            spot.empty()
