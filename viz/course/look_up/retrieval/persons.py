"""Hard look-up: the table of the slides, asked in SQL, and the same as similarities of 0 and 1 (Beigy 2021).

retrieval(q, k, v) = sum_i similarity(q, k_i) * v_i, similarity 0 or 1. SQLite answers; what it is asked may come from a
visitor: it reads one table in memory and can do nothing else, not for long either.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass

import numpy as np

from core.errors import InputError
from viz.languages import _, mark

Row = tuple[str, str, str]
COLUMNS = ("ID", "Name", "Family")
PERSONS: tuple[Row, ...] = (
    ("005123174812", "Ali", "Ahmadi"),
    ("015843268901", "Mohammad Reza", "Ali Mohammadi"),
    ("005123174823", "Ashkan", "Mohammadi"),
)
QUERIES = (
    "SELECT ID, Name, Family FROM PERSONS WHERE ID='015843268901'",
    "SELECT ID, Name, Family FROM PERSONS WHERE ID like '00512317%'",
)
AS_NUMBER = "SELECT ID, Name, Family FROM PERSONS WHERE ID=15843268901"
"""The key without its leading zero: numbers have none, so keys must be text."""

ROWS, LETTERS, LONGEST = 8, 40, 300
"""Most rows of a table, letters of a cell, letters of a query."""
_STEPS, _EVERY = 50, 1_000
_FORM = re.compile(
    r"\s*select\s+(?P<columns>\*|\w+(?:\s*,\s*\w+)*)\s+from\s+persons(?:\s+where\s+(?P<condition>.+?))?\s*;?\s*",
    re.I | re.S,
)
_FUNCTIONS = {
    "like",
    "glob",
    "lower",
    "upper",
    "length",
    "substr",
    "substring",
    "trim",
    "instr",
    "abs",
    "min",
    "max",
    "count",
}
_RULE = mark("Allowed: SELECT columns FROM PERSONS WHERE condition.")


@dataclass(frozen=True)
class Answer:
    """Answer of SQLite, and for each row of the table whether the condition selects it: similarity, 0 or 1."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    similarity: tuple[int, ...]


def ask(table: Sequence[Row], sql: str) -> Answer:
    """Ask a table of (ID, Name, Family). Raises InputError for anything but a SELECT of its columns.

    >>> ask(PERSONS, QUERIES[0]).rows, ask(PERSONS, QUERIES[1]).similarity, ask(PERSONS, AS_NUMBER).similarity
    ((('015843268901', 'Mohammad Reza', 'Ali Mohammadi'),), (1, 0, 1), (0, 0, 0))
    """
    if len(sql) > LONGEST:
        raise InputError(
            _("The query has {n} letters.", n=len(sql)),
            _("It may have at most {n}.", n=LONGEST),
            _("Shorten it."),
        )
    form = _FORM.fullmatch(sql)
    if form is None:
        raise InputError(
            _("This table cannot answer that query."), _(_RULE), _("Try {query}", query=QUERIES[1])
        )
    condition = form["condition"] or "1"
    with closing(_filled(table)) as base:
        try:
            cursor = base.execute(sql)
            rows = tuple(tuple(map(str, row)) for row in cursor.fetchmany(ROWS))
            columns = tuple(column[0] for column in cursor.description)
            found = {
                row[0]
                for row in base.execute(f"SELECT rowid FROM PERSONS WHERE ({condition}\n)").fetchmany(ROWS)
            }
        except (sqlite3.Error, sqlite3.Warning, ValueError, OverflowError) as error:
            raise InputError(
                _("SQLite cannot answer: {error}.", error=error),
                _(_RULE),
                _("Correct the query, or take one of those above."),
            ) from None
    return Answer(columns, rows, tuple(int(number in found) for number in range(1, len(table) + 1)))


def _filled(table: Sequence[Row]) -> sqlite3.Connection:
    """Return an in-memory database with the table, read-only: no other table, no other statement, no function that is not
    listed."""
    base = sqlite3.connect(":memory:")
    base.execute("CREATE TABLE PERSONS (ID TEXT, Name TEXT, Family TEXT)")
    base.executemany("INSERT INTO PERSONS VALUES (?, ?, ?)", table)
    for limit, most in (
        (sqlite3.SQLITE_LIMIT_LENGTH, 10_000),
        (sqlite3.SQLITE_LIMIT_SQL_LENGTH, 1_000),
        (sqlite3.SQLITE_LIMIT_EXPR_DEPTH, 30),
        (sqlite3.SQLITE_LIMIT_COMPOUND_SELECT, 2),
        (sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 100),
        (sqlite3.SQLITE_LIMIT_ATTACHED, 0),
    ):
        base.setlimit(limit, most)
    calls = iter(range(_STEPS))
    base.set_progress_handler(lambda: int(next(calls, None) is None), _EVERY)
    base.set_authorizer(_allowed)
    return base


def _allowed(action: int, one: str | None, two: str | None, *_: object) -> int:
    fine = (
        action == sqlite3.SQLITE_SELECT
        or (action == sqlite3.SQLITE_READ and (one or "").upper() == "PERSONS")
        or (action == sqlite3.SQLITE_FUNCTION and (two or "").lower() in _FUNCTIONS)
    )
    return sqlite3.SQLITE_OK if fine else sqlite3.SQLITE_DENY


def asked_for(sql: str) -> str:
    """Return the first quoted text of a query, without "%": the text that keys are compared with.

    >>> [asked_for(sql) for sql in (*QUERIES, AS_NUMBER)]
    ['015843268901', '00512317', '']
    """
    quoted = re.search(r"'([^']*)'", sql)
    return quoted[1].strip("%") if quoted else ""


def likeness(query: str, keys: Sequence[str]) -> np.ndarray:
    """Return the share of the query's letters with which each key begins, 0 to 1: a similarity between no and yes.

    >>> likeness("0051", ["005123174812", "015843268901", "x"]).tolist()
    [1.0, 0.25, 0.0]
    """

    def share(key: str) -> float:
        same = next(
            (i for i, (a, b) in enumerate(zip(query, key, strict=False)) if a != b), min(len(query), len(key))
        )
        return same / len(query) if query else 0.0

    return np.array([share(key) for key in keys])
