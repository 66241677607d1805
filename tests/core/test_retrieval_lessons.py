"""The table of the slides against SQLite, visitors' SQL kept in its cage, and the memory read against its bound."""

from __future__ import annotations

import math
import sqlite3
import time
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

from core.errors import InputError
from viz.course.look_up.retrieval import memory_read, persons


def free(sql: str) -> list[tuple]:
    """The same table in a plain SQLite."""
    base = sqlite3.connect(":memory:")
    base.execute("CREATE TABLE PERSONS (ID TEXT, Name TEXT, Family TEXT)")
    base.executemany("INSERT INTO PERSONS VALUES (?, ?, ?)", persons.PERSONS)
    return base.execute(sql).fetchall()


def test_the_two_queries_of_the_slides():
    one, two = (persons.ask(persons.PERSONS, sql) for sql in persons.QUERIES)
    assert [row[1] for row in one.rows] == ["Mohammad Reza"] and one.similarity == (0, 1, 0)
    assert [row[1] for row in two.rows] == ["Ali", "Ashkan"] and two.similarity == (1, 0, 1)


@pytest.mark.parametrize(
    "sql",
    [
        *persons.QUERIES,
        persons.AS_NUMBER,
        "select * from persons",
        "SELECT Name FROM PERSONS WHERE Family LIKE '%h%' AND length(ID) = 12;",
        "SELECT Name FROM PERSONS WHERE ID = (SELECT max(ID) FROM PERSONS)",
        "SELECT ID FROM PERSONS WHERE 1 -- all",
    ],
)
def test_the_sum_of_similarity_times_value_is_what_sqlite_returns(sql):
    answer = persons.ask(persons.PERSONS, sql)
    assert list(answer.rows) == free(sql)
    places = [persons.COLUMNS.index(column) for column in answer.columns]
    by_hand = [
        tuple(row[c] for c in places) for row, s in zip(persons.PERSONS, answer.similarity, strict=True) if s
    ]
    assert list(answer.rows) == by_hand


def test_another_table_another_answer():
    table = [(*persons.PERSONS[0][:2], "Ahmadi"), ("005123179999", "Sara", "Karimi")]
    assert persons.ask(table, persons.QUERIES[1]).similarity == (1, 1) and persons.ask(
        table, persons.QUERIES[0]
    ).similarity == (0, 0)


@pytest.mark.parametrize(
    "sql",
    [
        "",
        "DROP TABLE PERSONS",
        "SELECT ID FROM PERSONS; DELETE FROM PERSONS",
        "SELECT name FROM sqlite_master",
        "PRAGMA table_info(PERSONS)",
        "SELECT ID FROM PERSONS WHERE (SELECT count(*) FROM sqlite_master)",
        "ATTACH '/tmp/x' AS y",
        "SELECT ID FROM PERSONS WHERE load_extension('x')",
        "SELECT ID FROM PERSONS WHERE randomblob(900000000)",
        "SELECT load_extension('x') FROM PERSONS",
        "SELECT ID FROM PERSONS WHERE ID = 'a' UNION SELECT sql FROM sqlite_master",
        "WITH RECURSIVE t(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM t) SELECT x FROM t",
        "SELECT ID FROM PERSONS WHERE ID IN (WITH RECURSIVE t(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM t) SELECT x FROM t)",
        "SELECT ID FROM PERSONS WHERE ID = '\x00",
        "SELECT ID FROM PERSONS WHERE ID = '\ud800'",
        "SELECT ID FROM PERSONS WHERE 1) OR (1",
        "SELECT x FROM PERSONS",
        "SELECT ID FROM PERSONS WHERE " + "(" * 90,
        "a" * 400,
    ],
)
def test_anything_else_is_refused_in_three_parts(sql):
    with pytest.raises(InputError) as caught:
        persons.ask(persons.PERSONS, sql)
    assert caught.value.wrong and caught.value.rule and caught.value.remedy


def test_a_query_that_would_take_long_is_stopped():
    table = [(str(i), "a" * 40, "b") for i in range(persons.ROWS)]
    every = ", ".join(f"PERSONS p{i}" for i in range(9))
    began = time.monotonic()
    with pytest.raises(InputError, match="interrupted"):
        persons.ask(table, f"SELECT ID FROM PERSONS WHERE (SELECT count(*) FROM {every}) > 1")
    assert time.monotonic() - began < 2


@pytest.mark.slow
@given(some.text(max_size=60))
def test_no_text_does_more_than_answer_or_refuse(text):
    for sql in (text, f"SELECT ID FROM PERSONS WHERE {text}"):
        with suppress(InputError):
            assert len(persons.ask(persons.PERSONS, sql).similarity) == 3


def test_likeness_and_its_two_ends():
    fits = persons.likeness(persons.asked_for(persons.QUERIES[0]), [row[0] for row in persons.PERSONS])
    np.testing.assert_allclose(fits, [1 / 12, 1, 1 / 12])
    assert persons.likeness("", ["a"]).tolist() == [0.0]


def test_what_is_read_is_weights_times_memory():
    memory, key = np.random.default_rng(3).normal(size=(5, 7)), np.arange(7.0)
    found = memory_read.read(memory, key, 3.0)
    cosines = memory @ key / np.linalg.norm(memory, axis=1) / np.linalg.norm(key)
    np.testing.assert_allclose(found.cosines, cosines)
    np.testing.assert_allclose(found.weights, np.exp(3 * cosines) / np.exp(3 * cosines).sum())
    np.testing.assert_allclose(found.vector, found.weights @ memory)
    np.testing.assert_allclose(memory_read.read_row(memory, key, 2).vector, memory[2])


@given(some.lists(some.lists(some.floats(-5, 5), min_size=3, max_size=3), min_size=2, max_size=9))
def test_without_a_sharpness_two_weights_differ_at_most_by_e_squared(memory):
    weights = memory_read.read(memory, (1.0, -0.5, 2.0), 1.0).weights
    assert weights.max() / weights.min() <= math.e**2 + 1e-9 and weights.sum() == pytest.approx(1)


def test_ten_rows_reach_the_numbers_of_the_bound():
    assert memory_read.read(memory_read.TEN, (1, 1, 0), 1).weights.max() == pytest.approx(
        math.e / (math.e + 9 / math.e)
    )
    assert round(float(memory_read.read(memory_read.TEN, (1, 1, 0), 10).weights.max()), 4) == 1.0
