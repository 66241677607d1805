"""Question and picture: one above the other, or side by side before a room, where both have to fit on one screen."""

from __future__ import annotations

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from viz.ui import lesson


def question_and_picture(question: float = 2, picture: float = 3) -> tuple[DeltaGenerator, DeltaGenerator]:
    """Two places; in Present they are columns of these widths."""
    if lesson.presenting():
        left, right = st.columns([question, picture], gap="large")
        return left, right
    return st.container(), st.container()
