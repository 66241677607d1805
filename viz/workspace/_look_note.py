"""What there is to see in a ready-made sentence, and whose translation is in the picture."""

from __future__ import annotations

from typing import Literal

import streamlit as st

from core.run import Run
from viz.labels import literal, shorten
from viz.ui import state
from viz.workspace import _presets


def show(run: Run, *, given: bool, side: Literal["left", "center"]) -> None:
    """One quiet line below the picture; nothing for a sentence of the visitor's that the model translates itself."""
    spec = run.model.spec
    row = _presets.chosen(run.model.name, spec)
    if row is None and not given:
        return
    with st.container(gap=None, horizontal_alignment=side):
        if row:
            st.markdown(f":gray[{literal(row.note)}]", width="content")
        if given:
            st.button("This translation was given. Show the model's own", type="tertiary", icon=":material/translate:", on_click=_own)
        elif row and spec.has_source and run.target_text != row.second:
            st.button(f"Read “{literal(shorten(row.second, 60))}” instead", type="tertiary", icon=":material/translate:",
                      on_click=lambda: state.write(target=row.second))  # fmt: skip


def _own() -> None:
    state.write(target=None)
