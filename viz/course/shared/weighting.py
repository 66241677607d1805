"""Attention as a weighting: raw importances become weights that sum to 1; skimming keeps what weighs enough."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from core.errors import InputError
from core.maths import log_softmax, softmax
from viz.languages import _, ngettext

Array = NDArray[np.float64]

WORDS = ("Mona", "Lisa", "is", "a", "portrait", "painted", "by", "Leonardo", "da", "Vinci")
BY_HAND = (1.5, 1.5, 0.0, 0.0, 3.0, 1.0, 0.0, 3.5, 2.0, 2.5)
"""Importances set by hand, so that the words which the documents print in bold weigh most."""
MOST = 5.0
MOST_WORDS = 16
AROUND = '.,;:!?…"“”„«»()[]'


def words_of(text: str) -> tuple[str, ...]:
    """Return the words of a sentence without the punctuation around them. Raises InputError for fewer than two, or more than MOST_WORDS.

    >>> words_of("Mona Lisa is a portrait, painted by (Leonardo) da Vinci.") == WORDS, words_of("Mona Lisa.")
    (True, ('Mona', 'Lisa'))
    """
    found = tuple(word for part in text.split() if (word := part.strip(AROUND)))
    if not 2 <= len(found) <= MOST_WORDS:
        raise InputError(
            ngettext("The sentence has {n} word.", "The sentence has {n} words.", len(found)),
            _("Attention is shared by at least two words, and this page shows up to {n}.", n=MOST_WORDS),
            _("Type a short sentence."),
        )
    return found


def weights_after_increase(raw: Sequence[float], place: int, by: float = 1.0) -> Array:
    """Return the weights after one score grew by `by`; every other weight shrinks by one and the same factor.

    >>> before, after = softmax([0.0, 1.0, 2.0]), weights_after_increase([0.0, 1.0, 2.0], 0)
    >>> bool(np.isclose(after[1] / before[1], after[2] / before[2]))
    True
    """
    changed = np.array(raw, dtype=np.float64)
    changed[place] += by
    return softmax(changed)


def kept_positions(weights: ArrayLike, threshold: float) -> tuple[int, ...]:
    """Return the positions of the words that weigh at least `threshold`: a skimming reader still sees them.

    >>> kept_positions([0.5, 0.1, 0.4], 0.2)
    (0, 2)
    """
    return tuple(int(i) for i in np.flatnonzero(np.asarray(weights) >= threshold))


def spot(rows: int, columns: int, centre: tuple[float, float], width: float) -> Array:
    """Return a patch of attention on a grid: softmax of minus the squared distance from `centre` (row, column).

    Importance r_ij = -((i - row)^2 + (j - column)^2) / (2 width^2); the softmax of it is a Gaussian that sums to 1
    on the grid. Shapes: returns (rows * columns,), row by row.

    >>> weights = spot(3, 3, (1, 1), 1.0)
    >>> int(weights.argmax()), round(float(weights.sum()), 12)
    (4, 1.0)
    """
    i, j = np.mgrid[:rows, :columns]
    return softmax((-((i - centre[0]) ** 2 + (j - centre[1]) ** 2) / (2 * width**2)).ravel())


def word_bits(run, words: Sequence[str], text: str) -> Array:
    """Return the surprisal of each word of `text` for a language model, in bits: -log2 p(word | all before it).

    A word's pieces add up. The run's text must have something before the first word (a line break), or that word has
    no prediction. Shapes: returns (word,).
    """
    logp = log_softmax(np.asarray(run.logits, dtype=np.float64))
    bits = np.zeros(len(words))
    starts, at = [], 0
    for word in words:
        at = text.index(word, at)
        starts.append(at)
        at += len(word)
    for place in range(1, len(run.ids)):
        span = run.spans[place]
        if span is None or span[1] > at:
            continue
        word = max((w for w, start in enumerate(starts) if start < span[1]), default=None)
        if word is not None:
            bits[word] -= logp[place - 1, run.ids[place]] / math.log(2)
    return bits


def from_bits(bits: ArrayLike) -> tuple[float, ...]:
    """Scale surprisals to the range of the sliders, 0 to 5: the most surprising word gets 5.

    >>> from_bits([1.0, 4.0, 2.0])
    (1.2, 5.0, 2.5)
    """
    values = np.asarray(bits, dtype=np.float64)
    return tuple(round(float(v), 1) for v in MOST * values / max(float(values.max()), 1e-9))
