"""Steps of the exhibit on one word with two meanings: its two vectors layer by layer, and the one vector of a table."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from core.errors import InputError
from core.serving.engine import default
from viz.course.bert.bank import charts as figures
from viz.course.bert.bank.maths import in_context, senses
from viz.course.shared.shown import Shown
from viz.labels import literal, visible
from viz.shell import state
from viz.widgets import compute as ask
from viz.widgets import controls, lesson, parts

SLUG, MODEL, TABLE = "bank.", "bert-mini", "vectors-mini"
LATER = pd.DataFrame({"": ["Guess first: then the numbers are here."]})
LONGEST = 1000
EXAMPLES = (
    (*senses.DOCUMENTS, "bank"), ("Money is in the bank.", "She put her gold in the bank.", "bank"),
    ("Money is in the bank.", "Money is in the bank.", "bank"), ("He can see the can.", "They can see the moon.", "see"),
)  # fmt: skip
TRY = (
    "**Try.** The same sentence twice: 1 at every layer. Then move the word one position with *Now*, in front: the second number leaves 1.",
    "**Try.** Move the layer to the table: all squares are 1, whatever the sentence.",
    "**Try.** Type a sentence of your own. On which side does it fall?",
    "**Try.** The other words. Does the table's one vector always lean to the same kind of meaning: the more frequent one?",
    "**Try.** Compare the three ways. Does reading help, or do the words alone do it?",
)


def names_of(n: int) -> list[str]:
    """The rows of the vectors: the table, what enters the first layer, what leaves each layer."""
    return ["table", "+ position", *(f"after L{i}" for i in range(n - 2))]


def lines(code: str) -> str:
    """The lines of Python of a step."""
    return f"import core\nfrom viz.course.bert.bank.maths import in_context\nfrom viz.course.bert.bank.maths import senses\n\nmodel = core.open_model({MODEL!r})\n{code}"


def examples(params: Any) -> None:
    """Ready-made pairs as pills; the lit one is what the boxes hold."""
    said = {f"{word}: {one} / {two}": (one, two, word) for one, two, word in EXAMPLES}
    key = SLUG + "ready"
    lit = state.held(key, next((name for name, three in said.items() if three == (params.one, params.two, params.word)), None))

    def take() -> None:
        three = said.get(st.session_state.get(key) or "")
        if three:
            state.write(**{SLUG + name: value for name, value in zip(("one", "two", "word"), three, strict=True)})

    st.pills("Examples", list(said), format_func=literal, key=key, default=lit, on_change=take, label_visibility="collapsed")


def check(*texts: str) -> None:
    """Raises InputError for a text that is too long for this page."""
    for text in texts:
        if len(text) > LONGEST:
            raise InputError(f"A sentence has {len(text):,} letters.", f"This page reads up to {LONGEST:,}.", "Shorten it.")


def two(params: Any) -> Shown:
    """The cosine of a word's two vectors, layer by layer; only the table is shown before the guess."""
    check(params.one, params.two, params.word)
    key = ("bank.two", params.one, params.two, params.word)
    found = ask.submit(key, lambda: in_context.uses(default().open(MODEL), (params.one, params.two), params.word), 30 * len(params.one + params.two))
    values, word = found.by_layer(), visible(params.word.strip())
    n = len(values)
    told = lesson.predict_number(SLUG + "two", f"How alike are the two vectors of “{word}” after the last layer? (cosine; 1: the same)", 0.0, 1.0, float(np.clip(values[-1], 0, 1)),
                                 f"{values[0]:.3f} in the table, {values[-1]:.3f} after the last layer.", 0.05)  # fmt: skip
    parts.show(figures.by_layer({word: values}, names_of(n), known=None if told else 1), SLUG + "two",
               "Cosine: " + ", ".join(f"{name} {value:.3f}" for name, value in zip(names_of(n), values, strict=True)) if told else "The table gives 1; the rest is covered until you guessed.")  # fmt: skip
    places = "the same position" if found.places[0] == found.places[1] else "different positions"
    lowest = int(values.argmin())
    parts.numbers(
        f"“{word}” is token {found.places[0]} and token {found.places[1]}, {places}: {values[1]:.3f} before the first layer. The vectors are farthest apart at “{names_of(n)[lowest]}” ({values[lowest]:.3f}) and end at {values[-1]:.3f}."
        if told else f"“{word}” is token {found.places[0]} of the first sentence and token {found.places[1]} of the second. In the table it has one vector: {values[0]:.3f}."
    )  # fmt: skip
    examples(params)
    return Shown(
        {"vectors.cosine": {}}, tuple(rf"\cos_{{\text{{{name}}}}} = {value:.6f}" for name, value in zip(names_of(n), values, strict=True)) if told else (),
        "A point is the cosine of the word's two vectors. “table”: one row, so exactly 1. “+ position”: the segment and position embeddings are added and normed; at the same position still exactly 1. Then each layer adds what attention brings from the other words. "
        "Cosines of BERT's vectors are never small: all its vectors point a little the same way, so compare cosines with each other, not with 0.",
        lambda: pd.DataFrame({"where": names_of(n), "cosine": values}) if told else LATER, {"cosines": values} if told else {},
        lines(f"found = in_context.uses(model, ({params.one!r}, {params.two!r}), {params.word!r})\nprint(found.by_layer())"),
    )  # fmt: skip


