"""The glossary of tensor names, axes, measures and methods: the symbol on paper, a word, one sentence, and where the paper defines it.

Feeds tooltips, the Names page and a test that no recorded leaf is without an entry.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Term:
    """A name as the trace and the code spell it: its symbol (LaTeX), a word for it, one sentence, its place in the paper."""

    name: str
    symbol: str
    word: str
    sentence: str
    where: str = ""
    other_words: str = ""
    """How a page says it besides: the beginning of other words for it."""


@dataclass(frozen=True)
class Letter:
    """A letter with several meanings: each meaning and who uses it so."""

    letter: str
    meanings: tuple[tuple[str, str], ...]


_LOOKUP = tomllib.loads(Path(__file__).with_name("names.toml").read_text("utf-8"))
LEAVES, AXES, METHODS = (
    tuple(Term(name, *row) for name, row in _LOOKUP[part].items()) for part in ("leaves", "axes", "methods")
)
LETTERS = tuple(Letter(letter, tuple(map(tuple, rows))) for letter, rows in _LOOKUP["letters"].items())


def term(name: str) -> Term:
    """Return the entry of an axis, a measure or a method.

    >>> term("head").word, term("cache").word
    ('head', 'KV cache')
    """
    return next(entry for entry in (*AXES, *METHODS) if entry.name == name)


def mentioned_terms(text: str, word: Callable[[Term], str] = lambda term: term.word) -> tuple[Term, ...]:
    """Return the measures and methods that a text mentions; `word` is that of a term in the language of the text.

    >>> [term.word for term in mentioned_terms("JS divergence 0.2 bits; a surprisal of 3 bits. Both heads were zero-ablated.")]
    ['surprisal', 'Jensen-Shannon divergence', 'ablation']
    """
    return tuple(
        term
        for term in METHODS
        if re.search(
            rf"(?<![\w-]){re.escape(word(term))}\b" + (rf"|\b{term.other_words}" if term.other_words else ""),
            text,
            re.IGNORECASE,
        )
    )


def leaf(path: str) -> Term | None:
    """Return the entry of a recorded path: `decoder.layer.2.cross_attn.q` finds `self_attn.q`.

    >>> leaf("decoder.layer.2.cross_attn.pattern").symbol
    'a_{ij}'
    """
    path = path.replace("cross_attn", "self_attn")
    return next((term for term in LEAVES if path == term.name or path.endswith("." + term.name)), None)
