"""Checks of a foreign tokenizer of SentencePiece's kind: pieces with scores, and a table of letters for its normalizer.

The table is walked before the library does, which ends the process at a step out of bounds. Imports nothing of ours:
the child that tries tokenizers loads this file by its path.
"""

import base64
import binascii
import sys
from array import array
from collections import defaultdict

MAX_LETTERS = 18
"""The most letters that the table may write for one: as many as NFKC has for any."""
LEAF, VALUE = 0x80000000, 0x7FFFFFFF


class Problem(str):
    """Problem as a part of a sentence, in English, with the message and the values that it is made of; "" for none."""

    message: str
    values: dict[str, object]

    def __new__(cls, message: str = "", **values: object) -> "Problem":
        problem = super().__new__(cls, message.format(**values))
        problem.message, problem.values = message, values
        return problem


def problem(vocab: object, normalizers: list[dict], longest: int) -> Problem:
    """Return the problem of the pieces, where the vocabulary is a list of them, or of a table of letters; "" if there is none."""
    found = [pieces(vocab, longest)] if isinstance(vocab, list) else []
    tables = [step.get("precompiled_charsmap") for step in normalizers if step.get("type") == "Precompiled"]
    return next(filter(None, (*found, *map(letters, tables))), Problem())


def pieces(vocab: list, longest: int) -> Problem:
    """Return the problem of the pieces of a Unigram model, "" if there is none: each is a text with a score, of few letters.

    >>> pieces([["a", -1.5]], 3), pieces([["aaaa", -1.5]], 3)
    ('', 'its vocabulary has a piece of more than 3 letters')
    """
    for piece in vocab:
        if not isinstance(piece, list) or len(piece) != 2 or not isinstance(piece[0], str):
            return Problem("its vocabulary is not understood")
        if len(piece[0]) > longest:
            return Problem("its vocabulary has a piece of more than {n:,} letters", n=longest)
    return Problem()


def letters(text: object) -> Problem:
    """Return the problem of a `precompiled_charsmap` (base64), "" if there is none.

    It holds a size, so many bytes of a double-array trie (Yata's darts-clone), then the texts that its leaves point to,
    each ended by a zero. A unit j can be reached from one place only, for its own byte says by which byte: so one pass
    over the units finds all paths.

    >>> letters("AAAA"), letters(None)
    ('its table of letters is cut off', 'its table of letters is not understood')
    """
    try:
        data = base64.b64decode(text if isinstance(text, str) else "-", validate=True)
        size = int.from_bytes(data[:4], "little")
        units, written = array("I", data[4 : 4 + size]), data[4 + size :]
        written.decode("utf-8")
    except (binascii.Error, ValueError):
        return Problem("its table of letters is not understood")
    if sys.byteorder != "little":
        units.byteswap()
    if not units or len(data) < 4 + size:
        return Problem("its table of letters is cut off")
    reached = defaultdict(list)
    for j, unit in enumerate(units):
        if unit & 0xFF and not unit & LEAF:  # by byte 0 nothing is reached: it ends a text
            reached[j ^ (unit & 0xFF)].append(j)
    waiting, seen = [_offset(units[0])], set()
    while waiting:
        place = waiting.pop()
        if place in seen:
            continue
        seen.add(place)
        if place | 0xFF >= len(units):
            return Problem("its table of letters leads out of itself")
        for j in reached[place]:
            after = j ^ _offset(units[j])
            waiting.append(after)
            if units[j] >> 8 & 1 and (wrong := _leaf(units, after, written)):
                return wrong
    return Problem()


def _leaf(units: array, place: int, texts: bytes) -> Problem:
    if place >= len(units):
        return Problem("its table of letters leads out of itself")
    begin = units[place] & VALUE
    end = texts.find(b"\0", begin)
    try:
        wrote = texts[begin : end if end >= 0 else len(texts)].decode("utf-8")
    except ValueError:
        return Problem("its table of letters cuts a letter in two")
    if begin > len(texts) or len(wrote) > MAX_LETTERS:
        return Problem(
            "its table of letters writes nothing that is there, or more than {n} letters for one",
            n=MAX_LETTERS,
        )
    return Problem()


def _offset(unit: int) -> int:
    return (unit >> 10) << ((unit & 1 << 9) >> 6)