def static(params: Any) -> Shown:
    """The cosine of the word's one vector with words of both meanings, in a table that knows no sentence."""
    held = senses.WORDS[params.which]
    rows = ask.submit(("bank.static", params.which), lambda: in_context.belongs(default().open(TABLE), held.word, held.near), 200)
    means = [float(np.mean([cosine for _, number, cosine in rows if number == kind])) for kind in (0, 1)]
    answer = held.meanings[int(means[1] > means[0])]
    told = lesson.predict(SLUG + f"static.{held.word}", f"vectors-mini has one vector for “{held.word}”. To which words is it nearer?", dict(zip(held.meanings, means, strict=True)), answer,
                          f"Mean cosine {means[0]:.3f} with words of “{held.meanings[0]}”, {means[1]:.3f} with words of “{held.meanings[1]}”.")  # fmt: skip
    parts.show(figures.bars([(word, cosine, held.meanings[kind]) for word, kind, cosine in rows], held.meanings, covered=not told, high=28), SLUG + "static",
               "Cosines: " + ", ".join(f"{word} {cosine:.2f}" for word, _, cosine in rows) if told else "Bars, covered until you guessed.")  # fmt: skip
    own = ask.submit(("bank.many", params.which, ""), lambda: in_context.uses(default().open(MODEL), [text for text, _ in held.uses], held.word), 3000)
    same, other = in_context.kept_apart(own.cosines(-1), [kind for _, kind in held.uses])
    parts.numbers(f"One vector for all: mean cosine {means[0]:.3f} with “{held.meanings[0]}”, {means[1]:.3f} with “{held.meanings[1]}”. bert-mini after its last layer: {same:.3f} between uses of one meaning, {other:.3f} between the two."
                  if told else f"“{held.word}” means {held.meanings[0]} or {held.meanings[1]}. A table does not ask which.")  # fmt: skip
    which()
    return Shown(
        {"vectors.cosine": {}}, (rf"\text{{mean: }} {means[0]:.4f}, \quad {means[1]:.4f}",) if told else (),
        "A bar is the cosine of the word's vector with another word's, in the table of vectors-mini, which learned by predicting the words around. The table cannot tell the meanings apart: its vector is a mix of both, by how often each occurs in its books. "
        "Words that the table does not have are left out.",
        lambda: pd.DataFrame(rows, columns=["word", "meaning", "cosine"]) if told else LATER, {"cosines": np.array([cosine for *_, cosine in rows])} if told else {},
        lines(f"word = senses.WORDS[{held.word!r}]\nprint(in_context.belongs(core.open_model({TABLE!r}), word.word, word.near))"),
    )  # fmt: skip


def which() -> None:
    """Pills with our words."""
    controls.pills("Word", tuple(senses.WORDS), SLUG + "which", "bank")
