"""Short stories of our own by subject, for tasks that need texts whose topic and order are known."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

GAP = 6
"""The last GAP sentences of each story are for measuring alone."""


@cache
def stories() -> Mapping[str, tuple[str, ...]]:
    """Return our stories by subject, a sentence an entry.

    >>> {len(story) for story in stories().values()}
    {18}
    """
    with Path(__file__).with_name("stories.toml").open("rb") as file:
        return {name: tuple(story) for name, story in tomllib.load(file).items()}
