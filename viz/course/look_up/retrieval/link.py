"""What a visitor typed or dragged in this exhibit, as text for the link, and back, with every bound."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from viz.course.look_up.retrieval.maths import persons
from viz.course.look_up.vectors_link import LIMIT, MOST_ROWS, Vectors, pack, vectors
from viz.shell import state
from viz.shell.state import Unusable

__all__ = ["LIMIT", "MOST_ROWS", "SHARPNESS", "Vectors", "memory", "pack", "pack_rows", "points", "read", "rows"]
SHARPNESS = 2.0
"""The sharpness that the page opens with: soft enough that every key has a say."""


def read(name: str, default: Any, parse: Callable[[str], Any]) -> Any:
    """The value of a name of the link. State keeps texts; a table or vectors are told by what is read from theirs."""
    if not isinstance(default, tuple):
        return state.read(name, default, parse)
    write = pack_rows if default and isinstance(default[0][0], str) else pack
    raw = state.read(name, write(default), lambda text: write(parse(text)))
    return parse(raw)


def pack_rows(rows: Sequence[Sequence[str]]) -> str:
    """The table as one line of JSON."""
    return json.dumps([list(row) for row in rows], ensure_ascii=False, separators=(",", ":"))


def rows(raw: str) -> tuple[persons.Row, ...]:
    """A table of three texts a row; raises Unusable for anything else.

    >>> rows('[["007","James","Bond"]]')
    (('007', 'James', 'Bond'),)
    """
    rule = f"It must be at most {persons.ROWS} rows of three texts of at most {persons.LETTERS} letters."
    try:
        found: Any = json.loads(raw)
    except ValueError:
        raise Unusable(rule) from None
    fine = isinstance(found, list) and 1 <= len(found) <= persons.ROWS and all(isinstance(row, list) and len(row) == 3 for row in found)
    if not fine or not all(isinstance(cell, str) and len(cell) <= persons.LETTERS and cell.isprintable() for row in found for cell in row):
        raise Unusable(rule)
    return tuple((row[0], row[1], row[2]) for row in found)


def memory(raw: str) -> Vectors:
    """The rows of a memory and, last, the key that is asked."""
    found = vectors(raw)
    if not 2 <= len(found) <= MOST_ROWS + 1:
        raise Unusable(f"It must be 1 to {MOST_ROWS} rows and, last, the key.")
    return found


def points(raw: str) -> Vectors:
    """The query, then keys and as many values: an odd number of places in the plane, at least five."""
    found = vectors(raw, LIMIT)
    if len(found[0]) != 2 or len(found) % 2 == 0 or not 5 <= len(found) <= 13:
        raise Unusable("It must be a query, 2 to 6 keys and as many values, each x,y.")
    return found
