"""An exhibit in present mode: its head in one row, the question at the side, the picture beside it.

A screen of 1280 x 720 has room for a claim, its steps, a question and a picture only side by side. In Present the
exhibit is drawn into the stage at the right; title and steps go to the head, questions to the side, which takes no
width while it is empty (present.css). Anywhere else all three are the place where the page is drawing.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from viz.shell import state

MAX_HEIGHT = 400
"""Pixels: what the head and a sentence of numbers leave for a figure."""
_places: ContextVar[tuple[DeltaGenerator, DeltaGenerator] | None] = ContextVar("places", default=None)


@contextmanager
def exhibit_layout() -> Iterator[None]:
    """Draw an exhibit inside this: in present mode between a head and a side, else without a layout."""
    if not state.presenting():
        yield
        return
    head = st.container(key="room-head")
    with st.container(key="room-body"):
        side, stage = st.columns([2, 3], gap="medium")
    held = _places.set((head, side))
    try:
        with stage:
            yield
    finally:
        _places.reset(held)


def head_area() -> AbstractContextManager[object]:
    """Return the container for title and steps."""
    return _place(0)


def side_area() -> AbstractContextManager[object]:
    """Return the container for a question: the side in present mode, else the place where the page is drawing."""
    return _place(1)


def full_width() -> AbstractContextManager[object]:
    """Return the container for a picture that needs the whole width: in present mode the question goes above it, as a strip."""
    return st.container(key="room-wide") if _places.get() else nullcontext()


def _place(index: int) -> AbstractContextManager[object]:
    places = _places.get()
    return places[index] if places else nullcontext()
