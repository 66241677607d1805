"""The notes on a ready-made sentence: what there is to see in it, whether the model met its promise, and whose translation is in the picture."""

from __future__ import annotations

from typing import Literal

import streamlit as st

from core.analysis.loops import unfinished_note
from core.analysis.preset_checks import check_preset
from core.data.texts import Preset
from core.run import Run
from viz.labels import literal, shorten
from viz.languages import _
from viz.shell import state
from viz.shell.selection import Selection
from viz.workspace.shared import presets


def show(selection: Selection, run: Run, *, side: Literal["left", "center"]) -> None:
    """Draw quiet lines below the picture; none for a sentence of the visitor's that the model translates itself, to an end."""
    spec, given = run.model.spec, bool(selection.target)
    row = presets.preset_in_boxes(run.model.name, spec)
    failed = "" if given else _failed(presets.preset_in_boxes(run.model.name, spec, selection.text), run)
    if row is None and not given and not failed:
        return
    with st.container(gap=None, horizontal_alignment=side):
        if failed:
            st.text(failed, width="content")
        if row:
            st.markdown(f":gray[{literal(_(row.note))}]", width="content")
        if given:
            st.button(
                _("This translation was given. Show the model's own"),
                type="tertiary",
                icon=":material/translate:",
                on_click=lambda: state.write(target=None),
            )
        elif row and spec.has_source and run.target_text != row.second:
            st.button(
                _("Read “{second}” instead", second=literal(shorten(row.second, 60))),
                type="tertiary",
                icon=":material/translate:",
                on_click=lambda: state.write(target=row.second),
            )


def _failed(row: Preset | None, run: Run) -> str:
    """Return that the model finds no end, or its output in place of the promise of the ready-made sentence."""
    if unfinished := unfinished_note(run):
        return unfinished
    found = check_preset(row, run) if row else None
    return _("A telling error: {summary}", summary=found.summary) if found and not found.passed else ""
