"""Whose models are: ours, for which texts and promises were made, or somebody's."""

from __future__ import annotations

import core.serving.engine
from core.serving import brought, resolve


def is_foreign(name: str) -> bool:
    """Return whether somebody brought the model of this name: then no text and no promise was made for it.

    >>> is_foreign("upload: mine (5f0c22e1)"), is_foreign("gpt-mini"), is_foreign("recorded: copy at step 10")
    (True, False, False)
    """
    if brought.named(name) or resolve.unlisted(name):
        return brought.named(name)
    entry = core.serving.engine.default().entry(name)
    return bool(entry and entry.foreign)
