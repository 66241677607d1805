"""Toy tasks: strings drawn at random, and what is to be made of them. Pure: the same generator draws the same strings.

A string belongs to train or to test by its own hash (`core.data.grammar.side`): what is tested cannot have been
trained on, however much is drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from string import ascii_letters, ascii_lowercase, digits
from types import MappingProxyType

import numpy as np

from core.data.grammar import TRIES, Split, side

COPIED = ascii_lowercase
"""The letters of the strings that copiers read and write."""
COPY_LENGTHS = range(1, 21)
"""How long the strings are from which copiers learn; they are measured on longer ones too."""

PROMPTS: Mapping[str, Callable[[str], str]] = MappingProxyType(
    {"copy": str, "reverse": lambda text: text[::-1], "upper": str.upper}
)
"""The function from a string to its answer for each prompt word."""
PROMPTED = ascii_letters
PROMPT_LENGTHS = range(1, 11)

REPEATED = ascii_lowercase + digits
"""The signs of strings that come twice."""
REPEAT_LENGTHS = range(3, 25)
BEFORE = range(13)
"""How many signs stand before the first copy."""


SMALL = ascii_lowercase[:10]
"""The letters of the small tasks that are trained while one waits."""
SMALL_LENGTHS = range(2, 9)
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
YEARS = range(1900, 2100)


@dataclass(frozen=True)
class Asked:
    """A line of a small task, sign by sign; its answer begins at `first`.

    `source[i]` is the place of the sign that sign i of the answer is made from, None where no single place has it.
    """

    signs: tuple[str, ...]
    first: int
    source: tuple[int | None, ...]

    @property
    def text(self) -> str:
        return " ".join(self.signs)


def string(rng: np.random.Generator, signs: str, length: int, split: Split) -> str:
    """So many signs, evenly drawn, of the strings that belong to this split.

    >>> string(np.random.default_rng(0), "abc", 5, "train")
    'aaaac'
    """
    for _ in range(TRIES):
        found = "".join(signs[i] for i in rng.integers(len(signs), size=length))
        if side(found) == split:
            return found
    raise ValueError(f"no string of {length} symbols out of {len(signs)} belongs to {split}")


def strings(n: int, rng: np.random.Generator, signs: str, length: int, split: Split) -> tuple[str, ...]:
    """Different strings of one length: n of them, or as many as are found in a fair number of tries."""
    found = dict.fromkeys(string(rng, signs, length, split) for _ in range(20 * n))
    return tuple(found)[:n]


def question(task: str, text: str) -> str:
    """Return the prompt of a task: the prompt word, the string, and the sign after which the answer comes.

    >>> question("reverse", "abc")
    'reverse: abc ='
    """
    return f"{task}: {text} ="


def prompted(rng: np.random.Generator, length: int, split: Split) -> tuple[str, str]:
    """A question and its answer, any task; half of the strings are lower case only."""
    task = str(rng.choice(tuple(PROMPTS)))
    text = string(rng, PROMPTED if rng.random() < 0.5 else ascii_lowercase, length, split)
    return question(task, text), PROMPTS[task](text)


def repeat(rng: np.random.Generator, length: int, split: Split) -> tuple[str, int]:
    """Some signs, then a string of others and the same again; and where the second copy begins.

    Every sign of the second copy stood there once before, so there is one place that tells how it goes on; and as many
    signs stand before as it happens, so no position tells how far back that is.

    >>> repeat(np.random.default_rng(0), 4, "test")
    ('s0ue84ce84c', 7)
    """
    word = _distinct(rng, length, split)
    others = [sign for sign in REPEATED if sign not in word]
    before = "".join(rng.permutation(others)[: int(rng.choice(BEFORE))])
    return before + word + word, len(before) + length


def copied(rng: np.random.Generator, length: int, split: Split) -> Asked:
    """A string and the same again.

    >>> copied(np.random.default_rng(0), 3, "test").text
    'c d a = c d a'
    """
    word = string(rng, SMALL, length, split)
    return Asked((*word, "=", *word), length + 1, tuple(range(length)))


def reversed_(rng: np.random.Generator, length: int, split: Split) -> Asked:
    """A string and the same from behind."""
    word = string(rng, SMALL, length, split)
    return Asked((*word, "=", *word[::-1]), length + 1, tuple(range(length))[::-1])


def in_order(rng: np.random.Generator, length: int, split: Split) -> Asked:
    """Different letters, and the same by the alphabet."""
    while True:
        word = "".join(SMALL[i] for i in rng.permutation(len(SMALL))[:length])
        if side(word) == split:
            break
    places = sorted(range(length), key=word.__getitem__)
    return Asked((*word, "=", *(word[place] for place in places)), length + 1, tuple(places))


def twice(rng: np.random.Generator, length: int, split: Split) -> Asked:
    """A string that comes twice (`repeat`): from its second sign on, the second copy can be foretold."""
    text, second = repeat(rng, length, split)
    before = second - length
    return Asked(tuple(text), second + 1, tuple(range(before + 1, before + length)))


def dated(rng: np.random.Generator, length: int, split: Split) -> Asked:
    """A day as it is said, and in figures; `length` is not asked for, all are equally long.

    >>> dated(np.random.default_rng(0), 0, "train").text
    '2 4 aug 2 0 0 2 = 2 0 0 2 - 0 8 - 2 4'
    """
    while True:
        day, month, year = (
            int(rng.integers(1, 29)),
            int(rng.integers(12)),
            int(rng.integers(YEARS.start, YEARS.stop)),
        )
        said = (*f"{day:02}", MONTHS[month], *f"{year}")
        if side(" ".join(said)) == split:
            return Asked(
                (*said, "=", *f"{year}-{month + 1:02}-{day:02}"), 8, (3, 4, 5, 6, None, 2, 2, None, 0, 1)
            )


def apart(text: str) -> str:
    """With spaces between the signs, so that each is a word of its own to look at; no model of a toy task reads a space.

    >>> apart("abc")
    'a b c'
    """
    return " ".join(text)


def drawn_length(rng: np.random.Generator, lengths: range) -> int:
    """One of the lengths, evenly drawn on a logarithmic scale: from short strings a task is learned first."""
    return int(np.exp(rng.uniform(np.log(lengths.start), np.log(lengths.stop))))


def _distinct(rng: np.random.Generator, length: int, split: Split) -> str:
    while True:
        found = "".join(REPEATED[i] for i in rng.permutation(len(REPEATED))[:length])
        if side(found) == split:
            return found
