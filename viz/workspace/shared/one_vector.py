"""A translator without attention: two texts, and nothing between them to look at."""

from __future__ import annotations

import streamlit as st

from viz.labels import literal


def show(source: str, output: str) -> None:
    """Draw the source text and, in larger type, the output."""
    with st.container(border=True, gap="small"):
        st.markdown(f":gray[{literal(source)}]")
        st.markdown(f"## {literal(output) or '…'}")
