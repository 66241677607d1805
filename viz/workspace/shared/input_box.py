"""Where the visitor says what the model reads: a box for a sentence, of a model of pictures a canvas."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from core.model import Model
from viz.instruments.picture import patches
from viz.widgets import controls, doodle
from viz.workspace.shared import presets, reading_hints
from viz.workspace.shared.tasks import Task

CANVAS = 168
"""Pixels of the canvas: a finger has room on it, and the page's own picture, below it, is seen at once."""


def draw(model: Model, task: Task, first: str, *, drops: Sequence[str] = ()) -> str:
    """Draw the input and return it; it is kept as `text`. `first` is its value before any choice, and a change takes back the choices named in `drops`."""
    with st.container(gap="xxsmall", key="landing-box"):
        if patches.reads_patches(model):
            return doodle.draw(
                "text", first, title="", hint="", height=CANVAS, preview=False, upload=False, drops=drops
            )
        hint = "Type a sentence and press Enter"
        text = controls.text(task.box, "text", first, quiet=True, placeholder=hint, drops=drops)
        reading_hints.show(model, task.box)
    return text


def menu(model: Model, *, with_empty_box: bool = False) -> None:
    """Draw the menu of ready-made sentences, and `with_empty_box` a button for an own one; a canvas has its doodles beside it, and here a place for a file."""
    if patches.reads_patches(model):
        doodle.place("text")
        return
    if with_empty_box:
        with st.container(key="leads-to-box", width="content"):
            st.button("Your own", icon=":material/edit:", type="tertiary", on_click=presets.put_own)
    presets.menu(model)
