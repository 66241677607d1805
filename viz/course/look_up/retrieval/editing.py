"""A small table that a visitor edits, kept in the link: the page says what it holds, and the edits go there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd
import streamlit as st

from viz.shell import state


def edited(
    frame: pd.DataFrame,
    name: str,
    pack: Callable[[pd.DataFrame], str],
    *,
    grows: bool = False,
    **options: Any,
) -> None:
    """Draw `frame` for editing; a change is written to the link as `name`, packed by `pack`, and the page runs again.

    Streamlit keeps edits as differences from the frame it was given. So that frame stays the same while it is edited, and a
    new turn begins when the link says something that these edits did not make (a preset, "Start over").
    """
    slot, now = f"edited:{name}", pack(frame)
    held = st.session_state.get(slot)
    if held is None or held["said"] != now:
        held = st.session_state[slot] = {
            "turn": (held or {"turn": 0})["turn"] + 1,
            "frame": frame,
            "said": now,
        }
    found = st.data_editor(
        held["frame"],
        key=f"{slot}.{held['turn']}",
        num_rows="dynamic" if grows else "fixed",
        hide_index=True,
        width="stretch",
        **options,
    )
    said = pack(found)
    if said != now:
        held["said"] = said
        state.write(**{name: said})
        st.rerun()
