"""What Streamlit and Altair make anew each time is made once, and comes out as they make it."""

from __future__ import annotations

import copy
import json
import re
from types import SimpleNamespace

import altair as alt
import numpy as np
import pytest
import streamlit as st
from altair.utils import core as utils
from altair.utils import schemapi
from cheap_pages import HONEST
from streamlit.components.v2.bidi_component.main import _make_trigger_id
from streamlit.components.v2.presentation import make_bidi_component_presenter
from streamlit.cursor import RunningCursor
from streamlit.delta_generator import DeltaGenerator
from streamlit.proto.NewSession_pb2 import Config, CustomThemeConfig, NewSession
from streamlit.runtime import app_session
from streamlit.runtime.state.common import WidgetMetadata
from streamlit.runtime.state.safe_session_state import SafeSessionState
from streamlit.runtime.state.session_state import WStates
from streamlit.testing.v1 import AppTest

from viz.server import spared


@pytest.mark.parametrize(
    "section", ["theme", "theme.light", "theme.dark", "theme.sidebar", "theme.light.sidebar"]
)
def test_the_theme_goes_out_as_streamlit_says_it(section):
    wanted, found, again = CustomThemeConfig(), CustomThemeConfig(), CustomThemeConfig()
    app_session._populate_theme_msg(wanted, section)
    fill = spared._kept(app_session._populate_theme_msg, CustomThemeConfig)
    fill(found, section)
    fill(again, section)
    assert found == again == wanted


def test_the_theme_is_read_once():
    asked = []
    fill = spared._kept(lambda message, section: asked.append(section), CustomThemeConfig)
    for _ in range(3):
        fill(CustomThemeConfig(), "theme")
        fill(CustomThemeConfig(), "theme.dark")
    assert asked == ["theme", "theme.dark"]


def test_settings_and_pages_go_out_as_streamlit_says_them():
    wanted, found = NewSession(), NewSession()
    pages = {
        f"hash{number}": {"page_name": f"a_page_{number}", "icon": "x" * (number % 2)} for number in range(5)
    }
    app_session._populate_config_msg(wanted.config)
    app_session.AppSession._populate_app_pages(None, wanted, pages)
    spared._kept(app_session._populate_config_msg, Config)(found.config)
    listed = spared._listed(app_session.AppSession._populate_app_pages)
    listed(None, found, pages)
    assert found == wanted and len(found.app_pages) == 5
    other = NewSession()
    listed(None, other, {"hash9": {"page_name": "other", "icon": ""}})
    assert [page.url_pathname for page in other.app_pages] == ["other"]


def _nested(deep: int) -> tuple[DeltaGenerator, ...]:
    stack = [DeltaGenerator(cursor=RunningCursor(0, ()))]
    for level in range(deep):
        stack.append(
            DeltaGenerator(
                cursor=RunningCursor(0, (*range(level + 1),)), parent=stack[-1], block_type="vertical"
            )
        )
    return tuple(stack)


def test_containers_are_copied_once_each_and_stay_nested(monkeypatch):
    monkeypatch.setattr(DeltaGenerator, "__deepcopy__", spared._copied)
    made = []
    begin = DeltaGenerator.__init__
    monkeypatch.setattr(
        DeltaGenerator,
        "__init__",
        lambda self, *given, **named: (made.append(self), begin(self, *given, **named))[1],
    )
    stack = _nested(6)
    made.clear()
    copied = copy.deepcopy(stack)
    assert len(made) == len(stack)
    for before, after, outside in zip(stack[1:], copied[1:], copied, strict=False):
        assert after is not before and after._parent is outside
        assert (
            after._block_type == before._block_type
            and after._get_delta_path_str() == before._get_delta_path_str()
        )
        assert after._cursor is not before._cursor


def test_a_copy_goes_on_by_itself(monkeypatch):
    monkeypatch.setattr(DeltaGenerator, "__deepcopy__", spared._copied)
    stack = _nested(2)
    copied = copy.deepcopy(stack)
    copied[-1]._cursor.lock_element()
    assert (stack[-1]._cursor.index, copied[-1]._cursor.index) == (0, 1)


def _chart() -> alt.LayerChart:
    """Short names, constants, lists, dates, arrays, conditions: what a channel and the data may hold."""
    rows = alt.Chart(
        alt.Data(
            values=[
                {"a": 1, "b": 2.5, "c": None, "d": True, "e": "x"},
                {"a": np.float32(0.5), "b": np.int64(3), "c": float("inf"), "d": False, "e": "y"},
            ]
        )
    )
    click = alt.selection_point(name="click", fields=["e"])
    bars = rows.mark_bar().encode(
        x="a:Q",
        x2="b:Q",
        y=alt.value(3),
        color=alt.value("red"),
        order="b:O",
        detail=["d:N", "e:N"],
        tooltip=["a:Q", alt.Tooltip("b:Q")],
    )
    dots = (
        rows.mark_point()
        .encode(
            x=alt.X("a:Q", axis=alt.Axis(values=[0, 1])),
            y=alt.datum(2),
            opacity=alt.condition(click, alt.value(1), alt.value(0.2)),
            size="mean(b):Q",
        )
        .add_params(click)
    )
    text = (
        rows.mark_text()
        .encode(text="e:N", x=alt.value("width"), y=alt.value(alt.expr("height / 2")))
        .transform_filter("datum.d")
        .properties(width=80)
    )
    return alt.layer(bars, dots, text).properties(title="t", height=200).interactive()


