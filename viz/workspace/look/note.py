"""What there is to see in a ready-made sentence, whether the model did with it what was promised, and whose translation is in the picture."""

from __future__ import annotations

from typing import Literal

import streamlit as st

from core.analysis.loops import unfinished_note
from core.analysis.preset_checks import check_preset
from core.data.texts import Preset
from core.run import Run
from viz.labels import literal, shorten
from viz.shell import state
from viz.workspace.shared import presets


def show(run: Run, *, given: bool, side: Literal["left", "center"]) -> None:
    """Quiet lines below the picture; nothing for a sentence of the visitor's that the model translates itself, to an end."""
    spec = run.model.spec
    row = presets.chosen(run.model.name, spec)
    opening = (run.source or run.side).text
    failed = "" if given else _failed(presets.chosen(run.model.name, spec, opening), run)
    if row is None and not given and not failed:
        return
    with st.container(gap=None, horizontal_alignment=side):
        if failed:
            st.text(failed, width="content")
        if row:
            st.markdown(f":gray[{literal(row.note)}]", width="content")
        if given:
            st.button(
                "This translation was given. Show the model's own",
                type="tertiary",
                icon=":material/translate:",
                on_click=_own,
            )
        elif row and spec.has_source and run.target_text != row.second:
            st.button(
                f"Read “{literal(shorten(row.second, 60))}” instead",
                type="tertiary",
                icon=":material/translate:",
                on_click=lambda: state.write(target=row.second),
            )


def _failed(row: Preset | None, run: Run) -> str:
    """That the model finds no end, or what it did instead of what the ready-made sentence promised."""
    if told := unfinished_note(run):
        return told
    found = check_preset(row, run) if row else None
    return f"A telling error: {found.summary}" if found and not found.passed else ""


def _own() -> None:
    state.write(target=None)
