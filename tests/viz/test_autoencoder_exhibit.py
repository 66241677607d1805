"""The exhibit on the context vector without a browser: three boxes, four decoders, letters, the curve, the questions."""

from __future__ import annotations

import numpy as np
import pytest
from drawn_layers import all_rows, drawn_rows, find_layers
from exhibit_pages import drawn, said
from shown_values import states
from streamlit.testing.v1 import AppTest

from core.errors import InputError
from viz.course.why.autoencoder import compression, concepts, exhibit, pictures, words
from viz.course.why.autoencoder.glyphs import glyphs, letters
from viz.course.why.autoencoder.linear_autoencoder import Data
from viz.course.why.autoencoder.params import TAUGHT, Params
from viz.labels import percent

FLOOR = Data(glyphs()).floor()


def page(*folded: str, state: dict[str, object] | None = None, **link: str) -> AppTest:
    return drawn(
        "autoencoder",
        {f"autoencoder.{name}": value for name, value in link.items()},
        {f"fold:{name}": True for name in folded} | (state or {}),
    )


def notes(test: AppTest) -> list[str]:
    return [note["text"] for note in drawn_rows(test, "text")]


@pytest.mark.slow
def test_the_page_opens_with_a_question_whose_answer_is_covered():
    test = page()
    data = exhibit.compute(Params())
    assert not test.exception and test.title[0].value == exhibit.EXHIBIT.text.info.title
    assert "?" in notes(test) and data.exits["french"] not in notes(test)
    told = page(state={"predict:autoencoder.first": data.exits["french"]})
    assert "Right." in said(told) and data.exits["french"] in notes(told)


@pytest.mark.slow
def test_another_size_changes_the_question_and_its_answer():
    few, many = exhibit.compute(Params(p=1)), exhibit.compute(Params(p=24))
    assert many.exits["french"] == "l'éléphant" != few.exits["french"]
    assert "into 24" in said(page(p="24")) and "into 1." in said(page(p="1"))


def test_the_elephant_becomes_the_word_of_four_languages():
    """C002."""
    test = page(step="3", p="24")
    shown = notes(test)
    assert {"elephant", "c: 24 numbers", "4 decoders", "Spanish", "French", "German", "Persian"} <= set(shown)
    assert {"el elefante", "l'éléphant", "der Elefant", "فیل"} <= set(shown)
    data = exhibit.compute(Params(p=24))
    assert f"French {percent(data.right['french'])}" in said(test)
    assert notes(page(step="2", p="24"))[-1] == "l'éléphant"


def test_the_picture_is_the_context_of_the_run():
    data = exhibit.compute(Params(word="queen", p=5))
    test = page(step="2", word="queen", p="5")
    tiles = drawn_rows(test, "value", mark="rect")
    (bars,) = (
        rows for each in find_layers(test, mark="rect") if "name" in (rows := each["data"]["values"])[0]
    )
    assert len(data.context) == 5 and [bar["name"] for bar in bars] == ["c1", "c2", "c3", "c4", "c5"]
    np.testing.assert_allclose([bar["value"] for bar in bars], data.context)
    np.testing.assert_allclose(
        [bar["right"] - bar["left"] for bar in bars], 0.14 * data.context / data.limit, atol=1e-9
    )
    np.testing.assert_allclose([tile["value"] for tile in tiles], data.entry, atol=1e-6)
    known = compression.vectors()
    rows = np.array([known[word] for word in TAUGHT])
    axes = np.linalg.svd(rows - rows.mean(0), full_matrices=False)[2][:5]
    np.testing.assert_allclose(
        np.abs((known["queen"] - rows.mean(0)) @ axes.T), np.abs(data.context), atol=1e-9
    )


def test_words_that_were_never_taught_come_near_a_related_one():
    data = exhibit.compute(Params(word="elephants", p=24))
    assert "l'éléphant" in [word for word, _ in data.near["french"]]
    test = page(step="3", word="princess", p="20")
    assert not test.exception and "The list says" not in said(test)


