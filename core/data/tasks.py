"""Toy tasks: randomly sampled strings and the right answer to each. The same generator gives the same strings.

A string belongs to train or to test by its own hash (`core.data.grammar.split_of`): a test string cannot have been
trained on, however many are sampled.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from string import ascii_letters, ascii_lowercase, digits
from types import MappingProxyType

import numpy as np

from core.data.grammar import TRIES, Split, split_of

COPY_LETTERS = ascii_lowercase
"""The letters of the strings that copiers read and write."""
COPY_LENGTHS = range(1, 21)
"""How long the strings are from which copiers learn; they are measured on longer ones too."""

PROMPTS: Mapping[str, Callable[[str], str]] = MappingProxyType(
    {"copy": str, "reverse": lambda text: text[::-1], "upper": str.upper}
)
"""The function from a string to its answer for each prompt word."""
PROMPT_LETTERS = ascii_letters
PROMPT_LENGTHS = range(1, 11)

REPEAT_SYMBOLS = ascii_lowercase + digits
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
class TaskLine:
    """A line of a small task, symbol by symbol; its answer begins at index `first`.

    `source[i]` is the index of the symbol that symbol i of the answer is made from, None where there is no single one.
    """

    signs: tuple[str, ...]
    first: int
    source: tuple[int | None, ...]

    @property
    def text(self) -> str:
        return " ".join(self.signs)


def sample_string(rng: np.random.Generator, signs: str, length: int, split: Split) -> str:
    """Sample a string of `length` symbols that belongs to this split, all symbols equally likely. Raises ValueError where none is found.

    >>> sample_string(np.random.default_rng(0), "abc", 5, "train")
    'aaaac'
    """
    for _ in range(TRIES):
        found = "".join(signs[i] for i in rng.integers(len(signs), size=length))
        if split_of(found) == split:
            return found
    raise ValueError(f"no string of {length} symbols out of {len(signs)} belongs to {split}")


def sample_strings(
    n: int, rng: np.random.Generator, signs: str, length: int, split: Split
) -> tuple[str, ...]:
    """Sample up to n different strings of one length that belong to this split; fewer where 20 n tries do not find as many."""
    found = dict.fromkeys(sample_string(rng, signs, length, split) for _ in range(20 * n))
    return tuple(found)[:n]


def question(task: str, text: str) -> str:
    """Return the prompt of a task: the prompt word, the string, and the symbol after which the answer comes.

    >>> question("reverse", "abc")
    'reverse: abc ='
    """
    return f"{task}: {text} ="


def sample_question(rng: np.random.Generator, length: int, split: Split) -> tuple[str, str]:
    """Sample a question of a random task and return it with its answer; half of the strings have small letters only."""
    task = str(rng.choice(tuple(PROMPTS)))
    text = sample_string(rng, PROMPT_LETTERS if rng.random() < 0.5 else ascii_lowercase, length, split)
    return question(task, text), PROMPTS[task](text)


def sample_repeat(rng: np.random.Generator, length: int, split: Split) -> tuple[str, int]:
    """Sample a text of some symbols, then a string of others twice, and return it with the index at which the second copy begins.

    Every symbol of the second copy occurred exactly once before, so one position shows how it continues; the number of
    symbols before the first copy is random, so no position shows how far back that is.

    >>> sample_repeat(np.random.default_rng(0), 4, "test")
    ('s0ue84ce84c', 7)
    """
    word = _distinct(rng, length, split)
    others = [sign for sign in REPEAT_SYMBOLS if sign not in word]
    before = "".join(rng.permutation(others)[: int(rng.choice(BEFORE))])
    return before + word + word, len(before) + length


def copy_line(rng: np.random.Generator, length: int, split: Split) -> TaskLine:
    """Sample a line whose answer is the same string again.

    >>> copy_line(np.random.default_rng(0), 3, "test").text
    'c d a = c d a'
    """
    word = sample_string(rng, SMALL, length, split)
    return TaskLine((*word, "=", *word), length + 1, tuple(range(length)))


def reverse_line(rng: np.random.Generator, length: int, split: Split) -> TaskLine:
    """Sample a line whose answer is the string reversed."""
    word = sample_string(rng, SMALL, length, split)
    return TaskLine((*word, "=", *word[::-1]), length + 1, tuple(range(length))[::-1])


def sort_line(rng: np.random.Generator, length: int, split: Split) -> TaskLine:
    """Sample a line of different letters whose answer has them in alphabetical order."""
    while True:
        word = "".join(SMALL[i] for i in rng.permutation(len(SMALL))[:length])
        if split_of(word) == split:
            break
    places = sorted(range(length), key=word.__getitem__)
    return TaskLine((*word, "=", *(word[place] for place in places)), length + 1, tuple(places))


def repeat_line(rng: np.random.Generator, length: int, split: Split) -> TaskLine:
    """Sample a string that occurs twice (`sample_repeat`); its answer is the second copy from the second symbol on."""
    text, second = sample_repeat(rng, length, split)
    before = second - length
    return TaskLine(tuple(text), second + 1, tuple(range(before + 1, before + length)))


def date_line(rng: np.random.Generator, length: int, split: Split) -> TaskLine:
    """Sample a date in words whose answer is the date in figures. `length` is ignored: all dates are equally long.

    >>> date_line(np.random.default_rng(0), 0, "train").text
    '2 4 aug 2 0 0 2 = 2 0 0 2 - 0 8 - 2 4'
    """
    while True:
        day, month, year = (
            int(rng.integers(1, 29)),
            int(rng.integers(12)),
            int(rng.integers(YEARS.start, YEARS.stop)),
        )
        said = (*f"{day:02}", MONTHS[month], *f"{year}")
        if split_of(" ".join(said)) == split:
            return TaskLine(
                (*said, "=", *f"{year}-{month + 1:02}-{day:02}"), 8, (3, 4, 5, 6, None, 2, 2, None, 0, 1)
            )


def with_spaces(text: str) -> str:
    """Return a text with spaces between its symbols, so that each is a word of its own in pictures; models of toy tasks ignore spaces.

    >>> with_spaces("abc")
    'a b c'
    """
    return " ".join(text)


def sample_length(rng: np.random.Generator, lengths: range) -> int:
    """Sample one of the lengths, evenly on a logarithmic scale: a task is learned from short strings first."""
    return int(np.exp(rng.uniform(np.log(lengths.start), np.log(lengths.stop))))


def _distinct(rng: np.random.Generator, length: int, split: Split) -> str:
    """Sample a string of `length` different symbols that belongs to this split."""
    while True:
        found = "".join(REPEAT_SYMBOLS[i] for i in rng.permutation(len(REPEAT_SYMBOLS))[:length])
        if split_of(found) == split:
            return found
