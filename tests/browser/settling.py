"""When a page has come to rest: all that it asked the server for is answered and drawn, and it has nothing more in mind.

What happens on the page's own websocket is counted in the page: `WIRE` runs before any script of it. A rerun asked for
is answered by a run that begins after it and ends other than for the sake of another run; part of a page (a fragment) or all of it.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.proto.Delta_pb2 import Delta
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.NewSession_pb2 import NewSession

PATIENCE = 120_000
"""Milliseconds after which a page that does not come to rest is broken; a machine that is only busy needs less."""


def _number(message: Any, name: str) -> str:
    return str(message.DESCRIPTOR.fields_by_name[name].number)


WIRE = (
    (Path(__file__).parent / "settling.js")
    .read_text("utf-8")
    .replace("RERUN_SCRIPT", _number(BackMsg, "rerun_script"))
    .replace("ASKING_PART", _number(ClientState, "fragment_id"))
    .replace("NEW_SESSION", _number(ForwardMsg, "new_session"))
    .replace("PAGE", _number(NewSession, "page_script_hash"))
    .replace("DELTA", _number(ForwardMsg, "delta"))
    .replace("PART", _number(Delta, "fragment_id"))
    .replace("SCRIPT_FINISHED", _number(ForwardMsg, "script_finished"))
    .replace("FOR_ANOTHER_RUN", str(ForwardMsg.FINISHED_EARLY_FOR_RERUN))
)


GLANCE = 50
"""Milliseconds between two looks at a page: asked in each frame it draws 60 a second, which costs a tenth of a walk."""


def settle(page: Any) -> None:
    """Wait until the page of a server is at rest."""
    page.wait_for_function("window.wire?.rests()", timeout=PATIENCE, polling=GLANCE)


def apart(page: Any) -> None:
    """Wait until a page of the app is at rest and keeps its history; what comes then belongs to no drag that went before (history.js).

    A component's script is imported after its element is drawn, and no change of the page tells when it has run.
    """
    settle(page)
    page.wait_for_function("globalThis.atlasHistory", timeout=PATIENCE)
    page.evaluate("atlasHistory.at = -Infinity")


def still(page: Any) -> None:
    """Wait until a page changes no more, whoever made it."""
    page.evaluate(
        "() => new Promise((done) => { const look = () => (wire.still() ? done() : requestAnimationFrame(look)); look(); })"
    )  # its policy forbids a condition in words


def until(page: Any, holds: Callable[[], bool]) -> None:
    """Wait until `holds`; it is asked anew after a change of the page."""
    while True:
        seen = page.evaluate("wire.changes")
        if holds():
            return
        page.wait_for_function("(seen) => window.wire?.changes !== seen", arg=seen, timeout=PATIENCE)


def asked(page: Any) -> int:
    """How many runs the page has asked for since it was loaded."""
    return page.evaluate("wire.asked")


def opened(page: Any, address: str, place: str = "h1") -> None:
    """Go to an address and wait until this place of it is drawn and the page is at rest."""
    page.goto(address)
    page.wait_for_selector(place)
    settle(page)


def in_link(page: Any, name: str) -> str:
    """Return a value of the page's address by its name."""
    return parse_qs(urlsplit(page.url).query).get(name, [""])[0]


def press(page: Any, *keys: str, at: str = "") -> None:
    """Press keys one after the other, after the first element of this selector has the focus."""
    if at:
        page.locator(at).first.focus()
    for key in keys:
        page.keyboard.press(key)


def drag(page: Any, start: tuple[float, float], *stops: tuple[float, float], steps: int = 4) -> None:
    """Press the mouse at a place and let go at the last of the stops."""
    page.mouse.move(*start)
    page.mouse.down()
    for stop in stops:
        page.mouse.move(*stop, steps=steps)
    page.mouse.up()
