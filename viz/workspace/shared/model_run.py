"""Opened models and their runs on a text, as far as a page reads it."""

from __future__ import annotations

import streamlit as st

from core.model import Model
from core.reading import bounds
from core.run import Run
from viz.instruments.picture import patches
from viz.shell import state
from viz.widgets import engine_client

KEEP = ("*.pattern", "*.q", "*.k")
"""Weights, and queries and keys for the score beside each: these are small, the scores themselves are not."""


def open_model(model: str) -> Model:
    return engine_client.open(model)


def run_text(model: str, text: str, target: str | None, pair: str | None = None) -> Run:
    reader = open_model(model)
    reads = reader.spec.framed and "logits" in reader.outputs  # the page says what stands in a blank
    keep = (*(KEEP if reader.spec.kinds_of(reader.config) else ()), *(("logits",) if reads else ()))
    return engine_client.run(model, text, target=target, pair=pair, keep=keep, reads_on=reader.spec.writes)


def readable_part(model: str, text: str, *, runs: float = 1, each: float = 0) -> str:
    """Return the text, or the part of it that this page can read, with a slider that moves the part.

    That is what fits the model's context; and no more than can be answered in a moment by a page that makes `runs` runs of
    the part, and `each` more for every token of it.
    """
    reader = open_model(model)
    most = bounds.token_limit(reader, runs=runs, each=each)
    if patches.reads_patches(reader) or (text.isascii() and len(text) < most):
        return text  # every picture has as many patches; a token is a letter at least
    if (n := len(reader.reader.encode(text).ids)) <= most:
        return text
    first = state.read("look.from", 0, state.whole_number(0, n - most))
    key = f"look.window:{model}.{most}"
    state.seed_widget(key, first)
    limit = (
        f"{model} reads {most:,} at once"
        if most == reader.config.n_ctx - bounds.n_special(reader)
        else f"this page reads {most:,} of them with {model}, so that it answers in a moment"
    )
    st.slider(
        f"The text has {n:,} tokens, and {limit}. Shown from token",
        0,
        n - most,
        first,
        key=key,
        on_change=lambda: state.write(**{"look.from": st.session_state[key]}),
    )
    return bounds.slice_tokens(reader, text, first, most)
