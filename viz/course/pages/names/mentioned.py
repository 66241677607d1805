"""Names that the sources only mention: models and methods with one line each, the seven "attend and ..." tasks, and the two ways of
writing a word, as a column or as a row.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class MentionedName:
    """Name in the sources: one line on it, its publication, the pages nearest to it (slugs, the best first)."""

    name: str
    sentence: str
    paper: str
    near: tuple[str, ...] = ()


@dataclass(frozen=True)
class Task:
    """One of the tasks called "attend and ...": what it does, who is query, key and value, who published it."""

    name: str
    does: str
    query: str
    key: str
    value: str
    paper: str


@dataclass(frozen=True)
class Bridge:
    """One thing as a column (the documents) and as a row (PyTorch), and how to get from one to the other."""

    thing: str
    columns: str
    rows: str
    bridge: str


_DATA = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
NAMED, LATER = (
    tuple(
        MentionedName(name, sentence, paper, *map(tuple, near))
        for name, sentence, paper, *near in _DATA[rows]
    )
    for rows in ("named", "later")
)
TASKS = tuple(Task(*row) for row in _DATA["tasks"])
BRIDGES = tuple(Bridge(*row) for row in _DATA["bridges"])
