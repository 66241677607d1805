"""Who else sees what goes into the page: a lecture room is shown each picture as its lecturer's page draws it.

A session without one pays one look-up a picture. What is seen is given as it is: the one who looks on makes of it what he needs.
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
    """From now on `see(key, picture)` is called for each picture of this session; None for nobody."""
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
