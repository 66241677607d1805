"""How an instrument gets into the page: each part once a visit.

Streamlit sends a component's JavaScript again with every update. So what is registered is a loader of a few hundred
bytes. What it loads, boot.js, goes before the first payload of a visit; the kit that all instruments share (common.js,
saving) and an instrument's own code (its files and CSS) are deflated parts of the payload like the numbers it draws,
travel with the first payload that needs them and stay in the page. If a part never arrived (a run was replaced before
the browser saw it, or the page let go of old ones), the browser asks, and the next run sends it again.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import streamlit as st
from streamlit.components.v2 import component

from viz.instruments.kit import origin
from viz.instruments.kit.payload import Packet, identity
from viz.theme import DARK, FONT, LIGHT, SERIF, Palette

HERE = Path(__file__).parents[1]
SAVING = ("kit/save/npz", "kit/save/svg_pen", "kit/save/dom_pen", "kit/save/origin", "kit/save/save")
"""What every instrument carries to save itself; of their names only those of SHARED are seen outside of them."""
SHARED = ("saveMenu", "SvgPen", "paintElement", "matrixArrays", "matrixRows", "exactness", "heading", "headOf", "placeOf")
BOOT = (HERE / "kit" / "boot.js").read_bytes()
BOOT_ID = identity(BOOT)
_SENT = "_instrument_parts_sent"


def kit() -> str:
    """What all instruments share, sent once a visit: palettes, common.js, packets.js, saving, and the page that stands alone."""
    common, packets, *saving = (_script(name) for name in ("kit/common", "kit/packets", *SAVING))
    shared = "{ " + ", ".join(SHARED) + " }"
    head = [_constant("PALETTES", {"light": asdict(LIGHT), "dark": asdict(DARK)}), _constant("PAGE", page())]
    return "\n".join([*head, common, packets, f"const {shared} = (() => {{", *saving, f"return {shared};", "})();", ""])


def bundle(*names: str) -> str:
    """What one instrument adds to the kit: its CSS as a string and the named files (`folder/file`) in order. Both together are one module.

    The last file defines `build(root)`, which makes a view with `drawn` (see keepDrawn), and `accept(view, packet)`,
    which draws `packet` in it; `begin` of packets.js calls both. The module starts by itself where the page that stands alone asks for it.
    """
    sheets = [HERE / f"{name}.css" for name in ("kit/common", *SAVING, *names)]
    css = "".join(sheet.read_text("utf-8") for sheet in sheets if sheet.exists())
    tail = ["export default begin;", "globalThis.attentionAtlas.alone?.(begin);", ""]
    return "\n".join(["// the instrument", _constant("CSS", css), *map(_script, names), *tail])


def _constant(name: str, value: Any) -> str:
    """In these strings no tag can stand: `</script>` in one would end the script of the page that stands alone."""
    return f"const {name} = " + json.dumps(value).replace("<", "\\u003c") + ";"


def _script(name: str) -> str:
    return (HERE / f"{name}.js").read_text("utf-8")


def loader() -> str:
    """loader.js without comments and indents, since it is sent each time; still several lines, or Streamlit takes it for a path."""
    return re.sub(r"(?m)^\s*//.*\n|^\s+", "", _script("kit/loader"))


def page() -> str:
    """The page that holds one instrument and needs nothing else; %%CODE%% and %%PACKET%% are still open in it."""

    def colours(palette: Palette) -> str:
        named = {"background": palette.background, "secondary-background": palette.surface, "text": palette.text,
                 "border": palette.line, "primary": palette.primary}  # fmt: skip
        return " ".join(f"--st-{name}-color: {colour};" for name, colour in named.items())

    sans, serif = FONT.replace(", ", ", system-ui, "), SERIF.replace(", ", ", 'Source Serif 4', Georgia, ")
    fonts = f"--st-font: {sans}; --st-heading-font: {serif};"
    style = (
        f":root {{ color-scheme: light dark; {fonts} {colours(LIGHT)} }}\n"
        f"@media (prefers-color-scheme: dark) {{ :root {{ {colours(DARK)} }} }}"
    )
    return (HERE / "kit" / "alone.html").read_text("utf-8").replace("%%STYLE%%", style)


class Instrument:
    """One component of the family, registered under `name` when its module is imported.

    numbers: whether there is something to count with in what it draws; where there is not, no archive is offered.

    Example:
        >>> Instrument("atlas_demo", "words/paint", "words/words").source[:17]
        b'// the instrument'
    """

    kit = kit().encode()
    packed_kit = zlib.compress(kit, 9)

    def __init__(self, name: str, *files: str, numbers: bool = True) -> None:
        self.numbers = numbers
        self.source = bundle(*files).encode()
        self.packed_source = zlib.compress(self.source, 9)
        self.code = identity(self.packed_source)
        self._renderer = component(name, html='<div class="atlas"></div>', js=loader())

    def equip(self, packet: Packet) -> None:
        """Add the code that draws `packet`, in two parts."""
        packet.add("kit", self.packed_kit, deflated=True, lasting=True)
        packet.add("code", self.packed_source, deflated=True, lasting=True)

    def show(self, packet: Packet, *, key: str, height: int | None = None, **states: Any) -> Any:
        """Mount with `packet`; returns Streamlit's result object. `states` are `on_<name>_change=...`."""
        if wanted := stored(key, "exact"):  # the visitor saves: numbers as they are
            packet = packet.exactly()
            packet.header["asked"] = wanted
        origin.now().stamp(packet)
        self.equip(packet)
        sent: set[str] = st.session_state.setdefault(_SENT, set())
        boot = b"" if BOOT_ID in sent else BOOT
        data = len(boot).to_bytes(4, "little") + boot + packet.to_bytes(known=sent)
        sent.update({BOOT_ID, *packet.whole()})
        return self._renderer(key=key, data=data, height=height or "content", on_lost_change=_forget, on_exact_change=nothing, **states)


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
