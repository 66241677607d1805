"""How an instrument gets into the page: each part once a visit.

Streamlit sends a component's JavaScript again with every update. So what is registered is a loader of
a few hundred bytes; the instrument's own code (common.js + its files + its CSS) is a part of the payload like the
numbers it draws, travels with the first payload of a visit and stays in the page. If a part never arrived (a run was
replaced before the browser saw it, or the page let go of old ones), the loader asks, and the next run sends it again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import streamlit as st
from streamlit.components.v2 import component

from viz.instruments.payload import Packet, identity
from viz.theme import DARK, LIGHT

HERE = Path(__file__).parent
_SENT = "_instrument_parts_sent"


def bundle(*names: str) -> str:
    """One JavaScript module: the palettes of viz.theme, the CSS as a string, common.js, and the named files in order.

    The last file defines `mount(root, packet, component)`, which draws `packet` into `root` and returns
    a function that lets go of everything.
    """
    css = "".join(
        (HERE / f"{name}.css").read_text("utf-8") for name in ("common", *names) if (HERE / f"{name}.css").exists()
    )
    palettes = json.dumps({"light": asdict(LIGHT), "dark": asdict(DARK)})
    head = f"const PALETTES = {palettes};\nconst CSS = {json.dumps(css)};\n"
    files = [(HERE / f"{name}.js").read_text("utf-8") for name in ("common", *names)]
    return head + "\n".join(files) + "\nexport default begin;\n"


class Instrument:
    """One component of the family, registered under `name` when its module is imported.

    Example:
        >>> Instrument("atlas_demo", "words_paint", "words").source[:14]
        b'const PALETTES'
    """

    def __init__(self, name: str, *files: str) -> None:
        self.source = bundle(*files).encode()
        self.code = identity(self.source)
        self._renderer = component(name, html='<div class="atlas"></div>', js=(HERE / "loader.js").read_text("utf-8"))

    def show(self, packet: Packet, *, key: str, height: int | None = None, **states: Any) -> Any:
        """Mount with `packet`; returns Streamlit's result object. `states` are `on_<name>_change=...`."""
        packet.add("code", self.source)
        sent: set[str] = st.session_state.setdefault(_SENT, set())
        data = packet.to_bytes(known=sent)
        sent.update(packet.parts)
        return self._renderer(key=key, data=data, height=height or "content", on_lost_change=_forget, **states)


def _forget() -> None:
    """A page says that it lacks a part: send all of them again in the run that follows."""
    st.session_state.pop(_SENT, None)


def nothing() -> None:
    """A change callback that does nothing: it only declares the name of a state."""


def stored(key: str, name: str) -> Any:
    """What the browser last sent under `name` to the instrument `key`, or None."""
    state = st.session_state.get(key)
    return state.get(name) if isinstance(state, Mapping) else None


def latest(
    key: str, name: str, selected: tuple[int, ...] | None, shape: Sequence[int]
) -> tuple[tuple[int, ...] | None, str | None]:
    """The newest choice inside `shape`, and the id of the visitor's last click.

    The visitor clicks, the page says `selected`: whichever changed last counts. A click stays in the
    session after its run, so it is remembered together with what the page said then, and loses as soon as
    the page says something else. A choice outside `shape` (another sentence) is None.
    """
    event, choice, echo = stored(key, name), selected, None
    if event:
        at, echo, slot = tuple(int(i) for i in event["at"]), str(event["id"]), f"_{key}.latest"
        memory = st.session_state.get(slot)
        if memory is None or memory["id"] != echo:
            memory = {"id": echo, "selected": selected, "stale": False}
        elif selected != memory["selected"]:
            memory = {"id": echo, "selected": selected, "stale": memory["stale"] or selected != at}
        st.session_state[slot] = memory
        choice = selected if memory["stale"] else at
    if choice is None or len(choice) != len(shape) or not all(0 <= i < n for i, n in zip(choice, shape, strict=True)):
        return None, echo
    return tuple(int(i) for i in choice), echo
