"""Observation of the pictures of a page: a lecture room gets each picture as its lecturer's page draws it.

A session without an observer pays one look-up per picture. Pictures are passed as they are: the observer converts them as needed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import streamlit as st

from viz.instruments.kit.payload import Packet

_SLOT = "_instrument_witness"


@dataclass(frozen=True)
class Chart:
    """A chart of Vega-Lite in light colours, its data as tables; `alt`: what it is called."""

    tree: Mapping[str, Any]
    alt: str


Seen = Packet | Chart | None
"""A picture; None for one that cannot be drawn elsewhere."""


def watch(see: Callable[[str, Seen], None] | None) -> None:
    """Call `see(key, picture)` for each further picture of this session; None stops that."""
    if see is None:
        st.session_state.pop(_SLOT, None)
    else:
        st.session_state[_SLOT] = see


def watched() -> bool:
    """Whether anybody looks on in this session."""
    return _SLOT in st.session_state


def saw(key: str, picture: Seen) -> None:
    """A picture goes into the page."""
    if see := st.session_state.get(_SLOT):
        see(key, picture)
