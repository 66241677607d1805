"""A page that has to wait says so, and is quiet again when the answer is there."""

from __future__ import annotations

import inspect
import logging

import pytest
from streamlit.runtime.scriptrunner import script_runner
from streamlit.testing.v1 import AppTest

import core.serving.engine
from core.errors import InputError
from viz.languages import _, using
from viz.platform import run_context
from viz.widgets import engine_client


@pytest.fixture(autouse=True)
def _engine(monkeypatch):
    with core.serving.engine.Engine() as engine:
        monkeypatch.setattr(core.serving.engine, "_default", engine)
        yield


SLOW = """
import time, streamlit as st
from viz.widgets import engine_client
told, real = [], st.empty
def spy():
    spot = real()
    caption = spot.caption
    spot.caption = lambda text: (told.append(text), caption(text))
    return spot
st.empty = spy
try:
    st.text(engine_client.submit("slow", lambda: time.sleep(0.8) or "done", 1))
    st.text(engine_client.submit("quick", lambda: "at once", 1))
    st.text(f"told {len(told) >= 1} {set(told)}")
finally:
    st.empty = real
"""


def test_waiting_is_told_and_forgotten():
    test = AppTest.from_string(SLOW, default_timeout=20).run()
    assert not test.exception
    assert [element.value for element in test.text] == ["done", "at once", "told True {'Computing.'}"]
    assert len(test.caption) == 0


PLACES = """
import time, streamlit as st
from viz.widgets import engine_client
seconds = st.slider("seconds", 0.0, 1.0, 0.0)
engine_client.submit(("any", seconds), lambda: time.sleep(seconds), 1)
below = st.empty()
st.text(below._cursor.delta_path)
"""


def test_waiting_moves_nothing_below():
    """What comes after has the same place with and without a wait: Streamlit would build it anew, under the hands."""
    test = AppTest.from_string(PLACES, default_timeout=20).run()
    at_once = test.text[0].value
    test.slider[0].set_value(0.8).run()
    assert not test.exception
    assert test.text[0].value == at_once


NESTED = """
import streamlit as st
from viz.widgets import engine_client
with engine_client.many() as ask:
    st.text(ask("outer", lambda: ask("inner", lambda: engine_client.submit("innermost", lambda: "both", 1), 1), 1))
"""


def test_what_is_asked_within_a_computation_touches_no_session(logged):
    """The engine's thread is no script: Streamlit would warn in the log at each touch."""
    lines = logged()
    test = AppTest.from_string(NESTED, default_timeout=20).run()
    assert [element.value for element in test.text] == ["both"]
    assert not [record for record in lines if "atlas-engine" in record.getMessage()]


def test_only_the_noise_of_a_lost_part_is_kept_from_the_log():
    said: list[str] = []
    source, keep = logging.getLogger(script_runner.__name__), logging.Handler()
    keep.emit = lambda record: said.append(record.getMessage())
    source.addHandler(keep)
    try:
        assert run_context._NO_FRAGMENT in inspect.getsource(script_runner)
        source.warning(f"{run_context._NO_FRAGMENT} with id %s.", "abc")
        source.warning("The disk is full.")
    finally:
        source.removeHandler(keep)
    assert said == ["The disk is full."]


def test_words_of_ours_are_computed_and_kept_in_each_language() -> None:
    def refused() -> None:
        raise InputError(_("Type a word"), "", "")

    with using("es"):
        spanish = engine_client.submit(*engine_client.per_language("test.words", lambda: _("Course")), 1)
        with pytest.raises(InputError, match=_("Type a word")):
            engine_client.submit("test.refused", refused, 1)
    english = engine_client.submit(*engine_client.per_language("test.words", lambda: _("Course")), 1)
    assert english == "Course" != spanish == "Curso"


def test_a_refused_computation_is_made_once_in_english():
    made = []

    def compute() -> None:
        made.append(1)
        raise InputError("Nothing is here.", "", "")

    with pytest.raises(InputError):
        engine_client.submit("refused once", compute, 1)
    assert made == [1]