@pytest.fixture
def altair_spared(monkeypatch):
    for (where, name), honest in HONEST.items():  # which pages drawn by tests spare already
        monkeypatch.setattr(where, name, honest)

    def spare():
        monkeypatch.setattr(
            utils._ChannelCache, "_wrap_in_channel", spared._named(utils._ChannelCache._wrap_in_channel)
        )
        monkeypatch.setattr(schemapi, "_todict", spared._plain(schemapi._todict))
        monkeypatch.setattr(schemapi, "_deep_copy", spared._sharing(schemapi._deep_copy))

    return spare


def _written(chart: alt.TopLevelMixin) -> str:
    return re.sub(r"view_\d+", "view", json.dumps(chart.to_dict(), sort_keys=True))


def test_a_chart_is_the_one_that_altair_makes(altair_spared):
    wanted = _written(_chart())
    altair_spared()
    assert _written(_chart()) == wanted
    assert _written(_chart().copy()) == wanted


def test_a_copy_of_a_chart_may_be_changed(altair_spared):
    altair_spared()
    chart = alt.Chart(alt.Data(values=[{"a": 1}])).mark_bar(opacity=0.5).encode(x=alt.X("a:Q", title="one"))
    copied = chart.copy()
    copied.encoding.x["title"], copied.mark["opacity"] = "two", 1
    assert (chart.encoding.x["title"], chart.mark["opacity"]) == ("one", 0.5)
    assert copied.data.values is chart.data.values


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
    states, remove = WStates(), spared._forgetting(WStates.remove_stale_widgets)
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
    states, remove = WStates(), spared._forgetting(WStates.remove_stale_widgets)
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
        patch.setattr(WStates, "remove_stale_widgets", spared._forgetting(WStates.remove_stale_widgets))
        for _ in range(8):
            test.run()
            test.button(key="always").click()
        safe = object.__getattribute__(test.session_state, "_state")
        held = object.__getattribute__(safe, "_state")._new_widget_state.widget_metadata
        assert len(held) == 3, list(held)


def test_a_field_of_text_is_told_what_all_the_state_says(monkeypatch):
    def app():
        import streamlit as st
        from streamlit.runtime.state import get_session_state

        st.session_state["mine"] = None
        st.text_input("a", "first", key="a")
        st.slider("unnamed")
        state, all_of_it = get_session_state(), dict(get_session_state()._state.filtered_state)
        keys = [*all_of_it, *state._state._keys(), "nobody", "mine"]
        found = {key: state.filtered_state[key] for key in keys if key in state.filtered_state}
        same = found == all_of_it == dict(state.filtered_state.items())
        st.text(f"{same} {len(state.filtered_state)} {sorted(st.session_state)}")

    monkeypatch.setattr(SafeSessionState, "filtered_state", spared._asked(SafeSessionState.filtered_state))
    test = AppTest.from_function(app).run()
    assert not test.exception and test.text[0].value == "True 2 ['a', 'mine']"
    assert test.text_input[0].set_value("second").run().text_input[0].value == "second"


@pytest.mark.parametrize(
    "said",
    [None, [{"event": "go", "value": 3}], {"event": "go", "value": {"a": 1}}, ["nonsense"]],
    ids=["nothing", "one", "bare", "nonsense"],
)
def test_what_a_component_says_is_read_as_streamlit_reads_it(said):
    state = SimpleNamespace(
        _new_widget_state=_Widgets({"events": said} if said else {}, "json_trigger_value"),
    )
    theirs = make_bidi_component_presenter("events", "id", {"kept"})({"kept": 1}, state)
    found = spared._presenter("events", "id", {"kept"})({"kept": 1}, state)
    assert found == theirs and found.kept == 1 and found.other is None
    assert copy.deepcopy(found) == copy.copy(found) == found
    assert spared._presenter("events")("plain", state) == "plain"
    other = SimpleNamespace(_new_widget_state=_Widgets({}, "string_value"))
    assert spared._presenter("events")({"kept": 1}, other) == {"kept": 1}


class _Widgets(dict):
    def __init__(self, values, value_type):
        super().__init__(values)
        self.widget_metadata = {"events": SimpleNamespace(value_type=value_type)}


def test_commands_do_the_same_without_the_stopwatch(monkeypatch):
    kinds = [
        (kind, name)
        for kind in DeltaGenerator.__mro__
        for name, made in vars(kind).items()
        if spared._timed(made)
    ]
    kept = [(kind, name, vars(kind)[name]) for kind, name in kinds] + [
        (st, *item) for item in vars(st).items()
    ]
    try:
        spared._untimed()
        assert len(kinds) > 50 and not any(spared._timed(vars(kind)[name]) for kind, name in kinds)
        assert not any(
            spared._timed(getattr(made, "__func__", made))
            for name, made in vars(st).items()
            if name[0] != "_"
        )

        def app():
            import streamlit as st

            with st.container():
                st.write("words", st.columns(2))
            if st.button("press"):
                st.stop()
            st.pills("which", ["a", "b"], key="which")

        test = AppTest.from_function(app).run()
        assert not test.exception and test.markdown[0].value == "words" and len(test.button_group) == 1
        assert not test.button[0].click().run().button_group
    finally:
        for kind, name, made in kept:
            setattr(kind, name, made)
