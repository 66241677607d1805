"""The sentences of a text, for models that read it sentence by sentence."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby

from core.text.tokenizer import Span

END = re.compile(
    r"""[.!?…؟۔।॥]+["'”’»)\]]*(?=\s|$)  # a stop, what it closes, and a space
    | [。！？｡]+[」』”’）]*                # scripts that set no space behind a stop
    | (?<=\S)\s*?\n\s*?\n               # an empty line
    """,
    re.VERBOSE,
)
OPENING = re.compile(r"""[\s"'“‘«(\[]*""")
SHORT = re.compile(
    r"(?:^|[\s(\"'“‘])(?:Mr|Mrs|Ms|Dr|St|Prof|Rev|Hon|Messrs|Capt|Col|Gen|Lt|Sgt|Maj|Adm|Gov|Jr|Sr|vs|etc|cf|[A-HJ-Z])\.$"
)
"""A stop behind these ends no sentence: titles, and the first letter of a name (not the word I)."""


def sentences_of(text: str) -> list[tuple[int, int]]:
    """Return the sentences of a text as (start, end), the white space between them in none.

    A sentence ends at a stop that is followed by a word that begins no further part of it (one in small letters does),
    and at an empty line. Line breaks inside a paragraph end nothing.

    >>> text = 'Mr. Brown came in. "Who is there?" she asked.  Nobody.'
    >>> [text[start:end] for start, end in sentences_of(text)]
    ['Mr. Brown came in.', '"Who is there?" she asked.', 'Nobody.']
    """
    found, start = [], 0
    for end in (*_ends(text), len(text)):
        inside = text[start:end]
        if inside.strip():
            found.append((start + len(inside) - len(inside.lstrip()), start + len(inside.rstrip())))
        start = end
    return found


def _ends(text: str) -> Iterator[int]:
    for match in END.finditer(text):
        here = match.group()
        after = OPENING.match(text, match.end())
        following = text[after.end() : after.end() + 1] if after else ""
        if "\n" not in here and following.islower():
            continue
        if here == "." and SHORT.search(text, max(0, match.start() - 10), match.end()):
            continue
        yield match.end()


def sentence_numbers(text: str, spans: Sequence[Span]) -> tuple[int, ...]:
    """Return the number of the sentence of each token, from 0 on; a sentence without a token is not counted.

    >>> sentence_numbers("It ran. It hid.", [(0, 2), (3, 6), (6, 7), (8, 10), (11, 14), (14, 15)])
    (0, 0, 0, 1, 1, 1)
    """
    starts = [start for start, _ in sentences_of(text)]
    at, places = 0, []
    for span in spans:
        while span is not None and at + 1 < len(starts) and starts[at + 1] <= span[0]:
            at += 1
        places.append(at)
    return tuple(number for number, (_, some) in enumerate(groupby(places)) for _ in some)