def test_ones_own_word_goes_through_the_same_encoder(capsys):
    """C114."""
    test = page(step="3", word="Castle", p="20")
    data = exhibit.compute(Params(word="castle", p=20))
    assert (
        not test.exception
        and np.linalg.norm(data.entry) == pytest.approx(1)
        and str(data.exits["french"]) in notes(test)
    )
    exec(words.code(Params(word="castle", p=20)), {})
    numbers, said = capsys.readouterr().out.rsplit("[", 1)
    assert f"[{said}".strip() == str(list(data.exits.values()))
    np.testing.assert_allclose(
        [float(each) for each in numbers.strip("[]\n ").split()], data.context, atol=1e-4
    )
    for text, wrong in (("", "is 0 words"), ("two words", "is 2 words"), ("xyzzyq", "not in the vocabulary")):
        with pytest.raises(InputError, match=wrong):
            exhibit.compute(Params(word=text))


def test_letters_come_back_as_the_truncated_decomposition_says():
    test = page(step="4", letter="S", p="6")
    data = compression.letter("S", 6)
    assert list(data.exits) == ["plain", "bold", "slanted", "framed"] and data.lost_share == pytest.approx(
        FLOOR[6]
    )
    made, entry = np.asarray(data.exits["plain"]), glyphs()[letters().index("S")].reshape(7, 5)
    wrong = int(((made > 0.5) != (entry > 0.5)).sum())
    dots = drawn_rows(test, "value", mark="square")
    assert (
        not drawn_rows(test, "value", mark="rect")
        and [dot["value"] for dot in dots[:35]] == entry.ravel().tolist()
    )
    np.testing.assert_allclose(
        [dot["value"] for dot in dots[35:]],
        np.concatenate([np.ravel(made) for made in data.exits.values()]),
        atol=1e-6,
    )
    assert states(said(test), wrong, "35 dots") and f"{percent(FLOOR[6], 2)} is lost" in said(test)
    whole = compression.letter("S", 24)
    np.testing.assert_allclose(whole.exits["plain"], entry, atol=1e-8)


@pytest.mark.slow
def test_the_error_is_drawn_against_the_size_and_learning_reaches_it():
    """C003."""
    test = page(step="5", p="7")
    assert (
        not test.exception
        and len(test.get("vega_lite_chart")) == 1
        and not all_rows(test, mark="line")
        and not all_rows(test, mark="point")
    )
    data = compression.loss(7, 0)
    np.testing.assert_allclose(data.floors["letters, 35 dots"], FLOOR, atol=1e-12)
    assert all(loss == pytest.approx(FLOOR[p], abs=2e-3) for p, loss in data.learned.items()) and set(
        data.learned
    ) == set(range(1, 25))
    test.button(key="predict:autoencoder.size:commit").click().run()
    lines, dots = drawn_rows(test, mark="line"), all_rows(test, mark="point")
    np.testing.assert_allclose(
        [row["y"] for row in lines if row["line"] == "letters, 35 dots"], FLOOR, atol=1e-9
    )
    assert {row["x"]: row["y"] for row in dots} == data.learned
    assert all_rows(test, mark="rule") == [{"x": 7}]
    assert not find_layers(test, mark="text", without=["name"]), "no cover"


@pytest.mark.slow
def test_the_last_question_has_the_runs_answer():
    test = page(step="5")
    assert "How many numbers" in said(test) and f"{percent(FLOOR[12], 2)}" not in said(test)
    test.button(key="predict:autoencoder.size:commit").click().run()
    enough = int((FLOOR <= pictures.ENOUGH).argmax())
    assert f"with {enough} {percent(FLOOR[enough], 2)}" in said(
        test
    ) and f"With {enough - 1} numbers {percent(FLOOR[enough - 1], 2)}" in said(test)
    assert states(said(test), percent(FLOOR[8], 2))


def test_the_words_name_the_list_as_it_is():
    assert states(
        exhibit.EXHIBIT.text.steps[1].look, f"{len(TAUGHT)} words", ", ".join(concepts.UNTAUGHT[:4])
    )


def test_the_lines_to_take_away_run(capsys):
    exec(words.code(Params(p=24)), {})
    assert "l'éléphant" in capsys.readouterr().out
    exec(pictures.code(Params(letter="B", p=3)), {})
    assert f"{FLOOR[3]:.6f}"[:6] in capsys.readouterr().out


def test_that_so_many_numbers_lose_nothing_is_not_sold_as_a_finding():
    """Letters around their mean span one dimension less than there are letters, whatever they show."""
    data = compression.letter_data()
    assert len(data.floor()) - 1 <= len(data.rows) - 1
