"""The selection on screen: one text through one model, and the head in view. It goes to another page as a unit, or not at all.

A page announces it, its own opening values included; a link takes it from here, not from what the visitor happened to
choose. What belongs to one model, or to one text, does not go along with another.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import streamlit as st

from viz.instruments.kit import origin

if TYPE_CHECKING:
    from core.run import Run

NAMES = ("model", "text", "pair", "target", "kind", "layer", "head")
_OWNED = {"model": ("pair", "target", "kind", "layer", "head"), "text": ("pair", "target")}
_SUBJECT = "atlas.shown"


@dataclass(frozen=True)
class Selection:
    """The content of a page, as far as the page knows it: one text through one model, and the head in view.

    text: as the page reads it. target: a translation that was given; pair: a second text; "" where there is none, None where the
    page does not know. typed: the text in the box, where the page reads a part of it; links take it, and nothing is computed from it.
    """

    model: str
    text: str
    target: str | None = None
    pair: str | None = None
    kind: str | None = None
    layer: int | None = None
    head: int | None = None
    typed: str = field(default="", compare=False)

    @property
    def typed_text(self) -> str:
        """Return the text in the box, of which the page may read a part."""
        return self.typed or self.text


def announce_selection(selection: Selection, run: Run | None = None) -> None:
    """Announce what the page shows to its links and the lecture room; with a `run` the pictures drawn next say that their numbers are of it."""
    known = {name: getattr(selection, name) for name in NAMES} | {"text": selection.typed_text}
    set_selection(**{name: value for name, value in known.items() if value is not None})
    if run is not None:
        origin.tell_run(run, selection.kind or "", selection.layer, selection.head)


def current_selection() -> dict[str, str]:
    """Return the selection (name to text) of the page in view, or of the last page that had one."""
    return dict(st.session_state.get(_SUBJECT, {}))


def set_selection(**values: Any) -> None:
    """Set these parts of the selection, by name, and keep the others that still belong to its model and text. None or "" removes a part."""
    st.session_state[_SUBJECT] = merge(current_selection(), values)


def clear() -> None:
    """Forget the selection, so that a page opens with its own."""
    st.session_state.pop(_SUBJECT, None)


def merge(before: Mapping[str, str], values: Mapping[str, Any]) -> dict[str, str]:
    """Return a selection with other values; the parts that belong to a replaced model or text are removed.

    >>> merge({"model": "a", "text": "x", "head": "3"}, {"model": "b"}), merge({"model": "a", "text": "x", "target": "y"}, {"text": "z"})
    ({'model': 'b', 'text': 'x'}, {'model': 'a', 'text': 'z'})
    """
    new = {name: "" if value is None else str(value) for name, value in values.items()}
    lost = {
        name
        for owner, names in _OWNED.items()
        if owner in new and new[owner] != before.get(owner)
        for name in names
    }
    return {
        name: value
        for name, value in ({name: value for name, value in before.items() if name not in lost} | new).items()
        if value
    }
