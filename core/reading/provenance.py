"""The provenance of a model: ours, with texts and promises made for it, or somebody's."""

from __future__ import annotations

import core.serving.engine
from core.jobs import names, user_models


def is_foreign(name: str) -> bool:
    """Return whether somebody brought the model of this name: then no text and no promise was made for it.

    >>> is_foreign("upload: mine (5f0c22e1)"), is_foreign("gpt-mini"), is_foreign("recorded: copy at step 10")
    (True, False, False)
    """
    if user_models.is_user_model(name) or names.is_unlisted(name):
        return user_models.is_user_model(name)
    entry = core.serving.engine.default().entry(name)
    return bool(entry and entry.foreign)
