"""The box for three files of the visitor's own; what is in them goes to `viz.uploads`, not through this page."""

from __future__ import annotations

from pathlib import Path

import streamlit as st
from streamlit.components import v2

from core.checkpoints.weights import SINGLE
from viz import limits
from viz.languages.script_words import ScriptWords, joined
from viz.uploads.routes import HEAD, MOST
from viz.uploads.store import UPLOADS
from viz.widgets import engine_client
from viz.workspace.your_model.arrival import bring_into_view

_FOLDER = Path(__file__).parent
_KEY = "your_model.upload"
_HTML = (
    '<div class="box" data-box><div class="row"><label class="act">Choose the three files'
    '<input type="file" multiple data-files></label><span>or drop them here</span></div>'
    '<ul><li data-file="config.json"></li><li data-file="tokenizer.json"></li><li data-file="model.safetensors"></li></ul>'
    '<div class="row"><button type="button" class="act" data-open>Open it</button>'
    '<button type="button" class="act" data-stop hidden>Stop</button></div>'
    '<progress max="1" value="0" data-bar hidden aria-label="How much was sent"></progress>'
    '<p role="status" data-said></p></div>'
)
_WORDS = ScriptWords(_HTML, _FOLDER / "upload.js")
_box = v2.component(
    "atlas_upload",
    html=_HTML,
    css=(_FOLDER / "upload.css").read_text("utf-8"),
    js=joined(_FOLDER / "upload.js"),
)


def draw() -> None:
    """Draw the place where one chooses and drops a file; the model that arrives is the one in view."""
    most = {name: most for name, most in MOST.items() if name != HEAD} | {SINGLE: limits.upload_limit()}
    ticket = UPLOADS.ticket(engine_client.session())
    _box(
        key=_KEY,
        data={"ticket": ticket, "most": most, "head": MOST[HEAD]} | _WORDS.data(),
        on_came_change=_arrive,
        height="content",
    )


def _arrive() -> None:
    bring_into_view(str(st.session_state[_KEY].get("came") or ""))
