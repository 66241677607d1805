"""A translator without attention: two texts, and nothing between them to look at."""

from __future__ import annotations

import streamlit as st

from viz.labels import literal


def show(source: str, written: str) -> None:
    """What it read and, in larger type, what it wrote."""
    with st.container(border=True, gap="small"):
        st.markdown(f":gray[{literal(source)}]")
        st.markdown(f"## {literal(written) or '…'}")
