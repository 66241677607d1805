"""The exhibit on retrieval without a browser: each step, its question, its numbers, what a visitor types."""

from __future__ import annotations

import numpy as np
import pytest
from drawn_layers import all_rows, drawn_rows, find_layers
from exhibit_pages import chart, drawn
from exhibit_pages import said_and_set as said
from packets import opened
from shown_values import states
from streamlit.testing.v1 import AppTest

from viz.course.look_up.retrieval import charts, exhibit, memory_read, params, persons
from viz.course.look_up.retrieval.look_up import look_up, softmax
from viz.shell.state import Unusable


def page(
    step: int = 1, guess: dict[str, object] | None = None, folded: tuple[str, ...] = (), **values: str
) -> AppTest:
    """The page at a step, questions answered and folds open as asked, with the values of a params."""
    link = {f"retrieval.{name}": value for name, value in values.items()}
    answered = {f"predict:retrieval.{name}": value for name, value in (guess or {}).items()}
    return drawn(
        "retrieval",
        {"retrieval.step": str(step)} | link,
        answered | {f"fold:{name}": True for name in folded},
        guarded=True,
    )


def notes(test: AppTest) -> list[str]:
    """The shaded numbers beside the rows, or the cells of the memory."""
    return [cell["text"] for cell in drawn_rows(test, mark="rect")]


def written(test: AppTest) -> set[str]:
    """All texts of the picture."""
    return {word["text"] for layer in chart(test) for word in layer if "text" in word}


def vectors(test: AppTest) -> dict:
    found = [opened(e.proto.bytes)[0] for e in test.get("bidi_component") if e.proto.bytes]
    return next(header for header in found if header.get("task") == "attend")


def committed(test: AppTest, percent: int = 45) -> AppTest:
    test.slider(key="predict:retrieval.share").set_value(percent)
    return test.button(key="predict:retrieval.share:commit").click().run()


# ------------------------------------------------------------------ step 1: yes or no


@pytest.mark.parametrize(
    ("sql", "rows"), [(persons.QUERIES[0], 1), (persons.QUERIES[1], 2), (persons.AS_NUMBER, 0)]
)
def test_the_queries_of_the_slides_return_their_rows(sql, rows):
    """C013."""
    covered = page(sql=sql)
    assert not covered.exception and "?" in notes(covered) and "SQLite returns" not in said(covered)
    count = f"{rows} row{'' if rows == 1 else 's'}"
    test = page(sql=sql, guess={"rows": count})
    assert "Right." in said(test) and f"SQLite returns {count}" in said(test)
    similarity = persons.ask(persons.PERSONS, sql).similarity
    assert notes(test)[:3] == [str(s) for s in similarity] and sum(similarity) == rows


def test_another_table_gives_another_answer():
    table = (*persons.PERSONS, ("005123170000", "Sara", "Karimi"))
    test = page(sql=persons.QUERIES[1], rows=params.pack_rows(table), guess={"rows": "2 rows"})
    assert states(said(test), "“2 rows”", "“3 rows”") and "Sara Karimi" in said(test)


@pytest.mark.parametrize(
    "sql", ["DROP TABLE PERSONS", "<b>![x](http://a)</b>", "SELECT ID FROM PERSONS WHERE", "x" * 5000]
)
def test_what_is_no_query_gets_a_calm_answer(sql):
    test = page(sql=sql)
    assert not test.exception and "Something went wrong" not in said(test)
    assert states(said(test), "SELECT", "FROM PERSONS") or states(said(test), "at most 300")


# ------------------------------------------------------------------ step 2: soften


@pytest.mark.parametrize(("sharpness", "wanted"), [("0", [1 / 3] * 3), ("50", [0, 1, 0]), ("5", None)])
def test_from_uniform_to_one_hot(sharpness, wanted):
    """C014."""
    test = page(2, sharpness=sharpness)
    weights = softmax([1 / 12, 1, 1 / 12], float(sharpness))
    if wanted:
        np.testing.assert_allclose(weights, wanted, atol=1e-9)
    told = (
        "over 0.999, the smallest weight is under 0.001"
        if sharpness == "50"
        else f"{weights.max():.4f}, the smallest weight is {weights.min():.4f}"
    )
    assert f"015843268901 gets {told}" in said(test) or sharpness == "0", "softmax is never told as 1"
    assert [f"{w:.2f}" for w in weights] == notes(test)[3:6]
    assert len({point["line"] for point in drawn_rows(test, mark="line", place=1)}) == 3


@pytest.mark.slow
def test_the_guess_at_twice_the_sharpness_follows_the_query():
    for sql, fits in ((persons.QUERIES[0], [1 / 12, 1, 1 / 12]), (persons.QUERIES[1], [1, 1 / 8, 1])):
        first = page(2, sql=sql)
        first.slider(key="predict:retrieval.twice").set_value(0.5)
        first.button(key="predict:retrieval.twice:commit").click().run()
        assert f"{softmax(fits, 2 * params.SHARPNESS).max():.3f}" in said(first)


