"""What Streamlit makes anew in every run of everybody, and Altair for every field of a chart, though it comes out the same.

(To be reported to Streamlit: `DeltaGenerator.__deepcopy__` copies its parents without the memo, so each fragment copies the
containers around it as often as they are deep; and every run fills the messages of theme, settings and pages anew. To Altair:
`SchemaBase.from_dict` hashes the schemas of all its classes for each `x2="end:Q"`, `_todict` asks of every number of the data
whether it is a `SchemaLike`, and the rows are copied whenever a chart is laid into another. And to Streamlit again: to see
whether its own value is None, a field of text gathers those of all widgets.)

And what Streamlit keeps of a visitor for as long as he stays, though nobody asks for it any more: every widget that he ever saw,
with what its callback was given, here whole runs of a model. (To be reported: `WStates.remove_stale_widgets` lets go of the
values, not of `widget_metadata`.)
"""

from __future__ import annotations

import copy
import functools
import inspect
from collections.abc import Iterator, Mapping
from types import FunctionType, MethodType
from typing import Any

import streamlit as st
from altair.utils import core, schemapi
from streamlit import config
from streamlit.components.v2.bidi_component import main as bidi
from streamlit.components.v2.bidi_component.constants import EVENT_DELIM
from streamlit.delta_generator import DeltaGenerator
from streamlit.proto.NewSession_pb2 import Config, CustomThemeConfig, NewSession
from streamlit.runtime import app_session, metrics_util
from streamlit.runtime.state import session_state
from streamlit.runtime.state.common import GENERATED_ELEMENT_ID_PREFIX
from streamlit.runtime.state.safe_session_state import SafeSessionState

PLAIN = frozenset({str, int, float, bool, type(None)})
WITHOUT_PARTS = PLAIN | {type(schemapi.Undefined)}
ROWS = "values"
TOLD = "json_trigger_value"
EVENTS = f"{session_state.STREAMLIT_INTERNAL_KEY_PREFIX}_"


def spare() -> None:
    """From now on. The settings are those of the start."""
    app_session._populate_theme_msg = _kept(app_session._populate_theme_msg, CustomThemeConfig)
    app_session._populate_config_msg = _kept(app_session._populate_config_msg, Config)
    app_session.AppSession._populate_app_pages = _listed(app_session.AppSession._populate_app_pages)  # type: ignore[method-assign]
    DeltaGenerator.__deepcopy__ = _copied  # type: ignore[method-assign]
    session_state.WStates.remove_stale_widgets = _forgetting(session_state.WStates.remove_stale_widgets)  # type: ignore[method-assign]
    core._ChannelCache._wrap_in_channel = _named(core._ChannelCache._wrap_in_channel)  # type: ignore[method-assign]
    schemapi._todict = _plain(schemapi._todict)
    schemapi._deep_copy = _sharing(schemapi._deep_copy)
    bidi.make_bidi_component_presenter = _presenter
    if not config.get_option("browser.gatherUsageStats"):
        _untimed()
    SafeSessionState.filtered_state = _asked(SafeSessionState.filtered_state)  # type: ignore[method-assign]


def _untimed() -> None:
    """Commands without the stopwatch around each, which times them for statistics that are not gathered."""
    for kind in DeltaGenerator.__mro__:
        for name, made in [*vars(kind).items()]:
            if _timed(made):
                setattr(kind, name, inspect.unwrap(made))
    for name, made in [*vars(st).items()]:
        if isinstance(made, MethodType) and _timed(made.__func__):
            setattr(st, name, getattr(made.__self__, name))
        elif _timed(made) and not name.startswith("_"):
            setattr(st, name, inspect.unwrap(made))


def _timed(made: Any) -> bool:
    return isinstance(made, FunctionType) and made.__code__.co_filename == metrics_util.__file__


def _kept(fill: Any, kind: type[Any]) -> Any:
    """`fill` of a message of this kind from the settings (of the theme: of one section), done once."""

    @functools.cache
    def filled(*section: str) -> Any:
        message = kind()
        fill(message, *section)
        return message

    def copied(message: Any, *section: str) -> None:
        message.MergeFrom(filled(*section))

    return copied


def _listed(fill: Any) -> Any:
    """`fill` of the list of pages, which is everybody's."""

    @functools.lru_cache(8)
    def filled(*pages: tuple[str, str, str]) -> NewSession:
        message = NewSession()
        fill(None, message, {key: {"page_name": name, "icon": icon} for key, name, icon in pages})
        return message

    def copied(self: Any, message: NewSession, pages: dict[str, Any]) -> None:
        message.MergeFrom(filled(*((key, page["page_name"], page["icon"]) for key, page in pages.items())))

    return copied


