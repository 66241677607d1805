"""Streamlit with our patch, and without: what it forgets, when it is applied, and that the app runs either way."""

from __future__ import annotations

import dataclasses
import logging
from pathlib import Path

import pytest
from streamlit.components.v2.bidi_component.main import _make_trigger_id
from streamlit.runtime.state import session_state
from streamlit.runtime.state.common import WidgetMetadata
from streamlit.runtime.state.session_state import WStates
from streamlit.testing.v1 import AppTest

from viz.platform import streamlit_patches
from viz.platform.streamlit_patches import PATCHES, forget_widgets

ORIGINAL = WStates.remove_stale_widgets


@pytest.fixture
def undone(monkeypatch):
    """Let what a test applies be gone afterwards."""
    monkeypatch.setattr(WStates, "remove_stale_widgets", ORIGINAL)
    monkeypatch.delenv(streamlit_patches.VARIABLE, raising=False)


def test_every_patch_fits_the_installed_version_and_there_are_two_at_most(undone):
    assert len(PATCHES) <= 2
    assert streamlit_patches.apply() == ()
    assert WStates.remove_stale_widgets is not ORIGINAL


@pytest.mark.parametrize("change", ["gone", "changed", "target gone"])
def test_a_patch_that_does_not_fit_is_not_applied_and_said(undone, monkeypatch, logged, change):
    def _is_stale_widget(metadata, active_widget_ids, fragment_ids_this_run):
        return False

    if change == "gone":
        monkeypatch.delattr(session_state, "_is_stale_widget")
    elif change == "changed":
        monkeypatch.setattr(session_state, "_is_stale_widget", _is_stale_widget)
    else:
        monkeypatch.delattr(WStates, "remove_stale_widgets")
    lines = logged("atlas", logging.WARNING)
    (report,) = streamlit_patches.apply()
    assert any(report in line.getMessage() for line in lines) and "forget_widgets" in report
    assert getattr(WStates, "remove_stale_widgets", ORIGINAL) is ORIGINAL


def test_all_patches_can_be_switched_off(undone, monkeypatch):
    monkeypatch.setenv(streamlit_patches.VARIABLE, "off")
    assert len(streamlit_patches.apply()) == 1 and WStates.remove_stale_widgets is ORIGINAL


@pytest.mark.parametrize("off", [None, *(patch.name for patch in PATCHES)], ids=str)
def test_pages_are_drawn_with_all_patches_and_without_each(undone, monkeypatch, off):
    monkeypatch.setattr(streamlit_patches, "PATCHES", tuple(patch for patch in PATCHES if patch.name != off))
    assert streamlit_patches.apply() == ()
    for slug in ("look", "scaling"):
        test = AppTest.from_string(
            "from viz.shell import pages\n"
            f"next(entry for entry in pages.discover() if entry.slug == {slug!r}).page()",
            default_timeout=30,
        )
        assert not test.run().run().exception and test.title


def test_a_patch_says_what_it_is_for():
    for patch in PATCHES:
        assert patch.target in patch.uses and all(patch.uses.values()) and patch.cost
        assert patch.name in _upstream()
        assert dataclasses.replace(patch, uses={"streamlit:no_such_name": "0"}).apply()


def _upstream() -> str:
    return Path(streamlit_patches.__file__).with_name("UPSTREAM.md").read_text("utf-8")


def _widget(key: str, fragment: str | None = None) -> WidgetMetadata:
    return WidgetMetadata(
        id=key,
        deserializer=lambda value: value,
        serializer=lambda value: value,
        value_type="bool_value",
        fragment_id=fragment,
        callback=print,
        callback_args=(key,),
    )


def test_a_widget_that_is_not_drawn_any_more_is_forgotten_one_run_later():
    states, remove = WStates(), forget_widgets.forget_after(ORIGINAL)
    for key in ("here", "gone", "back"):
        states.set_widget_metadata(_widget(key))
    states.set_widget_metadata(_widget("outside", fragment="other"))
    remove(states, frozenset({"here", "outside"}), None)
    assert set(states.widget_metadata) == {
        "here",
        "outside",
        "gone",
        "back",
    }  # a click that is on its way still finds its callback
    remove(states, frozenset({"here", "back", "outside"}), None)
    assert set(states.widget_metadata) == {"here", "outside", "back"}
    for _ in range(2):
        remove(states, frozenset(), ["one"])  # a run of one fragment says nothing of the others
    assert "outside" in states.widget_metadata


def test_what_a_component_says_is_heard_as_long_as_it_is_drawn():
    """Its events are a widget of their own, which no run calls drawn."""
    states, remove = WStates(), forget_widgets.forget_after(ORIGINAL)
    events = _make_trigger_id("stage", "events")
    for key in ("stage", events):
        states.set_widget_metadata(_widget(key))
    for _ in range(3):
        remove(states, frozenset({"stage"}), None)
    assert set(states.widget_metadata) == {"stage", events}
    for _ in range(2):
        remove(states, frozenset(), None)
    assert not states.widget_metadata


def test_what_callbacks_were_given_does_not_pile_up():
    test = AppTest.from_string(
        "import streamlit as st\n"
        "n = st.session_state.setdefault('n', 0)\n"
        "st.session_state.n += 1\n"
        "st.button(f'only in run {n}', on_click=print, args=(n,))\n"
        "st.button('always', key='always')"
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(WStates, "remove_stale_widgets", forget_widgets.forget_after(ORIGINAL))
        for _ in range(8):
            test.run()
            test.button(key="always").click()
        safe = object.__getattribute__(test.session_state, "_state")
        held = object.__getattribute__(safe, "_state")._new_widget_state.widget_metadata
        assert len(held) == 3, list(held)
