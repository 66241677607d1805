"""What a model may not write: tokens, and sequences of tokens, that its configuration names."""

from __future__ import annotations

from collections.abc import Sequence

Words = tuple[tuple[int, ...], ...]
"""Sequences of token ids, none empty. One of a single id never stands anywhere."""


def barred(words: Words, ids: Sequence[int]) -> list[int]:
    """The tokens that would complete one of these words behind the text so far.

    >>> barred(((7,), (1, 2, 3)), [5, 1, 2]), barred(((7,), (1, 2, 3)), [2])
    ([7, 3], [7])
    """
    return [
        word[-1]
        for word in words
        if len(word) == 1 or tuple(ids[max(0, len(ids) + 1 - len(word)) :]) == word[:-1]
    ]
