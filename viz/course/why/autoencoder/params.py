"""Settings of the exhibit on the context vector: the word or letter that goes in, p, and the random start of learning."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import streamlit as st

from core.text.tokenizer import readable_part
from viz.course.why.autoencoder import concepts
from viz.course.why.autoencoder.glyphs import letters
from viz.labels import shorten, visible
from viz.languages import _
from viz.shell import state
from viz.widgets import controls
from viz.widgets.knobs import Control, Knobs, knob, pills, seed_input, slider

SLUG = "autoencoder"
TAUGHT = tuple(concept.english for concept in concepts.taught())
WORDS = (*TAUGHT, *concepts.UNTAUGHT)


def called(word: str) -> str:
    """Name a word, and whether it is outside the list that the decoders were fitted to."""
    return (
        word
        if word in TAUGHT
        else _("{word} (not in the list)", word=shorten(visible(word), 30) or _("nothing"))
    )


def _word(name: str, opening: str, params: Params, names: Callable[[str], str]) -> None:
    """Draw the list of words and a box for another one; both set the same text, in full."""
    now = state.read(name, opening, str)
    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
        controls.select(_("The word that goes in"), dict.fromkeys((*WORDS, now)), name, opening, called)
        controls.text(_("or an English word of your own"), name, opening, placeholder=_("Type a word"))


@dataclass(frozen=True)
class Params(Knobs):
    """Settings that a visitor chooses and a link holds."""

    p: int = knob(8, slider("p, the numbers in the context", 1, 24))
    word: str = knob("elephant", Control(_word, lambda opening: readable_part))
    letter: str = knob("A", pills("The letter that goes in", letters()))
    draw: int = knob(0, seed_input(99))
