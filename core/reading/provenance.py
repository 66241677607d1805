"""The provenance of a model: shipped, with texts and presets made for it, or brought by a visitor."""

from __future__ import annotations

import core.serving.engine
from core.jobs import names, user_models


def is_foreign(name: str) -> bool:
    """Return whether the model of this name was brought by a visitor or fetched: no text and no preset was made for it.

    >>> is_foreign("upload: mine (5f0c22e1)"), is_foreign("gpt-mini"), is_foreign("recorded: copy at step 10")
    (True, False, False)
    """
    if user_models.is_user_model(name) or names.is_unlisted(name):
        return user_models.is_user_model(name)
    entry = core.serving.engine.default().entry(name)
    return bool(entry and entry.foreign)
