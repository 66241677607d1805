"""Calm boxes in three parts: what is wrong, the rule, what to do next. Text in them is never markup."""

from __future__ import annotations

from contextvars import ContextVar

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

_place: ContextVar[DeltaGenerator | None] = ContextVar("place", default=None)


def make_place() -> None:
    """Reserve the spot, below the title, where notices of this run appear."""
    _place.set(st.container())


def place() -> DeltaGenerator:
    """The reserved spot, or right here when a page has reserved none."""
    return _place.get() or st.container()


def tell(wrong: str, rule: str, remedy: str) -> None:
    """Say something at the reserved spot."""
    with place():
        box(wrong, rule, remedy)


def box(wrong: str, rule: str, remedy: str, icon: str = ":material/info:") -> None:
    """The three parts in a bordered box, right here."""
    with st.container(border=True, horizontal=True, wrap=False, gap="small"):
        st.markdown(icon, width="content")
        with st.container(gap=None):
            st.text(wrong)
            st.text(f"{rule} {remedy}")
