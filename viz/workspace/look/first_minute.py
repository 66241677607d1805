"""A first minute for newcomers: what a query, a key and a value are, in the sentence and the head on screen."""

from __future__ import annotations

import numpy as np
import streamlit as st

from core.run import Run
from viz.instruments.qkv.of_run import has_queries_and_keys, sequence_of
from viz.instruments.words.words import start
from viz.languages import _, mark
from viz.shell import errors, state
from viz.workspace.look import cell
from viz.workspace.shared.attention_kinds import crosses, layout
from viz.workspace.shared.head_ref import HeadRef, attention_of, target_words

QUESTION = mark("What is a query, a key, a value?")
OPEN = "look.minute"
"""The name in the link; "1" while the sequence is open."""


def button(run: Run, place: HeadRef) -> None:
    """Draw the button that opens the sequence, and the sequence while the link says that it is open."""
    if not has_queries_and_keys(run, place.kind):
        return
    st.button(
        _(QUESTION),
        key="look.minute.open",
        icon=":material/play_circle:",
        type="tertiary",
        on_click=lambda: state.write(**{OPEN: "1"}),
    )
    if state.read(OPEN, "", state.one_of(("", "1"))):
        st.dialog(_(QUESTION), width="large", on_dismiss=_close)(_dialog)(run, place)


def touched_token(run: Run, place: HeadRef) -> int:
    """Return the row of tokens that belongs to the touched word: of a word of several tokens the one with the largest weight."""
    attention = attention_of(run, place.kind)
    weights, allowed = (
        attention.weights[place.layer, place.head],
        attention.allowed[place.layer, place.head],
    )
    drawn, arranged = target_words(attention), layout(place.kind)
    side, index = start(
        weights, allowed, drawn, len(attention.keys), state.read("look.word", "") or None, arranged
    )
    row = int(weights[:, int(index)].argmax()) if side == "source" else drawn[int(index)][1]
    queries = run.axis(run.model.spec.kind(place.kind).queries)
    tokens = list((queries.next_tokens() if crosses(place.kind) else queries).words[row].pieces)
    pattern = run.trace[run.model.spec.kind(place.kind).path(place.layer, "pattern")][place.head]
    return tokens[int(np.argmax(np.nan_to_num(pattern[tokens]).max(1)))]


def _close() -> None:
    state.write(**{OPEN: None})


def _dialog(run: Run, place: HeadRef) -> None:
    with errors.guard():
        query = touched_token(run, place)
        sequence_of(
            cell.deep(run, place), place.kind, place.layer, place.head, query, key="look.minute"
        ).show()
