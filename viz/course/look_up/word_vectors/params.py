"""Settings of the exhibit on word vectors: positions of words in the plane, three words of a sum, two sentences, one more."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import streamlit as st

from core.text.tokenizer import readable_part
from viz.course.look_up import vectors_link
from viz.course.shared import word_vectors
from viz.languages import _, mark
from viz.shell import state
from viz.widgets import controls
from viz.widgets.knobs import Control, Knobs, knob, sentence, url_only

SLUG, MODEL, READER = "word_vectors", "vectors-mini", "gpt-mini"
NAMES = (*word_vectors.TOY, *word_vectors.OTHERS)
OPENING: vectors_link.Vectors = (*word_vectors.TOY.values(), *word_vectors.OTHERS.values())
READY = (
    ("king", "man", "woman"),
    ("king", "prince", "princess"),
    ("brother", "boy", "girl"),
    ("walked", "walk", "play"),
    ("went", "go", "come"),
    ("mice", "mouse", "child"),
)
SENTENCES = (
    "The FBI is chasing a criminal on the run .",
    "The animal didn't cross the street because it was too tired.",
)
TERMS = {"a": "a", "b": "− b", "c": "+ c"}
BANKS = {"one": mark("One sentence"), "two": mark("Another sentence"), "word": mark("A word in both")}


def places(raw: str) -> vectors_link.Vectors:
    """Parse the positions of the words in the plane; raise Unusable for others."""
    found = vectors_link.vectors(raw, vectors_link.LIMIT)
    if len(found) != len(NAMES) or len(found[0]) != 2:
        raise state.Unusable(_("It must be {n} places x,y.", n=len(NAMES)))
    return found


def on_plane(raw: str) -> str:
    """Check the positions of a link and return them as text."""
    return vectors_link.pack(places(raw))


def _sum(name: str, opening: str, params: Params, names: Callable[[str], str]) -> None:
    """Draw three boxes for words, and ready-made sums."""
    for column, (field, label) in zip(st.columns(3), TERMS.items(), strict=True):
        with column:
            controls.text(label, names(field), getattr(Params, field))
    boxes = [names(field) for field in TERMS]
    sums = {f"{a} − {b} + {c}": dict(zip(boxes, (a, b, c), strict=True)) for a, b, c in READY}
    now = dict(zip(boxes, (params.a, params.b, params.c), strict=True))
    controls.preset_values(sums, f"{SLUG}.ready", now, mark("Sums"))


def _banks(name: str, opening: str, params: Params, names: Callable[[str], str]) -> None:
    """Draw boxes for two sentences and for a word of both, which needs less space."""
    for column, (field, label) in zip(st.columns([3, 3, 1]), BANKS.items(), strict=True):
        with column:
            controls.text(
                _(label), names(field), getattr(Params, field), model=READER if field != "word" else ""
            )


def _boxes(draw: Callable[..., None]) -> Any:
    """Return a control that draws a row of boxes, for the first of their settings."""
    return Control(draw, lambda opening: readable_part)


@dataclass(frozen=True)
class Params(Knobs):
    """`points`: positions of the words in the plane. `row`: the word that attends, -1 for the default."""

    points: str = knob(vectors_link.pack(OPENING), url_only(on_plane))
    a: str = knob(READY[0][0], _boxes(_sum))
    b: str = knob(READY[0][1], url_only(readable_part))
    c: str = knob(READY[0][2], url_only(readable_part))
    one: str = knob("They sat in the grass on the river bank.", _boxes(_banks))
    two: str = knob("She kept all her money in the bank.", url_only(readable_part))
    word: str = knob("bank", url_only(readable_part))
    text: str = knob(SENTENCES[0], sentence("Sentence", SENTENCES, model=READER), link="text")
    row: int = knob(-1, url_only(state.whole_number(-1, 511)))
