"""Words of a text and the tokens that make them, so that a picture can show what people read."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import tokenizers
from tokenizers import pre_tokenizers

from core.text.tokenizer import Span

UNSPACED = r"\p{Han}\p{Hiragana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
"""Scripts without spaces between words: a letter is a word there, and so is a token of several."""
LETTER = rf"[\p{{L}}\p{{N}}_&&[^{UNSPACED}]]"
UNIT = r"[^\s:](?:(?!\y)[^\s:])*"
"""From one boundary to the next; a colon is a unit of its own, as in CLDR's rules."""
FLAG = r"[\x{1F1E6}-\x{1F1FF}]{1,2}[\p{M}\x{200D}]*"
"""Two regional letters; taken first, for in a long row of them the library counts back to its start for each."""
WORDS = rf"{FLAG}|(?y{{w}})(?={LETTER}){UNIT}(?:(?<={LETTER})['’\-‐‑](?={LETTER}){UNIT})*|(?y{{w}}){UNIT}|:"
"""The words of UAX 29, and those that a hyphen or an apostrophe joins."""
LETTERS = rf"{FLAG}|(?y{{g}})\S(?:(?!\y)\S)*"
"""A letter as people count them, with its combining signs: an extended grapheme cluster."""
MANY, WORD_ALONE, LONGEST = 8, 3, 20
"""Letters or tokens in a word, from which on it is none: where it holds most of a text; where it is all; anywhere."""
CACHE_SIZE = 256
"""Texts whose words are remembered."""


def _cutter(pattern: str) -> pre_tokenizers.PreTokenizer:
    return pre_tokenizers.Split(tokenizers.Regex(pattern), "removed", invert=True)


_WORDS, _LETTERS = _cutter(WORDS), _cutter(LETTERS)


@dataclass(frozen=True)
class Word:
    """A word of the text and the tokens that make it."""

    text: str
    pieces: tuple[int, ...]


@lru_cache(CACHE_SIZE)
def word_spans(text: str) -> tuple[tuple[int, int], ...]:
    """Return the (start, end) of the words and punctuation marks of a text, by Unicode's rules (UAX 29).

    The library's regular expressions (Oniguruma) know these rules. A hyphen or an apostrophe between letters joins them,
    too. A letter of a script without spaces is a word of its own.

    >>> [text[slice(*span)] for text in ["It's 3.14, well-known."] for span in word_spans(text)]
    ["It's", '3.14', ',', 'well-known', '.']
    """
    return tuple(span for _, span in _WORDS.pre_tokenize_str(text))


def words_in(text: str) -> list[str]:
    """Return the words and punctuation marks of a text.

    >>> words_in("हिन्दी भाषा 我有 👍🏽")
    ['हिन्दी', 'भाषा', '我', '有', '👍🏽']
    """
    return [text[begin:end] for begin, end in word_spans(text)]


def words_of(text: str, tokens: Sequence[str], spans: Sequence[Span]) -> list[Word]:
    """Group neighbouring tokens by the word that has their first letter; an added token is a word of its own.

    A single space belongs to the word right after it, as where one token holds both; other white space alone joins
    nothing and stays by itself. The space that a tokenizer puts before a text belongs to its first word. A token that
    covers several words ([MASK], or a full stop and a quote) makes one of them, named by its whole text. Where one
    "word" holds most of the tokens, as in a text without spaces, its tokens are the words (see `MANY`).

    >>> [w.text for w in words_of("It's old.", ["It", "'s", " old", "."], [(0, 2), (2, 4), (4, 8), (8, 9)])]
    ["It's", 'old', '.']
    >>> [w.pieces for w in words_of("Run .", ["Run", " ", "."], [(0, 3), (3, 4), (4, 5)])]
    [(0,), (1, 2)]
    >>> [(w.text, w.pieces) for w in words_of("* *", [" ", "*", " *"], [None, (0, 1), (2, 3)])]
    [('*', (0, 1)), ('*', (2,))]
    >>> [w.text for w in words_of("ACGT", list("ACGT"), [(0, 1), (1, 2), (2, 3), (3, 4)])]
    ['A', 'C', 'G', 'T']
    """
    places = _units(text, spans)
    starts = [begin - (text[begin - 1 : begin] == " ") for begin, _ in places]
    ends = [end for _, end in places]
    words: list[tuple[int, list[int]]] = []
    names: list[str] = []
    last = -1
    for piece, (token, span) in enumerate(zip(tokens, spans, strict=True)):
        if span is None and token == " ":
            # the space that a tokenizer sets before a text: nobody typed a word there
            span = next(iter(spans[piece + 1 :]), None)
        begin, end = span or (0, 0)
        first, behind = bisect_right(ends, begin), bisect_left(starts, end)
        if begin == end or first >= behind:
            words.append((piece, [piece]))
            names.append(token)
            last = -1
            continue
        if first != last:
            words.append((first, []))
            names.append("")
        first, pieces = words[-1]
        pieces.append(piece)
        names[-1] = text[places[first][0] : places[behind - 1][1]]
        last = behind - 1
    return [Word(name, tuple(pieces)) for name, (_, pieces) in zip(names, words, strict=True)]


def _units(text: str, spans: Sequence[Span]) -> Sequence[tuple[int, int]]:
    """Return the spans of the words of a text, or of the letters of a run that is too long to be a word (see `MANY`)."""
    words = word_spans(text)
    begins = sorted({span[0] for span in spans if span and span[0] < span[1]})
    counts = [bisect_left(begins, end) - bisect_left(begins, begin) for begin, end in words]
    if max(counts, default=0) < WORD_ALONE:
        return words
    alone = sum(any(char.isalnum() for char in text[slice(*span)]) for span in words) == 1
    units: list[tuple[int, int]] = []
    for span, count in zip(words, counts, strict=True):
        most = 2 * count > len(begins) and count >= (WORD_ALONE if alone else MANY)
        units += _letters(text, *span) if most or count > LONGEST else [span]
    return units


def _letters(text: str, begin: int, end: int) -> list[tuple[int, int]]:
    found = _LETTERS.pre_tokenize_str(text[begin:end])
    return [(begin + first, begin + behind) for _, (first, behind) in found]
