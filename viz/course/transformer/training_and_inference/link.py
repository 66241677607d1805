"""What the parts of the exhibit on training and inference share: its names, its pairs, and how a pair is chosen."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from core.errors import InputError
from viz.labels import literal, visible
from viz.shell import state
from viz.widgets import compute as ask
from viz.widgets import controls

SLUG = "training_and_inference."
MODEL = "translator-en-es"
PAIRS = (
    ("She has a white car.", "Ella tiene un coche blanco."),
    ("You are welcome.", "De nada."),
    ("You are welcome.", "Con mucho gusto."),
    ("I am a student.", "Soy estudiante."),
)
_PILLS = SLUG + "pairs"


def own(text: str) -> str:
    """The target of a sentence that the visitor chose none for: ours, or what the model writes. Raises InputError for no text."""
    return next((target for source, target in PAIRS if source == text), None) or ask.run(MODEL, text, keep=()).target_text or ""


def pair(text: str, start: str) -> None:
    """The pair that is learnt: English, the wanted Spanish, and examples of both."""
    try:
        wanted = own(text)
    except InputError:  # told above, where the picture would be
        wanted = ""
    drops = (SLUG + "steps", SLUG + "passes", SLUG + "place")
    left, right = st.columns(2, gap="medium")
    with left:
        controls.text("English sentence", "text", start, placeholder="Type a sentence", drops=("target", *drops), of=MODEL)
    with right:
        target = controls.text("Spanish, as it is wanted", "target", wanted, placeholder="Type its translation", drops=drops)
    now = PAIRS.index((text, target)) if (text, target) in PAIRS else None
    state.held(_PILLS, now)
    st.pills("Examples", range(len(PAIRS)), format_func=lambda i: literal(" → ".join(PAIRS[i])), key=_PILLS, default=now, on_change=_chosen, label_visibility="collapsed", wrap=True)


def _chosen() -> None:
    at = st.session_state.get(_PILLS)
    if at is not None:
        text, target = PAIRS[at]
        state.write(text=text, target=target, **{SLUG + "steps": None, SLUG + "passes": None, SLUG + "place": None})


def word(token: str) -> str:
    """A piece as a word: its leading space left out, other white space visible."""
    return visible(token.removeprefix(" ") or token)


def named(tokens: Sequence[str]) -> list[str]:
    """Pieces as words."""
    return [word(token) for token in tokens]
