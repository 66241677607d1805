"""Alignment of patterns over different tokens: two tokenizers over one text, or two texts.

A slot holds, for each text, the positions that stand there: one, several where the other text has fewer and longer
tokens, or none where it has nothing to put opposite. Slots go through every text from left to right and never cross.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from jaxtyping import Float, Real


Array = np.ndarray
Span = tuple[int, int] | None
Slot = tuple[tuple[int, ...], ...]

SAME, ALMOST, OTHER, GAP = 2.0, 1.5, -0.5, -1.0
"""Scores of two words that are aligned (equal, equal but for capitals, different) and of one without a partner."""


def align_tokens(
    text: str, a: Sequence[Span], b: Sequence[Span], a_names: Sequence[str], b_names: Sequence[str]
) -> tuple[Slot, ...]:
    """Align the tokens of two tokenizers over one text and return the slots: tokens that share a letter share a slot, white space aside.

    A token without letters of the text (START, [CLS], a space) is aligned with one of the same name at the same place,
    or with none. Spans are (first, end) in the text, in its order.

    >>> align_tokens("unhappy cat", [(0, 7), (7, 11)], [(0, 2), (2, 7), (8, 11)], ["unhappy", " cat"], ["un", "happy", "cat"])
    (((0,), (0, 1)), ((1,), (2,)))
    """
    slots: list[Slot] = []
    i = j = 0
    for mine, yours in [*_overlapping_runs(text, a, b), (range(len(a), len(a)), range(len(b), len(b)))]:
        between = _needleman_wunsch(a_names[i : mine.start], b_names[j : yours.start], exact=True)
        slots += [(tuple(i + p for p in left), tuple(j + p for p in right)) for left, right in between]
        if mine:
            slots.append((tuple(mine), tuple(yours)))
        i, j = mine.stop, yours.stop
    return tuple(slots)


def align_words(a: Sequence[str], b: Sequence[str]) -> tuple[Slot, ...]:
    """Align the words of two texts (Needleman and Wunsch 1970) and return their slots.

    Equal words are put opposite each other; a word may stand opposite another word, a sign opposite another sign, where
    that is better than both standing alone. Which text comes first makes no difference.

    >>> align_words(["too", "tired"], ["too", "wide", "!"])
    (((0,), (0,)), ((1,), (1,)), ((), (2,)))
    """
    return tuple(_needleman_wunsch(a, b, exact=False))


def merge_alignments(pairs: Sequence[Sequence[Slot]]) -> tuple[Slot, ...]:
    """Join the alignments of the first text with each of the others into common slots of all texts.

    Where one alignment joins positions of the first text, the others are joined there too. What only one of the others
    has gets a slot of its own.

    >>> merge_alignments([[((0,), (0,)), ((1,), ()), ((), (1,))], [((0, 1), (0,))]])
    (((0, 1), (0,), (0,)), ((), (1,), ()))
    """
    counts = [list(accumulate((len(slot[0]) for slot in slots), initial=0)) for slots in pairs]
    cuts = sorted(set(counts[0]).intersection(*counts[1:])) if counts else []
    found: list[Slot] = []
    at, done = [0] * len(pairs), [0] * len(pairs)
    for cut in cuts:
        first: tuple[int, ...] = ()
        others: list[tuple[int, ...]] = []
        for k, slots in enumerate(pairs):
            taken, first, begun = (), (), at[k]
            while done[k] < cut:
                done[k] += len(slots[at[k]][0])
                at[k] += 1
            for mine, yours in slots[begun : at[k]]:
                first, taken = first + tuple(mine), taken + tuple(yours)
            others.append(taken)
        if first:
            found.append((first, *others))
        for k, slots in enumerate(pairs):
            while at[k] < len(slots) and not slots[at[k]][0]:
                alone: list[tuple[int, ...]] = [()] * (len(pairs) + 1)
                alone[k + 1] = tuple(slots[at[k]][1])
                found.append(tuple(alone))
                at[k] += 1
    return tuple(found)


def pool_pattern(
    weights: Real[Array, "*batch query key"], rows: Sequence[Sequence[int]], columns: Sequence[Sequence[int]]
) -> Float[Array, "*batch row column"]:
    """Pool a pattern over slots: the mean over the queries of a row, the sum over the keys of a column.

    No position at all gives zeros. Rows still sum to 1, since every key is in some column. float64.

    >>> pool_pattern(np.array([[1.0, 0.0, 0.0], [0.2, 0.3, 0.5]]), [(0,), (1,), ()], [(0,), (1, 2)]).tolist()
    [[1.0, 0.0], [0.2, 0.8], [0.0, 0.0]]
    """
    values = np.asarray(weights, dtype=np.float64)
    averaged = np.zeros((*values.shape[:-2], len(rows), values.shape[-1]))
    for place, row in enumerate(rows):
        if row:
            averaged[..., place, :] = values[..., list(row), :].mean(-2)
    found = np.zeros((*averaged.shape[:-1], len(columns)))
    for place, column in enumerate(columns):
        if column:
            found[..., place] = averaged[..., list(column)].sum(-1)
    return found


def pool_patterns(
    patterns: Sequence[Real[Array, "..."]], rows: Sequence[Slot], columns: Sequence[Slot]
) -> tuple[Float[Array, "*batch row column"], ...]:
    """Pool each pattern over the common slots, in the order of the texts in them; all get one shape.

    >>> words = align_words(["too", "tired"], ["too", "wide"])
    >>> a, b = pool_patterns([np.eye(2), np.eye(2)], words, words)
    >>> (a - b).any().item()
    False
    """
    return tuple(
        pool_pattern(pattern, [slot[k] for slot in rows], [slot[k] for slot in columns])
        for k, pattern in enumerate(patterns)
    )


def _overlapping_runs(text: str, a: Sequence[Span], b: Sequence[Span]) -> list[tuple[range, range]]:
    """Return runs of positions of both that cover the same letters, in text order; what only one of them covers is left out."""
    held = sorted(
        (*span, side, place)
        for side, spans in enumerate((a, b))
        for place, span in enumerate(_trim_spans(text, spans))
        if span
    )
    blocks: list[tuple[list[int], list[int]]] = []
    end = -1
    for start, stop, side, place in held:
        if start >= end:
            blocks.append(([], []))
        blocks[-1][side].append(place)
        end = max(end, stop)
    return [
        (range(min(mine), max(mine) + 1), range(min(yours), max(yours) + 1))
        for mine, yours in blocks
        if mine and yours
    ]


def _trim_spans(text: str, spans: Sequence[Span]) -> list[Span]:
    """Return the spans without white space at their ends; None where nothing is left."""
    found: list[Span] = []
    for span in spans:
        piece = "" if span is None else text[slice(*span)]
        bare = piece.strip()
        first = 0 if span is None else span[0] + len(piece) - len(piece.lstrip())
        found.append((first, first + len(bare)) if bare else None)
    return found


def _needleman_wunsch(a: Sequence[str], b: Sequence[str], *, exact: bool) -> list[Slot]:
    """Return the alignment with the highest score; if `exact`, only equal names are put opposite each other."""
    a, b = list(a), list(b)
    if a == b:
        return [((i,), (i,)) for i in range(len(a))]
    if b < a:  # of several best ones the same is found from both sides
        return [(mine, yours) for yours, mine in _needleman_wunsch(b, a, exact=exact)]
    best = np.zeros((len(a) + 1, len(b) + 1))
    best[:, 0], best[0, :] = GAP * np.arange(len(a) + 1), GAP * np.arange(len(b) + 1)
    for i, one in enumerate(a, 1):
        for j, other in enumerate(b, 1):
            best[i, j] = max(
                best[i - 1, j - 1] + _score(one, other, exact), best[i - 1, j] + GAP, best[i, j - 1] + GAP
            )
    slots: list[Slot] = []
    i, j = len(a), len(b)
    while i or j:
        if i and j and best[i, j] == best[i - 1, j - 1] + _score(a[i - 1], b[j - 1], exact):
            i, j = i - 1, j - 1
            slots.append(((i,), (j,)))
        elif i and best[i, j] == best[i - 1, j] + GAP:
            i -= 1
            slots.append(((i,), ()))
        else:
            j -= 1
            slots.append(((), (j,)))
    return slots[::-1]


def _score(one: str, other: str, exact: bool) -> float:
    if one == other:
        return SAME
    if exact:
        return -np.inf
    if one.casefold() == other.casefold():
        return ALMOST
    return OTHER if any(map(str.isalnum, one)) == any(map(str.isalnum, other)) else -np.inf
