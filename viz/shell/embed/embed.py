"""A page that another site shows in a frame (`?embed=true`, or `?embed=1`): the picture with its controls, and a link to the app.

The page sends its height to the page around it, whenever it changes, as the message `{source: "attention-atlas", height: 640}`
(pixels). Who may show it in a frame is the setting `ATLAS_FRAME`; what leads a lecture room is never drawn there.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import streamlit as st
from streamlit.components import v2

from viz.languages import _
from viz.languages.script_words import ScriptWords, joined
from viz.platform import security
from viz.shell import state
from viz.shell.pages import Entry

_FOLDER = Path(__file__).parent
_HTML = '<a data-embed target="_blank" rel="noopener">Open in Attention Atlas</a>'
_WORDS = ScriptWords(_HTML)
_frame = v2.component(
    "atlas_embed",
    html=_HTML,
    css=(_FOLDER / "embed.css").read_text("utf-8"),
    js=joined(_FOLDER / "embed.js"),
    isolate_styles=False,
)


@contextmanager
def embedded_page() -> Iterator[None]:
    """Draw a page inside this, and below it the link that opens the same view in the app."""
    yield
    with st.container(key="atlas-embed"):
        _frame(key="embed", data=_WORDS.data() or None)


def can_be_framed(entry: Entry) -> bool:
    """Return whether a page may be drawn in a frame; instead of one that leads a lecture room, draw a sentence and a link to a window of its own."""
    if entry.slug not in security.NEVER_FRAMED:
        return True
    st.title(entry.info.title, anchor=False)
    st.text(_("A lecture room is led in a window of its own. Open the page in Attention Atlas."))
    if not state.embedded():  # else the link is below the page
        st.link_button(_("Open in Attention Atlas"), st.context.url or entry.address, type="primary")
    return False
