"""From where one word stands: at which words the heads of a layer look, and which head to point at. Weights (head, query, key)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

Array = np.ndarray


def place(words: Sequence[str], wanted: str = "it") -> int:
    """The last place of the wanted word, else of the last word with a letter in it, else 0.

    >>> place(["He", "saw", "it", "."]), place(["He", "saw", "."]), place(["."])
    (2, 1, 0)
    """
    found = [i for i, word in enumerate(words) if word.strip().lower() == wanted]
    letters = [i for i, word in enumerate(words) if any(letter.isalpha() for letter in word)]
    return (found or letters or [0])[-1]


def favourites(weights: Array, row: int) -> Array:
    """The key that each head looks at most from one row: (head,).

    >>> favourites(np.array([[[0.2, 0.8]], [[0.9, 0.1]]]), 0).tolist()
    [1, 0]
    """
    return weights[:, row].argmax(-1)


def pointing(weights: Array, row: int) -> int:
    """The head with the largest weight on a word that is neither the row's own nor next to it; of a short text, on any.

    A habit of place (the word before, the next) is not what makes a head worth pointing at.

    >>> pointing(np.array([[[0.0, 0.1, 0.9]], [[0.6, 0.2, 0.2]]]), 0)
    0
    """
    far = np.abs(np.arange(weights.shape[-1]) - row) > 1
    return (
        int(np.where(far, weights[:, row], 0.0).max(-1).argmax())
        if far.any()
        else int(weights[:, row].max(-1).argmax())
    )
