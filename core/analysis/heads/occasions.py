"""The texts in which a habit can show: "the opening quote" says nothing about a text without quotation marks."""

from __future__ import annotations

import re

_PRONOUN = re.compile(
    r"\b(?:he|she|it|they|him|her|them|his|hers|its|their|theirs|who|which)\b", re.IGNORECASE
)
_LIST = re.compile(r",|\b(?:and|or|y|o)\b", re.IGNORECASE)
_QUOTE = re.compile(r"[\"“”„«»]")
_REPETITION = re.compile(r"\b(\w+)\b.*\b\1\b", re.IGNORECASE | re.DOTALL)
_SIGN = re.compile(r"[^\w\s]")
REQUIRED = {
    "quotes": _QUOTE,
    "questions": re.compile(r"[?¿]"),
    "lists": _LIST,
    "coreference": _PRONOUN,
    "induction": _REPETITION,
    "duplicate": _REPETITION,
    "punctuation": _SIGN,
}
"""Patterns that a text must contain for a habit to show; the habits that are not here show in every text."""


def can_show(habit: str, text: str) -> bool:
    """Return whether a habit can show in a text.

    >>> can_show("quotes", "She has a white car."), can_show("quotes", '"Run!" cried Ruth.'), can_show("previous", "She")
    (False, True, True)
    >>> can_show("induction", "The cat saw a cat."), can_show("induction", "The cat saw a dog.")
    (True, False)
    """
    return habit not in REQUIRED or REQUIRED[habit].search(text) is not None
