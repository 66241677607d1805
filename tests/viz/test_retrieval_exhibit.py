"""The exhibit on retrieval: each step, its question, its numbers, what a visitor types."""

from __future__ import annotations

import numpy as np
import pytest
from drawn_layers import all_rows, drawn_rows
from exhibit_pages import StepPages, instruments
from exhibit_pages import said_and_set as said
from exhibit_visits import answered
from shown_values import states

from viz.course.look_up.retrieval import charts, memory_read, params, persons
from viz.course.look_up.retrieval.look_up import look_up, softmax
from viz.shell.state import Unusable

page = StepPages("retrieval")


def notes(test) -> list[str]:
    """Return the shaded numbers beside the rows."""
    return [cell["text"] for cell in drawn_rows(test, mark="rect")]


def texts(test) -> list[str]:
    return [row["text"] for row in all_rows(test, "text")]


def plane(test) -> dict:
    (header,) = (each for each in instruments(test, "task") if each["task"] == "attend")
    return header


@pytest.mark.parametrize(
    ("sql", "rows"), [(persons.QUERIES[0], 1), (persons.QUERIES[1], 2), (persons.AS_NUMBER, 0)]
)
def test_the_queries_of_the_slides_return_their_rows(sql, rows):
    """C013."""
    before, count = page(sql=sql), f"{rows} row{'' if rows == 1 else 's'}"
    assert page.answer(before, "rows") == count
    assert "?" in notes(before)
    test = answered(before)
    similarity = persons.ask(persons.PERSONS, sql).similarity
    assert f"SQLite returns {count}" in said(test)
    assert notes(test)[:3] == [str(s) for s in similarity] and sum(similarity) == rows


def test_another_table_gives_another_answer():
    table = (*persons.PERSONS, ("005123170000", "Sara", "Karimi"))
    test = answered(page(sql=persons.QUERIES[1], rows=params.pack_rows(table)))
    assert page.answer(test, "rows") == "3 rows" and "Sara Karimi" in said(test)


@pytest.mark.parametrize(("sharpness", "wanted"), [("0", [1 / 3] * 3), ("50", [0, 1, 0]), ("5", None)])
def test_from_uniform_to_one_hot(sharpness, wanted):
    """C014."""
    test, weights = page(2, sharpness=sharpness), softmax([1 / 12, 1, 1 / 12], float(sharpness))
    if wanted:
        np.testing.assert_allclose(weights, wanted, atol=1e-9)
    if sharpness == "50":
        assert states(said(test), "015843268901", "over 0.999", "under 0.001"), "softmax is never told as 1"
    elif sharpness == "5":
        assert states(said(test), "015843268901", f"{weights.max():.4f}", f"{weights.min():.4f}")
    assert [f"{w:.2f}" for w in weights] == notes(test)[3:6]
    assert len({point["line"] for point in drawn_rows(test, mark="line", place=1)}) == 3


@pytest.mark.slow
def test_the_guess_at_twice_the_sharpness_follows_the_query():
    for sql, fits in ((persons.QUERIES[0], [1 / 12, 1, 1 / 12]), (persons.QUERIES[1], [1, 1 / 8, 1])):
        twice = softmax(fits, 2 * params.SHARPNESS).max()
        assert f"{twice:.3f}" in said(answered(page(2, sql=sql)))


@pytest.mark.parametrize(("query", "best"), [((0.9, 0.8), "k1"), ((-1.0, 0.4), "k3")])
def test_the_plane_is_blind_until_the_guess_and_the_answer_follows_the_query(query, best):
    points = (query, *params.OPENING[1:])
    found = look_up(query, points[1:5], points[5:], sharpness=params.SHARPNESS)
    test = page(3, points=params.pack(points), guess={"plane": best})
    assert page.answer(test, "plane") == best == f"k{1 + int(found.weights.argmax())}"
    assert plane(page(3))["blind"] and not plane(test)["blind"]
    assert plane(test)["points"][0]["at"] == list(query)
    x, y = found.mix
    assert f"the weighted sum is ({x:.3f}, {y:.3f})".replace("-", "−") in said(test)


def test_a_move_from_the_browser_is_computed_again_and_the_question_stays():
    """C015, without the browser: what it sends when a point is let go."""
    test = page(3, guess={"plane": "k1"})
    assert plane(test)["scores"][0]["rule"] == "dot" and len(plane(test)["values"]) == 4
    test.query_params["retrieval.points"] = params.pack(((-1.5, 0.5), *params.OPENING[1:]))
    test.query_params["retrieval.asked"] = params.pack(params.OPENING)
    test.run()
    found = look_up((-1.5, 0.5), params.KEYS[:4], params.VALUES[:4], sharpness=params.SHARPNESS)
    assert f"Weights {', '.join(f'{w:.3f}' for w in found.weights)}" in said(test) and "Right." in said(test)


def test_score_and_number_of_keys_can_be_changed():
    test = page(3, "change.2", guess={"plane": "k1"}, score="cosine")
    assert plane(test)["scores"][0]["rule"] == "cosine"
    test.button(key="retrieval.more").click().run()
    assert sum(point["role"] == "key" for point in plane(test)["points"]) == 5


@pytest.mark.slow
@pytest.mark.parametrize(("beta", "top"), [(1, "0.4509"), (10, "1.0000")])
def test_the_memory_is_read_with_beta(beta, top):
    """C016."""
    before = page(4, memory=params.pack((*memory_read.TEN, (1.0, 1.0, 0.0))), beta=beta)
    assert "w = ?" in texts(before)
    test = answered(before)
    assert f"to {top}" in said(test) and "e² = 7.389" in said(test) and f"w = {top}" in texts(test)


@pytest.mark.slow
def test_another_memory_reads_another_vector():
    memory = ((2.0, 0.0), (0.0, 2.0), (1.0, 1.0))
    x, y = memory_read.read(memory[:-1], memory[-1], 1.0).vector
    assert f"r = ({x:.3f}, {y:.3f})" in said(answered(page(4, memory=params.pack(memory))))
    assert "r = (0.000, 2.000)" in said(answered(page(4, memory=params.pack(memory), row=2)))


@pytest.mark.parametrize(
    "raw",
    ["", "x", "1,2", "1,2;3,4", "1,2;3,4;5,6;7,8;9,10", "nan,1;1,1;1,1;1,1;1,1", ";".join(["1,1"] * 99)],
)
def test_places_of_a_link_are_bounded(raw):
    with pytest.raises(Unusable):
        params.points(raw)


def test_text_of_a_table_is_never_markup():
    table = charts.look_up_table(["ID"], [["<b>"], ["<a href=x>"]], {"similarity": None})
    assert {"<b>", "<a href=x>"} <= {row["text"] for row in all_rows(table, "text")}
