"""Words of the core that pages show: a message in the language of whoever reads it (`core.errors.language`), by default English."""

from __future__ import annotations

from typing import Any

from core import errors
from core.errors import Marked

TOKENS = {"query": "{query}", "key": "{key}"}
"""Values that keep the places of the two tokens, which a picture fills in."""


def _(message: str, /, **values: Any) -> str:
    """Return a message in the reader's language, its `{names}` replaced by the values; without values as it is.

    >>> _("A row of {n} keys.", n=3), _("What {query} takes.")
    ('A row of 3 keys.', 'What {query} takes.')
    """
    return errors.language(message, **values)


def mark(message: str) -> Marked:
    """Return a message, marked for the catalogues: whoever shows it translates it, and an error that has it among its values."""
    return Marked(message)
