"""A word or a letter compressed into p numbers, what each decoder makes of them, and the loss by p."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from core.maths import unit_rows
from core.serving.engine import default
from viz.course.shared.word_vectors import row_of
from viz.course.why.autoencoder import concepts, linear_autoencoder
from viz.course.why.autoencoder.glyphs import COLUMNS, ROWS, glyphs, letters, styles
from viz.languages import mark

Array = NDArray[np.float64]
MODEL = "vectors-mini"
TRAINING_STEPS = 60
DOTS, VECTORS = mark("letters, 35 dots"), mark("words, vectors of 80 numbers")
"""Names of the two curves of the loss."""


@dataclass(frozen=True, eq=False)
class Word:
    """A word's vector, its context (p,), the word of each decoder, the share of variance lost, and each decoder's share of
    right words.

    `limit`: the largest number in any context. `near`: the nearest words of each list, with their cosines.
    """

    entry: Array
    context: Array
    limit: float
    exits: dict[str, str]
    lost_share: float
    right: dict[str, float]
    near: dict[str, list[tuple[str, float]]]


@dataclass(frozen=True, eq=False)
class Letter:
    """A letter's dots, its context (p,), the dots of each decoder (row, column), and the share of variance lost over all
    letters."""

    entry: Array
    context: Array
    limit: float
    exits: dict[str, Array]
    lost_share: float


@dataclass(frozen=True, eq=False)
class Loss:
    """The smallest possible loss by p, of letters and words; the loss after learning by p, and its `course` at one p."""

    floors: dict[str, Array]
    learned: dict[int, float]
    course: Array


def vectors() -> dict[str, Array]:
    """Return the vectors of the exhibit's English words, from the shipped model."""
    model = default().open(MODEL)
    words = [*(concept.english for concept in concepts.taught()), *concepts.UNTAUGHT]
    return concepts.vectors(_table(), {word: model.tokenizer.encode(word).ids[0] for word in words})


def word(english: str, p: int) -> Word:
    """Encode a word with p numbers; every language writes from them. Errors: InputError for an unknown
    word."""
    known, english = vectors(), english.strip().casefold()
    if english not in known:  # a visitor's own, brought to length 1
        known |= {english: unit_rows(_table().astype(np.float64)[row_of(default().open(MODEL), english)])}
    rows = linear_autoencoder.Data(np.array([known[concept.english] for concept in concepts.taught()]))
    book = concepts.Dictionary(rows, p)
    context = book.coder.context(known[english])
    near = {}
    for name, language in book.languages.items():
        nearness = language.nearness(context)
        order = np.argsort(-nearness, kind="stable")[:4]
        near[name] = [(language.words[i], float(nearness[i])) for i in order]
    return Word(
        entry=known[english],
        context=context,
        limit=float(np.abs(book.contexts).max()),
        exits={name: language.says(context) for name, language in book.languages.items()},
        lost_share=book.coder.lost_share(rows.rows),
        right={name: book.right(name) for name in book.languages},
        near=near,
    )


@lru_cache(1)
def letter_data() -> linear_autoencoder.Data:
    """Return the 26 letters with their singular value decomposition, computed once."""
    return linear_autoencoder.Data(glyphs())


def letter(name: str, p: int) -> Letter:
    """Encode a letter with p numbers, and let every style draw from them."""
    data = letter_data()
    coder, entry = data.best(p), glyphs()[letters().index(name)]
    contexts, context = coder.context(data.rows), coder.context(entry)
    exits: dict[str, Array] = {"plain": coder.back(context).reshape(ROWS, COLUMNS)}
    for style, targets in styles().items():
        decoder = linear_autoencoder.head(contexts, targets.reshape(len(targets), -1))
        exits[style] = decoder(context).reshape(targets.shape[1:])
    return Letter(entry, context, float(np.abs(contexts).max()), exits, coder.lost_share(data.rows))


def loss(p: int, draw: int) -> Loss:
    """Compute the loss by the size of the context: the smallest possible, and after learning from a random start. `p` selects
    the learning curve."""
    data = letter_data()
    words = linear_autoencoder.Data(np.array([v for w, v in vectors().items() if w not in concepts.UNTAUGHT]))
    trained = {size: data.trained(size, TRAINING_STEPS, draw)[1] for size in range(1, data.rank + 1)}
    return Loss(
        floors={DOTS: data.floor(), VECTORS: words.floor()},
        learned={size: float(losses[-1]) for size, losses in trained.items()},
        course=trained[p],
    )


def _table() -> Array:
    return default().open(MODEL).network.get_parameter("embed.token.weight").detach().cpu().numpy()
