"""Whether a text has what a head's habit is about: "the opening quote" says nothing where nothing is quoted."""

from __future__ import annotations

import re

_PRONOUN = re.compile(
    r"\b(?:he|she|it|they|him|her|them|his|hers|its|their|theirs|who|which)\b", re.IGNORECASE
)
_LIST = re.compile(r",|\b(?:and|or|y|o)\b", re.IGNORECASE)
_QUOTE = re.compile(r"[\"“”„«»]")
_AGAIN = re.compile(r"\b(\w+)\b.*\b\1\b", re.IGNORECASE | re.DOTALL)
_SIGN = re.compile(r"[^\w\s]")
ASKS = {
    "quotes": _QUOTE,
    "questions": re.compile(r"[?¿]"),
    "lists": _LIST,
    "coreference": _PRONOUN,
    "induction": _AGAIN,
    "duplicate": _AGAIN,
    "punctuation": _SIGN,
}
"""Patterns that a text must contain for a habit to show; the habits that are not here show in every text."""


def occurs(habit: str, text: str) -> bool:
    """Whether the habit has an occasion.

    >>> occurs("quotes", "She has a white car."), occurs("quotes", '"Run!" cried Ruth.'), occurs("previous", "She")
    (False, True, True)
    >>> occurs("induction", "The cat saw a cat."), occurs("induction", "The cat saw a dog.")
    (True, False)
    """
    return habit not in ASKS or ASKS[habit].search(text) is not None