def _copied(self: DeltaGenerator, memo: dict[int, Any]) -> DeltaGenerator:
    """A copy with its parents, each copied once."""
    found = DeltaGenerator(
        root_container=self._root_container,
        cursor=copy.deepcopy(self._cursor, memo),
        parent=copy.deepcopy(self._parent, memo),
        block_type=self._block_type,
    )
    found._form_data = copy.deepcopy(self._form_data, memo)
    found._creating_fragment_id = self._creating_fragment_id
    return found


class _Drawn(dict[str, Any]):
    """Widgets by name, and which of them the last run did not draw."""

    stale: frozenset[str] = frozenset()


def _forgetting(remove: Any) -> Any:
    """`remove` of the values of widgets that are not drawn any more; what they were goes one run later, for a click that is on its way."""

    def removed(self: Any, active: frozenset[str], fragments: list[str] | None) -> None:
        remove(self, active, fragments)
        found = self.widget_metadata
        stale = frozenset(
            key
            for key, metadata in found.items()
            if _component(key) not in active and session_state._is_stale_widget(metadata, active, fragments)
        )
        before = found.stale if isinstance(found, _Drawn) else frozenset()
        self.widget_metadata = _Drawn(
            {key: metadata for key, metadata in found.items() if key not in stale & before}
        )
        self.widget_metadata.stale = stale

    return removed


def _asked(gather: Any) -> Any:
    """`gather`, a property that gathers all of a visitor's state, only for who needs all."""
    return property(functools.partial(_Asked, gather.fget))


class _Asked(Mapping[str, Any]):
    """What a visitor's widgets are set to, gathered for who asks for all of it; a field of text asks for its own value."""

    def __init__(self, gather: Any, state: SafeSessionState) -> None:
        self._gather, self._state = gather, state

    def __getitem__(self, key: str) -> Any:
        if key.startswith((GENERATED_ELEMENT_ID_PREFIX, session_state.STREAMLIT_INTERNAL_KEY_PREFIX)):
            raise KeyError(key)
        return self._state[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._gather(self._state))

    def __len__(self) -> int:
        return len(self._gather(self._state))

    def __repr__(self) -> str:
        return repr(self._gather(self._state))


class _Events(dict[str, Any]):
    """What a component says: its events of now, and what it keeps. What is written here goes nowhere: a component is told by its data."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # what Python asks of an object is no event
            raise AttributeError(name)
        return self.get(name)


def _presenter(events: str, *_: Any) -> Any:
    """How what a component says is read: its `events` of now beside what it keeps. (Streamlit's makes a class for every reading.)"""

    def present(kept: Any, state: Any) -> Any:
        found = state._new_widget_state
        if not isinstance(kept, dict) or getattr(found.widget_metadata.get(events), "value_type", "") != TOLD:
            return kept
        said = found.get(events)
        events_now = (one for one in (said if isinstance(said, list) else [said]) if isinstance(one, dict))
        return _Events({one["event"]: one.get("value") for one in events_now if "event" in one} | kept)

    return present


def _component(key: str) -> str:
    """Whose events this widget gathers: a component is drawn by its own name, what it says to Python is kept under another."""
    return key.removeprefix(EVENTS).rpartition(EVENT_DELIM)[0] if key.startswith(EVENTS) else key


def _named(wrap: Any) -> Any:
    """`wrap` of a channel, which a field's short name ("end:Q") and a constant make without a search."""

    def wrapped(self: Any, obj: Any, encoding: str) -> Any:
        kinds = self.name_to_channel.get(encoding, {})
        if isinstance(obj, str) and "field" in kinds:
            return kinds["field"](obj)
        if (
            isinstance(obj, dict)
            and list(obj) == ["value"]
            and type(obj["value"]) in PLAIN
            and "value" in kinds
        ):
            return kinds["value"](obj["value"])
        return wrap(self, obj, encoding)

    return wrapped


def _plain(convert: Any) -> Any:
    """`convert` to what JSON has, which these are already."""

    def converted(obj: Any, *how: Any, **named: Any) -> Any:
        return obj if type(obj) in PLAIN else convert(obj, *how, **named)

    return converted


def _sharing(copy: Any) -> Any:
    """`copy` of a part of a chart, which has the rows of its data in common with it."""

    def copied(obj: Any, by_ref: set[str]) -> Any:
        return obj if type(obj) in WITHOUT_PARTS else copy(obj, by_ref if ROWS in by_ref else {*by_ref, ROWS})

    return copied
