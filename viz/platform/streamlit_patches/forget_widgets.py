"""Streamlit keeps every widget that a visitor ever saw, with the arguments of its callback: here whole runs of a model.

`WStates.remove_stale_widgets` deletes the values of widgets that are no longer drawn, but keeps their `widget_metadata`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from viz.platform.streamlit_patches.patch import Patch

STATE = "streamlit.runtime.state.session_state"
COMPONENT = "streamlit.components.v2.bidi_component"


class Widgets(dict[str, Any]):
    """Widgets by their ids, and those among them that the last run did not draw."""

    stale: frozenset[str] = frozenset()


def forget_after(remove: Callable[..., None]) -> Callable[..., None]:
    """Return `remove` extended: it then deletes the metadata of each widget that two runs in a row did not draw (two, for a click on its way)."""
    from streamlit.components.v2.bidi_component.constants import EVENT_DELIM
    from streamlit.runtime.state import session_state

    events = f"{session_state.STREAMLIT_INTERNAL_KEY_PREFIX}_"

    def component(key: str) -> str:
        """Return the component whose events this widget gathers: it is drawn under its own id, its events have another."""
        return key.removeprefix(events).rpartition(EVENT_DELIM)[0] if key.startswith(events) else key

    def remove_stale_widgets(self: Any, active: frozenset[str], fragments: list[str] | None) -> None:
        remove(self, active, fragments)
        known = self.widget_metadata
        stale = frozenset(
            key
            for key, metadata in known.items()
            if component(key) not in active and session_state._is_stale_widget(metadata, active, fragments)
        )
        before = known.stale if isinstance(known, Widgets) else frozenset()
        self.widget_metadata = Widgets(
            {key: metadata for key, metadata in known.items() if key not in stale & before}
        )
        self.widget_metadata.stale = stale

    return remove_stale_widgets


PATCH = Patch(
    name="forget_widgets",
    target=f"{STATE}:WStates.remove_stale_widgets",
    uses={
        f"{STATE}:WStates.remove_stale_widgets": "c9beefc06ffff551",
        f"{STATE}:WStates.set_widget_metadata": "98682851cf951f61",
        f"{STATE}:_is_stale_widget": "1cd84d8c21685b1c",
        f"{STATE}:STREAMLIT_INTERNAL_KEY_PREFIX": "f85f430dd4875c9e",
        f"{COMPONENT}.main:_make_trigger_id": "c88223a3418681ce",
        f"{COMPONENT}.constants:EVENT_DELIM": "c1b70cf57bb5c538",
    },
    cost="the memory of a visitor who stays for hours grows with every new sentence",
    make=forget_after,
)
