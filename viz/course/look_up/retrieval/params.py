"""Settings of the exhibit on retrieval; a table and vectors are text in the link, with every bound."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from core.text.tokenizer import readable_part
from viz.course.look_up.retrieval import memory_read, persons
from viz.course.look_up.vectors_link import LIMIT, MOST_ROWS, Vectors, pack, vectors
from viz.languages import _, mark
from viz.shell import state
from viz.widgets import controls
from viz.widgets.knobs import Control, Knobs, knob, segmented, slider, url_only, with_rule

SLUG = "retrieval"
SHARPNESS = 2.0
"""The inverse temperature that the page opens with: small enough that every key has weight."""
CHOICES = (*persons.QUERIES, persons.AS_NUMBER)
SCORES = {"dot": "q · k", "scaled": "q · k / √p", "cosine": mark("cosine")}
KEYS = ((1.5, 0.3), (0.3, 1.4), (-1.3, 0.5), (-0.4, -1.4), (1.0, -1.2), (-1.1, -0.9))
VALUES = ((1.5, 1.5), (-1.5, 1.0), (-1.0, -1.5), (1.2, -1.0), (0.2, 1.8), (-1.8, -0.3))
OPENING: Vectors = ((0.9, 0.8), *KEYS[:4], *VALUES[:4])
MEMORIES: dict[str, Vectors] = {
    mark("Three rows"): (*memory_read.THREE, (1.0, 0.2, 0.4)),
    mark("Ten rows, one that matches"): (*memory_read.TEN, (1.0, 1.0, 0.0)),
}


def pack_rows(rows: Sequence[Sequence[str]]) -> str:
    """Return the table as one line of JSON."""
    return json.dumps([list(row) for row in rows], ensure_ascii=False, separators=(",", ":"))


def rows(raw: str) -> tuple[persons.Row, ...]:
    """Parse a table of three texts per row; raise Unusable for anything else.

    >>> rows('[["007","James","Bond"]]')
    (('007', 'James', 'Bond'),)
    """
    rule = _(
        "It must be at most {rows} rows of three texts of at most {letters} letters.",
        rows=persons.ROWS,
        letters=persons.LETTERS,
    )
    try:
        found: Any = json.loads(raw)
    except ValueError:
        raise state.Unusable(rule) from None
    if not isinstance(found, list) or not 1 <= len(found) <= persons.ROWS:
        raise state.Unusable(rule)
    if not all(isinstance(row, list) and len(row) == 3 and all(map(_is_cell, row)) for row in found):
        raise state.Unusable(rule)
    return tuple((row[0], row[1], row[2]) for row in found)


def _is_cell(cell: Any) -> bool:
    return isinstance(cell, str) and len(cell) <= persons.LETTERS and cell.isprintable()


def memory(raw: str) -> Vectors:
    """Parse the rows of a memory and, last, the key."""
    found = vectors(raw)
    if not 2 <= len(found) <= MOST_ROWS + 1:
        raise state.Unusable(_("It must be 1 to {n} rows and, last, the key.", n=MOST_ROWS))
    return found


def points(raw: str) -> Vectors:
    """Parse the query, then keys and as many values: an odd number of points in the plane, at least five."""
    found = vectors(raw, LIMIT)
    if len(found[0]) != 2 or len(found) % 2 == 0 or not 5 <= len(found) <= 13:
        raise state.Unusable(_("It must be a query, 2 to 6 keys and as many values, each x,y."))
    return found


def on_plane(raw: str) -> str:
    """Check the points of a link and return them as text."""
    return pack(points(raw))


def condition(sql: str) -> str:
    """Return the part of a query after WHERE: it names the query."""
    return re.split(r"\bwhere\b", sql, maxsplit=1, flags=re.I)[-1].strip()


def _query(name: str, opening: str, params: Params, names: Callable[[str], str]) -> None:
    """Draw the box of the query and buttons for the ready-made ones, each named by its condition to save space."""
    controls.text(_("Your query"), name, opening, placeholder=opening)
    of_slides = {condition(sql): {name: sql} for sql in CHOICES}
    label = mark("Queries of the slides")
    controls.preset_values(of_slides, f"{SLUG}.queries", {name: params.sql}, label)


@dataclass(frozen=True)
class Params(Knobs):
    """`points`: the query, the keys, their values. `memory`: its rows and, last, the key.

    `row`: the row that is read alone, from 1; 0: read by content.
    """

    sql: str = knob(persons.QUERIES[0], Control(_query, lambda opening: readable_part))
    rows: str = knob(pack_rows(persons.PERSONS), url_only(lambda raw: pack_rows(rows(raw))))
    sharpness: float = knob(SHARPNESS, slider("Inverse temperature β: soft (0) to hard (50)", 0.0, 50.0, 0.5))
    score: str = knob("dot", segmented("Score", tuple(SCORES), lambda score: _(SCORES[score])))
    points: str = knob(pack(OPENING), url_only(on_plane))
    memory: str = knob(pack(MEMORIES["Three rows"]), url_only(lambda raw: pack(memory(raw))))
    beta: float = knob(1.0, slider("Inverse temperature β", 0.0, 20.0, 0.5))
    row: int = knob(
        0,
        with_rule(
            segmented(
                "Read",
                lambda params: range(len(params.stored)),
                lambda i: _("row {n}", n=i) if i else _("by content"),
                quiet=True,
            ),
            state.whole_number(0, MOST_ROWS),
        ),
    )

    @property
    def table(self) -> tuple[persons.Row, ...]:
        """Return the rows of the table PERSONS."""
        return rows(self.rows)

    @property
    def placed(self) -> Vectors:
        """Return the query, the keys, their values."""
        return points(self.points)

    @property
    def stored(self) -> Vectors:
        """Return the rows of the memory and, last, the key."""
        return memory(self.memory)
