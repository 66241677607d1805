"""Opened models and their runs on a selection, as far as a page reads it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import streamlit as st

from core.errors import InputError
from core.model import Model
from core.reading import bounds
from core.run import Run
from core.trace import Edit
from viz.instruments.picture import patches
from viz.languages import _
from viz.shell import state
from viz.shell.selection import Selection
from viz.widgets import engine_client

KEEP = ("*.pattern", "*.q", "*.k")
"""Weights, and queries and keys for the score beside each: these are small, the scores themselves are not."""


def open_model(model: str) -> Model:
    return engine_client.open(model)


def run(selection: Selection) -> Run:
    """Return the run of a selection with what the pictures of its heads, and of its blanks, need."""
    reader = open_model(selection.model)
    reads = reader.spec.framed and "logits" in reader.outputs  # the page says what stands in a blank
    keep = (*(KEEP if reader.spec.kinds_of(reader.config) else ()), *(("logits",) if reads else ()))
    return run_with(selection, keep, reads_on=reader.spec.writes)


def run_with(selection: Selection, keep: Sequence[str], **options: Any) -> Run:
    """Return the run of a selection that keeps these tensors (an empty target is a given one); `edits` and other options as in `core.Model.run`."""
    return engine_client.run(
        selection.model,
        selection.text,
        target=selection.target,
        pair=selection.pair or None,
        keep=tuple(keep),
        **options,
    )


def fixed(selection: Selection, keep: Sequence[str]) -> Run:
    """Return the run that others are compared with; a translator's own translation is read back as a given one.

    What it writes token by token may be cut into other pieces when it is given as text: then no position would stand
    beside its like.
    """
    if not selection.target and open_model(selection.model).spec.has_source:
        selection = replace(selection, target=run_with(replace(selection, target=None), ()).target_text)
        try:
            return run_with(selection, keep)
        except InputError as problem:
            raise InputError(
                _("The text that {model} writes here cannot be read back.", model=selection.model),
                f"{problem.wrong} {problem.rule}",
                _("Choose a shorter text, or another model."),
            ) from None
    return run_with(selection, keep)


def selection_of(run: Run) -> Selection:
    """Return the texts and the model of a run, its translation as a given one: with them the same run is made again."""
    return Selection(run.model.name, (run.source or run.side).text, run.target_text, run.side.pair)


def rerun(run: Run, keep: Sequence[str], *, edits: Sequence[Edit] = (), **texts: Any) -> Run:
    """Return the same run with other tensors kept, with edits, or with another text among `texts`."""
    return run_with(replace(selection_of(run), **texts), keep, edits=tuple(edits))


def readable_part(reader: Model, text: str, *, runs: float = 1, each: float = 0) -> str:
    """Return the text, or the part of it that this page can read, with a slider that moves the part.

    That is what fits the model's context; and no more than can be answered in a moment by a page that makes `runs` runs of
    the part, and `each` more for every token of it.
    """
    most = bounds.token_limit(reader, runs=runs, each=each)
    if patches.reads_patches(reader) or (text.isascii() and len(text) < most):
        return text  # every picture has as many patches; a token is a letter at least
    if (n := len(reader.reader.encode(text).ids)) <= most:
        return text
    first = state.read("look.from", 0, state.whole_number(0, n - most))
    key = f"look.window:{reader.name}.{most}"
    state.seed_widget(key, first)
    limit = (
        _("{model} reads {most:,} at once", model=reader.name, most=most)
        if most == reader.config.n_ctx - bounds.n_special(reader)
        else _(
            "this page reads {most:,} of them with {model}, so that it answers in a moment",
            most=most,
            model=reader.name,
        )
    )
    st.slider(
        _("The text has {n:,} tokens, and {limit}. Shown from token", n=n, limit=limit),
        0,
        n - most,
        first,
        key=key,
        on_change=lambda: state.write(**{"look.from": st.session_state[key]}),
    )
    return bounds.slice_tokens(reader, text, first, most)
