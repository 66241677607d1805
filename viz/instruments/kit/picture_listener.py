"""Listener to the pictures of a page: a lecture room gets each picture as its lecturer's page draws it.

A session without an observer pays one look-up per picture. Pictures are passed as they are: the observer converts them as needed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import streamlit as st

from viz.instruments.kit.payload import Packet

_SLOT = "atlas.picture_listener"


@dataclass(frozen=True)
class Chart:
    """A chart of Vega-Lite in light colours, its data as tables; `alt`: what it is called."""

    tree: Mapping[str, Any]
    alt: str


AnyPicture = Packet | Chart | None
"""A picture; None for one that cannot be drawn elsewhere."""


def set_listener(listener: Callable[[str, AnyPicture], None] | None) -> None:
    """Call `listener(key, picture)` for each further picture of this session; None stops that."""
    if listener is None:
        st.session_state.pop(_SLOT, None)
    else:
        st.session_state[_SLOT] = listener


def has_listener() -> bool:
    """Return whether this session has a listener."""
    return _SLOT in st.session_state


def notify(key: str, picture: AnyPicture) -> None:
    """Pass a picture of the page to the session's listener, if it has one."""
    if listener := st.session_state.get(_SLOT):
        listener(key, picture)
