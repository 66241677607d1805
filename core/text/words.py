"""Pieces joined to words, so that a picture can show what people read."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from core.text.tokenizer import Span

WORD = re.compile(r"\w+(?:['’\-]\w+)*|\S", re.UNICODE)


@dataclass(frozen=True)
class Word:
    """A word of the text and the tokens that make it."""

    text: str
    pieces: tuple[int, ...]


def words_of(text: str, tokens: Sequence[str], spans: Sequence[Span]) -> list[Word]:
    """Group neighbouring tokens by the word their first letter stands in; an added token is a word of its own.

    A single space belongs to the word right after it, as where one token holds both; other white space alone joins
    nothing and stays by itself. The space that a tokenizer puts before a text belongs to its first word. A token that begins a word and reaches over more than that ([MASK], or a full stop
    and a quote) is named by all it stands for.

    >>> [w.text for w in words_of("It's old.", ["It", "'s", " old", "."], [(0, 2), (2, 4), (4, 8), (8, 9)])]
    ["It's", 'old', '.']
    >>> [w.pieces for w in words_of("Run .", ["Run", " ", "."], [(0, 3), (3, 4), (4, 5)])]
    [(0,), (1, 2)]
    >>> [(w.text, w.pieces) for w in words_of("* *", [" ", "*", " *"], [None, (0, 1), (2, 3)])]
    [('*', (0, 1)), ('*', (2,))]
    """
    owner: dict[int, int] = {}
    matches = list(WORD.finditer(text))
    for number, match in enumerate(matches):
        first, end = match.span()
        owner.update(dict.fromkeys(range(first - (text[first - 1 : first] == " "), end), number))
    words: list[tuple[str, list[int]]] = []
    last: int | None = None
    for piece, (token, span) in enumerate(zip(tokens, spans, strict=True)):
        if span is None and token == " ":
            span = next(
                iter(spans[piece + 1 :]), None
            )  # the space that a tokenizer sets before a text: nobody typed a word there
        met = [] if span is None else [owner[c] for c in range(*span) if c in owner]
        number = met[0] if met else None
        if number is not None and number == last:
            words[-1][1].append(piece)
        elif span is None or number is None:
            words.append((token, [piece]))
        else:
            words.append(
                (matches[number].group() if number == met[-1] else text[slice(*span)].strip(), [piece])
            )
        last = number
    return [Word(word, tuple(pieces)) for word, pieces in words]
