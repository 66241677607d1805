"""How an instrument gets into the page: each part once a visit.

Streamlit sends a component's JavaScript again with every update. So what is registered is a loader of a few hundred
bytes. What it loads, boot.js, goes before the first payload of a visit; the kit that all instruments share (begin.js, saving
and what they import) and an instrument's own code (its further modules and CSS) are deflated parts of the payload like the numbers it draws,
travel with the first payload that needs them and stay in the page. So do the words of its scripts, where the page is not in English
(`say` of words.js). If a part never arrived (a run was replaced before
the browser saw it, or the page dropped old ones), the browser asks, and the next run sends it again.
"""

from __future__ import annotations

import functools
import json
import re
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import streamlit as st
from streamlit.components.v2 import component

from viz.instruments.kit import origin, picture_listener
from viz.instruments.kit.modules import follow, join_modules, sheets
from viz.instruments.kit.payload import Packet, identity
from viz.languages import ENGLISH, _, current, extract, using
from viz.theme import DARK, FONT, LIGHT, SERIF, Palette

FOLDER = Path(__file__).resolve().parents[1]
SHARED = follow(*(FOLDER / "kit" / name for name in ("page/begin.js", "save/save.js", "save/dom_pen.js")))
"""The modules of the kit: what every instrument needs to be drawn and to save itself."""
BOOT = (FOLDER / "kit/page/boot.js").read_bytes()
BOOT_ID = identity(BOOT)
_SENT = "_instrument_parts_sent"


def kit() -> str:
    """Return the code that all instruments share, sent once a visit: the modules of SHARED, and in given.js the values from Python."""
    given = {
        "PALETTES": {"light": asdict(LIGHT), "dark": asdict(DARK)},
        "CSS": sheets(SHARED),
        "PAGE": page(),
    }
    text = join_modules(SHARED, FOLDER)
    for name, value in given.items():
        text = text.replace(f'"%%{name}%%"', _literal(value))
    return text


def bundle(entry: str) -> str:
    """Return the code that one instrument adds to the kit, from its entry file on (`folder/file`). Both together are one module.

    The entry exports the functions that `starter` of begin.js uses. The module starts by itself in a page without a server.
    """
    own = [module for module in follow(FOLDER / f"{entry}.js") if module not in SHARED]
    begin = f"const begin = kit_page_begin.starter({own[-1].name(FOLDER)}, {_literal(sheets(own))});"
    return "\n".join(
        [
            "// the instrument",
            join_modules(own, FOLDER) + begin,
            "export default begin;",
            "globalThis.attentionAtlas.alone?.(begin);",
            "",
        ]
    )


def _literal(value: Any) -> str:
    """Return a value as JSON in which no string holds a tag: `</script>` in one would end the script of a page without a server."""
    return json.dumps(value).replace("<", "\\u003c")


def loader() -> str:
    """Return loader.js without comments and indents, since it is sent each time; still several lines, or Streamlit takes it for a path."""
    return re.sub(r"(?m)^\s*//.*\n|^\s+", "", (FOLDER / "kit/page/loader.js").read_text("utf-8"))


def page() -> str:
    """Return the page that holds one instrument and needs nothing else; %%CODE%% and %%PACKET%% are still to be filled in."""
    return (FOLDER / "kit/page/alone.html").read_text("utf-8").replace("%%STYLE%%", variables())


def declarations(palette: Palette) -> str:
    """Return the CSS declarations of a theme's colours, under the names that Streamlit gives them."""
    named = {
        "background": palette.background,
        "secondary-background": palette.surface,
        "text": palette.text,
        "border": palette.line,
        "primary": palette.primary,
        "link": palette.link,
    }
    return " ".join(f"--st-{name}-color: {colour};" for name, colour in named.items())


def fonts() -> str:
    """Return the CSS declarations of the fonts of a page outside Streamlit."""
    sans, serif = FONT.replace(", ", ", system-ui, "), SERIF.replace(", ", ", 'Source Serif 4', Georgia, ")
    return f"--st-font: {sans}; --st-heading-font: {serif};"


def module(picture: Mapping[str, str] | None = None) -> str:
    """Return the ES module that draws a picture outside the app: an anywidget's `render`, and `draw`; `picture` is the one that it brings, a packet in base64 and its caption."""
    boot = BOOT.decode().replace("export default async function receive", "async function receive")
    text = boot + (FOLDER / "kit/page/widget.js").read_text("utf-8")
    themes = {mode: fonts() + declarations(palette) for mode, palette in (("light", LIGHT), ("dark", DARK))}
    return text.replace('"%%OWN%%"', _literal(picture or {})).replace('"%%THEMES%%"', _literal(themes))


