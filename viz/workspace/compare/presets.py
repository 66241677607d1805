"""Telling pairs: what is worth putting side by side, ready-made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.data import doodles
from core.errors import InputError
from viz.languages import _, mark
from viz.shell import state
from viz.widgets import engine_client
from viz.widgets.pins import PANES, View, pinned_views
from viz.workspace.compare import panes
from viz.workspace.shared import tasks

TIRED, WIDE = (f"The animal didn't cross the street because it was too {word}." for word in ("tired", "wide"))
CAR, STORY = "She has a white car.", "Once upon a time"
CAT = "The old woman had a little white cat. One day the old woman and the little white"
FISH, TABBY = (doodles.as_text(doodles.example(name)) for name in ("fish", "cat"))
SEER = "vit-doodles"
READER, WRITER, RECURRENT, FILLER, EARLY, LATE = (
    "translator-en-es",
    "gpt-mini",
    "bahdanau-en-es",
    "bert-mini",
    "gpt-twin at step 437",
    "gpt-twin",
)


@dataclass(frozen=True)
class Telling:
    """A pair and what there is to see in it."""

    name: str
    note: str
    views: tuple[View, ...]


UNLISTED = mark("Your own choice")
HEADS = Telling(
    mark("Two heads"),
    mark("Two heads of this model read the same sentence. Each attends in its own way."),
    (),
)
TELLING = (
    Telling(
        mark("Tired or wide?"),
        mark(
            "An encoder reads the whole sentence: its last word changes where earlier words look. Of all its heads, the one that moves most."
        ),
        (View(READER, TIRED), View(READER, WIDE)),
    ),
    Telling(
        mark("One word changed"),
        mark(
            "A model that reads from left to right: before the last word nothing can differ. Of all its heads, the one that moves most."
        ),
        (View(WRITER, TIRED), View(WRITER, WIDE)),
    ),
    Telling(
        mark("One word changed, both ways"),
        mark(
            "A model that reads in both directions: rows before the last word differ too. Of all its heads, the one that moves most."
        ),
        (View(FILLER, TIRED), View(FILLER, WIDE)),
    ),
    Telling(
        mark("With and without recurrence"),
        mark(
            "A Transformer and a recurrent network translate one sentence: which source word does each word come from?"
        ),
        (View(READER, CAR), View(RECURRENT, CAR, "alignment")),
    ),
    Telling(
        mark("Encoder and decoder"),
        mark(
            "One sentence in an encoder, where every word may look at every other, and in a decoder, where none looks ahead."
        ),
        (View(READER, TIRED, "self", 2, 0), View(WRITER, TIRED, "causal", 3, 6)),
    ),
    Telling(
        mark("A head switched off"),
        mark(
            "One head as it is, and with the earlier head L2.H1 switched off: some of its rows read what that one wrote."
        ),
        (
            View(WRITER, CAT, "causal", 3, 6),
            View(WRITER, CAT, "causal", 3, 6, edits="zero:layer.2.self_attn.heads:1"),
        ),
    ),
    Telling(
        mark("Late and early in training"),
        mark("One head at the end of training, and after 437 steps."),
        (View(LATE, TIRED, "causal", 2, 3), View(EARLY, TIRED, "causal", 2, 3)),
    ),
    Telling(
        mark("Two drawings"),
        mark(
            "A Vision Transformer reads a fish and a cat. Of all its heads, the one whose patches differ most."
        ),
        (View(SEER, FISH), View(SEER, TABBY)),
    ),
    Telling(
        mark("With classes and without"),
        mark(
            "One drawing in two encoders of the same shape: one learned to classify drawings, the other to fill in hidden patches."
        ),
        (View(SEER, FISH, "self", 2, 0), View("mae-doodles", FISH, "self", 2, 0)),
    ),
    Telling(
        mark("Two strategies"),
        mark(
            "One beginning, written on twice: greedy, and sampled. See Decode for how the tokens are chosen."
        ),
        (
            View(WRITER, STORY, "causal", 3, 6, strategy="greedy"),
            View(WRITER, STORY, "causal", 3, 6, strategy="lot t=0.8 seed=2"),
        ),
    ),
)


def openable_pairs() -> tuple[Telling, ...]:
    """Return the pairs whose models can be opened, and those that the visitor pinned."""
    usable = tasks.usable()
    found = tuple(
        pair for pair in TELLING if all(view.model in usable or _opens(view.model) for view in pair.views)
    )
    kept = pinned_views()
    return (HEADS, *found, *((Telling(mark("Your pins"), mark("What you pinned."), kept),) if kept else ()))


def row(views: Sequence[View]) -> DeltaGenerator:
    """Draw one line: a list of clear pairs, and what there is to see in the one in the panes. Return the line, to which more may be added."""
    pairs, key = openable_pairs(), "compare.telling"
    now = next(
        (pair.name for pair in pairs if pair.views and pair.views == tuple(views)),
        UNLISTED if views else HEADS.name,
    )
    state.seed_widget(key, now)

    def store() -> None:
        pair = next((pair for pair in pairs if pair.name == st.session_state.get(key)), None)
        if pair is None:
            return
        if pair.views:
            panes.take(pair.views)
        else:
            state.write(**{PANES: None, panes.ROW: None})

    lit = next((pair for pair in pairs if pair.name == now), None)
    line = st.container(horizontal=True, vertical_alignment="center", gap="small", key="compare.telling.row")
    with line:
        names = [*([] if lit else [UNLISTED]), *(pair.name for pair in pairs)]
        st.selectbox(
            _("Presets"),
            names,
            names.index(now),
            key=key,
            on_change=store,
            label_visibility="collapsed",
            format_func=_,
            width=270,
        )
        st.markdown(f":gray[{_(lit.note) if lit else _('Heads, models and sentences as you chose them.')}]")
    return line


def _opens(name: str) -> bool:
    """Return whether a model opens by its name: a moment of a model's training is not among the models."""
    if " at step " not in name:
        return False
    try:
        engine_client.open(name)
    except InputError:
        return False
    return True
