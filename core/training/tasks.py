"""Toy tasks: strings drawn at random, and what is to be made of them. Pure: the same generator draws the same strings.

A string belongs to train or to test by its own hash (`core.training.grammar.side`): what is tested cannot have been
trained on, however much is drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from string import ascii_letters, ascii_lowercase, digits
from types import MappingProxyType

import numpy as np

from core.training.grammar import TRIES, Split, side

COPIED = ascii_lowercase
"""What copiers read and write: strings of these letters."""
COPY_LENGTHS = range(1, 21)
"""How long the strings are from which copiers learn; they are measured on longer ones too."""

PROMPTS: Mapping[str, Callable[[str], str]] = MappingProxyType({"copy": str, "reverse": lambda text: text[::-1], "upper": str.upper})
"""What each prompt word asks for."""
PROMPTED = ascii_letters
PROMPT_LENGTHS = range(1, 11)

REPEATED = ascii_lowercase + digits
"""The signs of strings that come twice."""
REPEAT_LENGTHS = range(3, 25)
BEFORE = range(13)
"""How many signs stand before the first copy."""


def string(rng: np.random.Generator, signs: str, length: int, split: Split) -> str:
    """So many signs, evenly drawn, of the strings that belong to this split.

    >>> string(np.random.default_rng(0), "abc", 5, "train")
    'aaaac'
    """
    for _ in range(TRIES):
        found = "".join(signs[i] for i in rng.integers(len(signs), size=length))
        if side(found) == split:
            return found
    raise ValueError(f"no string of {length} signs out of {len(signs)} belongs to {split}")


def strings(n: int, rng: np.random.Generator, signs: str, length: int, split: Split) -> tuple[str, ...]:
    """Different strings of one length: n of them, or as many as are found in a fair number of tries."""
    found = dict.fromkeys(string(rng, signs, length, split) for _ in range(20 * n))
    return tuple(found)[:n]


def question(task: str, text: str) -> str:
    """How a task is put: the prompt word, the string, and the sign behind which the answer stands.

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


def apart(text: str) -> str:
    """With spaces between the signs, so that each is a word of its own to look at; no model of a toy task reads a space.

    >>> apart("abc")
    'a b c'
    """
    return " ".join(text)


def drawn_length(rng: np.random.Generator, lengths: range) -> int:
    """One of the lengths, evenly drawn on a logarithmic scale: from short strings a task is learnt first."""
    return int(np.exp(rng.uniform(np.log(lengths.start), np.log(lengths.stop))))


def _distinct(rng: np.random.Generator, length: int, split: Split) -> str:
    while True:
        found = "".join(REPEATED[i] for i in rng.permutation(len(REPEATED))[:length])
        if side(found) == split:
            return found
