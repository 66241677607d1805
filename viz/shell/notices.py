"""Calm boxes in three parts: what is wrong, the rule, what to do next. Text in them is never markup."""

from __future__ import annotations

from contextvars import ContextVar

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

_place: ContextVar[DeltaGenerator | None] = ContextVar("place", default=None)


def reserve_notice_area() -> None:
    """Reserve the place, here in the page, where `show_in_area` draws the notices of this run."""
    _place.set(st.container())


def area() -> DeltaGenerator:
    """Return the reserved area, or the place where the page is drawing if none is reserved."""
    return _place.get() or st.container()


def show_in_area(wrong: str, rule: str, remedy: str) -> None:
    """Show a notice in the reserved area."""
    with area():
        box(wrong, rule, remedy)


def box(wrong: str, rule: str, remedy: str, icon: str = ":material/info:") -> None:
    """Draw the three parts in a bordered box where the page is drawing."""
    with st.container(border=True, horizontal=True, wrap=False, gap="small"):
        st.markdown(icon, width="content")
        with st.container(gap=None):
            st.text(wrong)
            st.text(f"{rule} {remedy}")