# ------------------------------------------------------------------ step 3: arrows


def test_the_plane_is_blind_until_the_guess_and_the_answer_follows_the_query():
    assert vectors(page(3))["blind"] is True
    for query in ((0.9, 0.8), (-1.0, 0.4)):
        points = (query, *params.OPENING[1:])
        found = look_up(query, points[1:5], points[5:], sharpness=params.SHARPNESS)
        best = f"k{1 + int(found.weights.argmax())}"
        test = page(3, points=params.pack(points), guess={"plane": best})
        header = vectors(test)
        assert (
            "Right." in said(test) and header["blind"] is False and header["points"][0]["at"] == list(query)
        )
        x, y = found.mix
        assert f"the weighted sum is ({x:.3f}, {y:.3f})".replace("-", "−") in said(test)
    assert {
        f"k{1 + int(look_up(q, params.KEYS[:4], params.VALUES[:4]).weights.argmax())}"
        for q in ((0.9, 0.8), (-1.0, 0.4))
    } == {"k1", "k3"}


def test_a_move_from_the_browser_is_computed_again_and_the_question_stays():
    """C015, without the browser: what it sends when a point is let go."""
    test = page(3, guess={"plane": "k1"})
    assert vectors(test)["scores"][0]["rule"] == "dot" and len(vectors(test)["values"]) == 4
    test.query_params["retrieval.points"] = params.pack(((-1.5, 0.5), *params.OPENING[1:]))
    test.query_params["retrieval.asked"] = params.pack(params.OPENING)
    test.run()
    found = look_up((-1.5, 0.5), params.KEYS[:4], params.VALUES[:4], sharpness=params.SHARPNESS)
    assert f"Weights {', '.join(f'{w:.3f}' for w in found.weights)}" in said(test) and "Right." in said(test)


def test_score_and_number_of_keys_can_be_changed():
    test = page(3, guess={"plane": "k1"}, folded=("retrieval.change.2",), score="cosine")
    assert vectors(test)["scores"][0]["rule"] == "cosine"
    test.button(key="retrieval.more").click().run()
    assert len([p for p in vectors(test)["points"] if p["role"] == "key"]) == 5


# ------------------------------------------------------------------ step 4: memory


@pytest.mark.slow
def test_the_memory_is_read_with_beta():
    """C016."""
    ten = params.pack((*memory_read.TEN, (1.0, 1.0, 0.0)))
    for beta, top in (("1", "0.4509"), ("10", "1.0000")):
        test = committed(page(4, memory=ten, beta=beta))
        assert f"to {top}" in said(test) and f"w = {top}" in written(test) and "e² = 7.389" in said(test)
    assert "w = ?" in written(page(4))


@pytest.mark.slow
def test_another_memory_reads_another_vector():
    def vector(memory: tuple, **more: str) -> str:
        return said(committed(page(4, memory=params.pack(memory), **more)))

    memory = ((2.0, 0.0), (0.0, 2.0), (1.0, 1.0))
    read = memory_read.read(memory[:-1], memory[-1], 1.0).vector
    assert f"r = ({read[0]:.3f}, {read[1]:.3f})" in vector(memory)
    assert "r = (0.000, 2.000)" in vector(memory, row="2")


# ------------------------------------------------------------------ link, figures


@pytest.mark.parametrize(
    "raw",
    ["", "x", "1,2", "1,2;3,4", "1,2;3,4;5,6;7,8;9,10", "nan,1;1,1;1,1;1,1;1,1", ";".join(["1,1"] * 99)],
)
def test_places_of_a_link_are_bounded(raw):
    with pytest.raises(Unusable):
        params.points(raw)


def test_text_of_a_table_is_never_markup():
    drawn = charts.look_up_table(["ID"], [["<b>"], ["<a href=x>"]], {"similarity": None})
    words = [row["text"] for row in all_rows(drawn, "text")]
    assert "<b>" in words and "<a href=x>" in words, "as text, never as a link"
    cells = max(
        (
            each["data"]["values"]
            for each in find_layers(charts.memory(np.eye(3), np.ones(3) / 3, np.ones(3)), mark="rect")
        ),
        key=len,
    )
    assert [cell["text"] for cell in cells] == [
        "1.00",
        "0.00",
        "0.00",
        "0.00",
        "1.00",
        "0.00",
        "0.00",
        "0.00",
        "1.00",
        "1.00",
        "1.00",
        "1.00",
    ]


def test_the_page_computes_what_its_compute_says():
    found = exhibit.compute(params.Params())
    assert found.answer.similarity == (0, 1, 0) and found.read.weights.sum() == pytest.approx(1)
    assert exhibit.thumbnail().startswith("<svg")
