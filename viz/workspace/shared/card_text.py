"""The card of a model from elsewhere, as the text it is."""

from __future__ import annotations

import re

HEAD = re.compile(r"\A\ufeff?---[ \t]*\r?\n.*?^---[ \t]*\r?$", re.DOTALL | re.MULTILINE)


def card_text(card: str) -> str:
    """Return the text of a README for people: without the YAML head that the Hub reads, and without comments.

    >>> card_text("---\\nlicense: mit\\n---\\n# A model"), card_text("--- no head ---")
    ('# A model', '--- no head ---')
    """
    return re.sub(r"<!--.*?-->", "", HEAD.sub("", card, count=1), flags=re.DOTALL).strip()
