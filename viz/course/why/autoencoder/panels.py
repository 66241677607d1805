"""The pictures, questions, controls and sentences of the exhibit on the context vector."""

from __future__ import annotations

from typing import Any

import numpy as np
import streamlit as st

from viz.course.why.autoencoder import charts as figures
from viz.course.why.autoencoder.maths import concepts
from viz.course.why.autoencoder.maths.glyphs import COLUMNS, ROWS, letters
from viz.labels import percent, shorten, visible
from viz.shell import state
from viz.widgets import controls, lesson, parts

TAUGHT = tuple(concept.english for concept in concepts.taught())
WORDS = (*TAUGHT, *concepts.UNTAUGHT)
GUESS, BOXES, TARGETS, LETTERS, LOST = range(5)
ENOUGH = 0.05
"""The share of the letters that may be lost in the last question."""


def name(word: str) -> str:
    """A word of the list, or one that no decoder was taught."""
    return word if word in TAUGHT else f"{shorten(visible(word), 30) or 'nothing'} (not in the list)"


def translation(word: str, language: str) -> str | None:
    """What our list says, or None for an untaught word."""
    return next((getattr(concept, language) for concept in concepts.taught() if concept.english == word), None)


def picture(slug: str, data: Any, params: Any, step: int, known: bool) -> None:
    """Three boxes; at the last step the curve of what is lost."""
    if step == LOST:
        told = f"; with {params.p} numbers {percent(data.lost, 2)} of the letters." if known else ", still covered."
        parts.show(figures.lost(data.floors, data.learned, params.p, covered=not known), f"{slug}lost", f"What is lost by the size of the context{told}")
        return
    if step == LETTERS:
        entry, exits = (params.letter, data.entry.reshape(ROWS, COLUMNS), False), list(data.exits.items())
        told = f"The letter {params.letter} of 35 dots, {params.p} numbers, and what four decoders draw from them."
    else:
        entry = (params.word, data.entry.reshape(10, 8), True)
        kept = data.exits if step == TARGETS else {"french": data.exits["french"]}
        exits = [(language.title(), word if known else None) for language, word in kept.items()]
        told = f"{params.word} as 80 numbers, {params.p} numbers, " + ("and the word of each decoder." if known else "and a word still covered.")
    figure = figures.boxes(entry, data.context, exits, limit=data.limit, height=400 if step == LETTERS else 360)
    parts.show(figure, f"{slug}boxes", told)


def choose(slug: str, start: Any, step: int) -> None:
    """p, and what goes in."""
    controls.slider("p, the numbers in the context", 1, 24, slug + "p", start.p)
    if step in (BOXES, TARGETS) or (step == GUESS and not lesson.presenting()):
        now = state.read(slug + "word", start.word, str)  # whole, however long: the list and the box hold one text
        with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
            controls.select("The word that goes in", dict.fromkeys((*WORDS, now)), slug + "word", start.word, name)
            controls.text("or an English word of your own", slug + "word", start.word, placeholder="Type a word")
    elif step == LOST:
        controls.draw(slug + "draw", start.draw, 99)
    elif step == LETTERS:
        controls.pills("The letter that goes in", letters(), slug + "letter", start.letter)


def first_guess(slug: str, data: Any, params: Any) -> bool:
    """What does the French decoder say? Asked before it is shown."""
    near = data.near["french"]
    wanted, said = translation(params.word, "french"), near[0][0]
    offered = dict(sorted(({"la table": 0.0} | ({wanted: 0.0} if wanted else {}) | dict(near)).items()))
    measure = "; ".join(f"{word} {cosine:.2f}" for word, cosine in near[:3])
    why = (
        f"The decoder spells from {params.p} number{'s' if params.p > 1 else ''}; the nearest words of its list, with their cosines, are {measure}. "
        f"With this size it names {percent(data.right['french'])} of the {len(TAUGHT)} words as the list does."
    )  # fmt: skip
    question = f"“{params.word}” is squeezed from 80 numbers into {params.p}. Which word does the French decoder write?"
    return lesson.predict(slug + "first", question, offered, said, why)


def last_guess(slug: str, floor: np.ndarray) -> bool:
    """How many numbers are needed for the letters? Asked before the curve is shown."""
    enough, n = int((floor <= ENOUGH).argmax()), len(letters())
    why = (
        f"With {enough - 1} numbers {percent(floor[enough - 1], 2)} is lost, with {enough} {percent(floor[enough], 2)}. "
        f"That {len(floor) - 1} lose nothing says little: {n} letters around their mean lie in {n - 1} dimensions, whatever they show. Fewer do because letters are made of few strokes."
    )  # fmt: skip
    question = f"26 letters of 35 dots each. How many numbers must the context have so that at most {percent(ENOUGH)} is lost?"
    return lesson.predict_number(slug + "size", question, 1, 35, enough, why, near=2)


def numbers(data: Any, params: Any, step: int) -> str:
    """One sentence of numbers of what is shown."""
    p = f"{params.p} number{'s' if params.p > 1 else ''}"
    if step == LOST:
        return (
            f"With {p} the smallest possible loss of the letters is {percent(data.lost, 2)}; learned from a random start it is {percent(data.course[0], 2)} after "
            f"one step and {percent(data.course[-1], 2)} after {len(data.course)}."
        )  # fmt: skip
    if step == LETTERS:
        made = data.exits["plain"]
        wrong = int(((made > 0.5) != (data.entry.reshape(made.shape) > 0.5)).sum())
        return f"With {p} of context {wrong} of the {params.letter}'s 35 dots come back on the wrong side of one half; of all 26 letters {percent(data.lost, 2)} is lost."
    if step == TARGETS:
        words = ", ".join(data.exits.values())
        right = ", ".join(f"{language.title()} {percent(share)}" for language, share in data.right.items())
        return f"From the same {p}: {words}. Of the {len(TAUGHT)} words in the list these come out right: {right}."
    wanted, said = translation(params.word, "french"), data.exits["french"]
    verdict = "" if wanted is None else " That is the word of the list." if wanted == said else f" The list says {wanted}."
    return f"From {p} the French decoder writes {said}.{verdict} It names {percent(data.right['french'])} of the {len(TAUGHT)} words as the list does."
