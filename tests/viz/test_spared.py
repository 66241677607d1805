"""What Streamlit makes anew in every run is made once, and comes out as Streamlit makes it."""

from __future__ import annotations

import copy

import pytest
from streamlit.cursor import RunningCursor
from streamlit.delta_generator import DeltaGenerator
from streamlit.proto.NewSession_pb2 import CustomThemeConfig
from streamlit.runtime import app_session

from viz.ui import spared


@pytest.mark.parametrize("section", ["theme", "theme.light", "theme.dark", "theme.sidebar", "theme.light.sidebar"])
def test_the_theme_goes_out_as_streamlit_says_it(section):
    wanted, found, again = CustomThemeConfig(), CustomThemeConfig(), CustomThemeConfig()
    app_session._populate_theme_msg(wanted, section)
    fill = spared._kept(app_session._populate_theme_msg)
    fill(found, section)
    fill(again, section)
    assert found == again == wanted


def test_the_theme_is_read_once():
    asked = []
    fill = spared._kept(lambda message, section: asked.append(section))
    for _ in range(3):
        fill(CustomThemeConfig(), "theme")
        fill(CustomThemeConfig(), "theme.dark")
    assert asked == ["theme", "theme.dark"]


def _nested(deep: int) -> tuple[DeltaGenerator, ...]:
    stack = [DeltaGenerator(cursor=RunningCursor(0, ()))]
    for level in range(deep):
        stack.append(DeltaGenerator(cursor=RunningCursor(0, (*range(level + 1),)), parent=stack[-1], block_type="vertical"))
    return tuple(stack)


def test_containers_are_copied_once_each_and_stay_nested(monkeypatch):
    monkeypatch.setattr(DeltaGenerator, "__deepcopy__", spared._copied)
    made = []
    begin = DeltaGenerator.__init__
    monkeypatch.setattr(DeltaGenerator, "__init__", lambda self, *given, **named: (made.append(self), begin(self, *given, **named))[1])
    stack = _nested(6)
    made.clear()
    copied = copy.deepcopy(stack)
    assert len(made) == len(stack)
    for before, after, outside in zip(stack[1:], copied[1:], copied, strict=False):
        assert after is not before and after._parent is outside
        assert after._block_type == before._block_type and after._get_delta_path_str() == before._get_delta_path_str()
        assert after._cursor is not before._cursor


def test_a_copy_goes_on_by_itself(monkeypatch):
    monkeypatch.setattr(DeltaGenerator, "__deepcopy__", spared._copied)
    stack = _nested(2)
    copied = copy.deepcopy(stack)
    copied[-1]._cursor.lock_element()
    assert (stack[-1]._cursor.index, copied[-1]._cursor.index) == (0, 1)
