"""Tokens and sequences of tokens that a model may not write, as its configuration lists them."""

from __future__ import annotations

from collections.abc import Sequence

TokenSequences = tuple[tuple[int, ...], ...]
"""Sequences of token ids, none empty. A sequence of one id bars that token everywhere."""


def banned_next_tokens(sequences: TokenSequences, ids: Sequence[int]) -> list[int]:
    """Return the ids of the tokens that would complete one of `sequences` after the text so far, `ids`.

    >>> banned_next_tokens(((7,), (1, 2, 3)), [5, 1, 2]), banned_next_tokens(((7,), (1, 2, 3)), [2])
    ([7, 3], [7])
    """
    return [
        sequence[-1]
        for sequence in sequences
        if len(sequence) == 1 or tuple(ids[max(0, len(ids) + 1 - len(sequence)) :]) == sequence[:-1]
    ]
