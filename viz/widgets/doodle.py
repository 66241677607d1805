"""The box for a doodle, as `controls.text` is that for a sentence: drawn, chosen or uploaded, kept as text in the link and in the session."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import streamlit as st

from core.data import doodles
from core.errors import InputError
from viz.instruments.sketch.sketch import sketch
from viz.languages import _, mark
from viz.shell import notices, state

TITLE = mark("Your doodle")
HINT = mark("draw, or choose one")
MEGABYTES = doodles.MOST_BYTES // 10**6
ROOM = 180
"""Pixels of the canvas in present mode, where the picture below it has to be seen, too."""
CORNER = 130
"""The same where the page draws the doodle again, larger."""
_REFUSED = "doodle.refused"


@cache
def samples() -> dict[str, str]:
    """Return the doodles that ship with the app, by name, as text."""
    return {name: doodles.as_text(doodles.example(name)) for name in doodles.NAMES}


def linked(raw: str) -> str:
    """Parse the doodle in a link and return its text. Raises `state.Unusable` for anything else."""
    try:
        return doodles.as_text(doodles.from_text(raw))
    except InputError as error:
        raise state.Unusable(error.rule) from None


def draw(
    name: str,
    default: str,
    *,
    title: str = TITLE,
    hint: str = HINT,
    upload: bool = True,
    height: int | None = None,
    preview: bool = True,
    drops: Sequence[str] = (),
) -> str:
    """Draw the canvas with the doodle kept under `name`, our doodles beside it, and below it a place for a file; return the doodle's text.

    Another doodle takes back the choices named in `drops`. `height`: of the canvas in pixels. `preview`: show the pixels that the model reads beside it, where no other picture of them follows. In present mode the canvas is small, and nobody uploads.
    """
    now = state.read(name, default, linked)
    sketch(
        now,
        samples(),
        key=f"sketch:{state.page()}:{name}",
        title=_(title),
        hint=_(hint),
        height=height if not state.presenting() else ROOM if preview else CORNER,
        preview=preview,
        on_stroke=lambda text: state.write(**{name: text}, **dict.fromkeys(drops)),
    )
    if upload:
        place(name, drops)
    return now


def place(name: str, drops: Sequence[str] = ()) -> None:
    """Draw a place for a PNG or JPEG. The file is discarded as soon as it is read: the next run has an empty place under another key."""
    if state.presenting():
        return
    turns = f"doodle.turn:{state.page()}:{name}"
    key = f"{turns}:{st.session_state.setdefault(turns, 0)}"
    with st.popover(_("Upload a picture"), icon=":material/upload:", width="content"):
        st.file_uploader(
            _(
                "PNG or JPEG, up to {megabytes} MB: a drawing on an even ground. It is made {side} × {side} grey pixels, and not kept.",
                megabytes=MEGABYTES,
                side=doodles.SIDE,
            ),
            ["png", "jpg", "jpeg"],
            key=key,
            max_upload_size=MEGABYTES,
            on_change=_read,
            args=(key, turns, name, drops),
        )
    if refused := st.session_state.pop(_REFUSED, None):
        notices.show_in_area(*refused)


def _read(key: str, turns: str, name: str, drops: Sequence[str]) -> None:
    file = st.session_state.get(key)
    if file is None:
        return
    st.session_state[turns] += 1
    try:
        text = doodles.as_text(doodles.from_image(file.getvalue()))
    except InputError as error:
        st.session_state[_REFUSED] = (error.wrong, error.rule, error.remedy)
        return
    state.write(**{name: text}, **dict.fromkeys(drops))
