"""From the head in the full view of Look to the pages that change it, find others like it, and put it beside another."""

from __future__ import annotations

import streamlit as st

from core.run import Run
from viz import pages
from viz.ui import links, pins, state
from viz.ui.pins import View
from viz.workspace._look_heads import Place
from viz.workspace._what_if_link import EDITS, OFF

JOINED = {core: link for link, core in pins.AGGREGATES.items()}


def onward(place: Place, run: Run, how: str = "one") -> None:
    """One row: links to what else can be done with this head, and the pin. `how`: the heads of the layer joined."""
    here = {entry.slug for entry in pages.workspace()} if run.model.spec.kind(place.kind).layered else ()  # one alignment is no head among others
    with st.container(horizontal=True, vertical_alignment="center", gap="medium", key="look.onward"):
        if "what_if" in here:
            links.to("what_if", "Switch this head off", icon=":material/power_settings_new:", **{EDITS: OFF})
        if "find" in here:
            links.to("find", "Heads like this one", icon=":material/search:")
        pins.pin_button(view(place, run, how), key="look.pin")


def view(place: Place, run: Run, how: str = "one") -> View:
    """What the full view shows, as it is pinned."""
    text = run.source.text if run.source else run.side.text
    target = state.read("target", "") if run.source else ""
    return View(run.model.name, text, place.kind, place.layer, JOINED.get(how, place.head), target, run.side.pair or "")
