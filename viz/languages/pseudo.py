"""The pseudo-language: English with accents, in brackets and a third longer, so that what was not translated, or does not fit, is seen."""

from __future__ import annotations

import gettext
import re

CODE = "qps"
OPEN, CLOSE = "⟦", "⟧"
_ACCENTS = str.maketrans("aceginorsuyzACEGINORSUYZ", "áçéğíñöřšüýžÁÇÉĞÍÑÖŘŠÜÝŽ")
_MARKUP = re.compile(
    r"(\{[^{}]*\}|\]\([^)]*\)|:[a-z]+(?=\[)|:material/\w+:|`[^`]*`|\$[^$]*\$|<[^>]+>|^\s*[-*#>]+\s)",
    re.MULTILINE,
)
"""Placeholders, code, formulas and marks of Markdown."""


def pseudonymise(text: str) -> str:
    """Return a text in the pseudo-language; one that is in it, or has no letter, as it is.

    >>> pseudonymise("The text has {n:,} letters."), pseudonymise("0.5")
    ('⟦Thé téxt háš {n:,} léttéřš. ẋẋẋẋẋẋẋ⟧', '0.5')
    """
    if text.startswith(OPEN) or not any(letter.isalpha() for letter in text):
        return text
    parts = _MARKUP.split(text)
    parts[::2] = [part.translate(_ACCENTS) for part in parts[::2]]
    length = sum(map(len, parts[::2]))
    return f"{OPEN}{''.join(parts)} {_padding(length // 3)}{CLOSE}"


def _padding(length: int) -> str:
    return " ".join("ẋ" * min(7, length - start) for start in range(0, max(length, 1), 8))


class PseudoTranslations(gettext.NullTranslations):
    """A catalogue that makes each message from its English."""

    def gettext(self, message: str) -> str:
        """Return a message in the pseudo-language."""
        return pseudonymise(message)

    def ngettext(self, msgid1: str, msgid2: str, n: int) -> str:
        """Return the form for a number of things in the pseudo-language."""
        return pseudonymise(msgid1 if n == 1 else msgid2)
