"""Three ways to bring a model, with the very commands: a folder of this computer, the Hub by name, an upload."""

from __future__ import annotations

import os

import streamlit as st

from core.checkpoints import find
from core.checkpoints.foreign import formats
from viz import limits
from viz.languages import _, ngettext
from viz.number_text import megabytes
from viz.workspace.your_model import hub, upload

FOLDER = "ATLAS_MODELS=/path/to/the/folder streamlit run app.py"
HUB = "ATLAS_HUB=1 streamlit run app.py"
UPLOAD = "ATLAS_UPLOAD=1 streamlit run app.py"
NOTEBOOK = 'import core\n\nmodel = core.open_model("hf:owner/name")   # or the path of a folder'
JUDGE = "python -m core.checkpoints.inspect /path/to/the/folder"


def show(*, first: bool) -> None:
    """Draw the three ways."""
    st.header(_("How to bring a model") if first else _("Open another"), anchor=False)
    for column, draw in zip(st.columns(3, gap="large"), (_folder, _hub, _upload), strict=True):
        with column:
            draw()
    st.caption(
        _(
            "Kinds that open, by the model_type of their config.json: {kinds}.",
            kinds=", ".join(sorted(formats())),
        )
    )


def _folder() -> None:
    st.subheader(_("A folder"), anchor=False)
    st.markdown(
        _(
            "A Hugging Face folder (config.json, tokenizer.json, model.safetensors), or one with a GGUF file. Start the server with"
        )
    )
    st.code(FOLDER, language=None, wrap_lines=True)
    st.markdown(
        _(
            "and it stands in every list. To see what is in a folder, or why it is refused, without opening it, run"
        )
    )
    st.code(JUDGE, language=None, wrap_lines=True)
    named = [entry for entry in os.environ.get(find.VARIABLE, "").split(os.pathsep) if entry.strip()]
    if named:
        st.caption(
            ngettext(
                "This server was started with {n} folder; {models} models lie there.",
                "This server was started with {n} folders; {models} models lie there.",
                len(named),
                models=len(find.local_folders()),
            )
        )


def _hub() -> None:
    st.subheader(_("The Hub, by name"), anchor=False)
    st.markdown(_("Safetensors only, and nothing that could run. In a notebook"))
    st.code(NOTEBOOK, language=None, wrap_lines=True)
    if limits.allows_hub():
        hub.draw()
        return
    st.markdown(_("or on this page, if the server was started with"))
    st.code(HUB, language=None, wrap_lines=True)


def _upload() -> None:
    st.subheader(_("An upload"), anchor=False)
    if most := limits.upload_limit():
        st.markdown(
            _(
                "Three files of a Hugging Face folder, weights up to {size}. They are for you alone, and go when you go.",
                size=megabytes(most),
            )
        )
        upload.draw()
        return
    st.markdown(
        _("Three files from your computer, for you alone and for this visit, if the server was started with")
    )
    st.code(UPLOAD, language=None, wrap_lines=True)