def variables(dark: bool = True) -> str:
    """Return the CSS of a page outside Streamlit: the colours of both themes (without `dark` of the light one) and the fonts, under the names that Streamlit gives them."""
    if not dark:
        return f":root {{ color-scheme: light; {fonts()} {declarations(LIGHT)} }}"
    return (
        f":root {{ color-scheme: light dark; {fonts()} {declarations(LIGHT)} }}\n"
        f"@media (prefers-color-scheme: dark) {{ :root {{ {declarations(DARK)} }} }}"
    )


class Instrument:
    """One component of the family, registered under `name` when its module is imported.

    numbers: whether there is something to count with in what it draws; where there is not, no archive is offered.

    Example:
        >>> Instrument("atlas_demo", "words/words").source[:17]
        b'// the instrument'
    """

    kit = kit().encode()
    packed_kit = zlib.compress(kit, 9)

    def __init__(self, name: str, entry: str, *, numbers: bool = True) -> None:
        self.numbers = numbers
        self.source = bundle(entry).encode()
        self.packed_source = zlib.compress(self.source, 9)
        self.code = identity(self.packed_source)
        modules = {*SHARED, *follow(FOLDER / f"{entry}.js")}
        self.messages = {text for each in modules for text in extract.script_messages(each.body)}
        self._renderer = component(name, html='<div class="atlas" translate="no"></div>', js=loader())

    def equip(self, packet: Packet) -> None:
        """Add the code that draws `packet`, in two parts."""
        packet.add("kit", self.packed_kit, deflated=True, lasting=True)
        packet.add("code", self.packed_source, deflated=True, lasting=True)
        if current() is not ENGLISH:
            packet.add("language", self.packed_words(current().code), deflated=True, lasting=True)

    @functools.cache  # noqa: B019 - an instrument stays as long as the process
    def packed_words(self, code: str) -> bytes:
        """Return the texts of its scripts in a language, deflated; `say` of words.js looks them up."""
        with using(code):
            return zlib.compress(json.dumps({text: _(text) for text in sorted(self.messages)}).encode(), 9)

    def show(self, packet: Packet, *, key: str, height: int | None = None, **states: Any) -> Any:
        """Mount with `packet`; returns Streamlit's result object. `states` are `on_<name>_change=...`."""
        if wanted := stored(key, "exact"):  # the visitor saves: numbers as they are
            packet = packet.with_exact_numbers()
            packet.header["asked"] = wanted
        origin.now().stamp(packet)
        self.equip(packet)
        picture_listener.notify(key, packet)
        sent: set[str] = st.session_state.setdefault(_SENT, set())
        boot = b"" if BOOT_ID in sent else BOOT
        data = len(boot).to_bytes(4, "little") + boot + packet.to_bytes(cached=sent)
        sent.update({BOOT_ID, *packet.all_parts()})
        return self._renderer(
            key=key,
            data=data,
            height=height or "content",
            on_lost_change=_forget,
            on_exact_change=nothing,
            **states,
        )


def _forget() -> None:
    """Send all parts again in the next run, because a page reported that it lacks one."""
    st.session_state.pop(_SENT, None)


def nothing() -> None:
    """Do nothing on a change: the callback only declares the name of a state."""


def stored(key: str, name: str) -> Any:
    """Return the value that the browser last sent under `name` for the instrument `key`, or None."""
    state = st.session_state.get(key)
    return state.get(name) if isinstance(state, Mapping) else None


@dataclass(frozen=True)
class _Click:
    """A click that reached Python, and what the page had selected then; `stale` once the page has selected something else since."""

    id: str
    selected: tuple[int, ...] | None
    stale: bool = False


def latest(
    key: str, name: str, selected: tuple[int, ...] | None, shape: Sequence[int]
) -> tuple[tuple[int, ...] | None, str | None]:
    """Return the newest choice inside `shape`, and the id of the visitor's last click.

    The visitor clicks, the page says `selected`: whichever changed last counts. A click stays in the session after its run,
    so it loses as soon as the page says something else. A choice outside `shape` (another sentence) is None.
    """
    event, choice, echo = stored(key, name), selected, None
    if event:
        at, echo, slot = tuple(int(i) for i in event["at"]), str(event["id"]), f"_{key}.latest"
        click: _Click | None = st.session_state.get(slot)
        if click is None or click.id != echo:
            click = _Click(echo, selected)
        elif selected != click.selected:
            click = _Click(echo, selected, stale=click.stale or selected != at)
        st.session_state[slot] = click
        choice = selected if click.stale else at
    if (
        choice is None
        or len(choice) != len(shape)
        or not all(0 <= i < n for i, n in zip(choice, shape, strict=True))
    ):
        return None, echo
    return tuple(int(i) for i in choice), echo
