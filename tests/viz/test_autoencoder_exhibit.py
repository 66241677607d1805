"""The exhibit on the context vector: three boxes, four decoders, letters, the curve."""

from __future__ import annotations

import numpy as np
import pytest
from drawn_layers import all_rows, drawn_rows, find_layers
from exhibit_pages import StepPages, said
from exhibit_visits import answered
from shown_values import states

from core.errors import InputError
from viz.course.why.autoencoder import compression, concepts, exhibit, pictures, words
from viz.course.why.autoencoder.glyphs import glyphs, letters
from viz.course.why.autoencoder.linear_autoencoder import Data
from viz.course.why.autoencoder.params import TAUGHT, Params
from viz.labels import percent

FLOOR = Data(glyphs()).floor()
page = StepPages("autoencoder")


def notes(test) -> list[str]:
    return [note["text"] for note in drawn_rows(test, "text")]


def test_the_elephant_becomes_the_word_of_four_languages():
    """C002."""
    few, many = exhibit.compute(Params(p=1)), exhibit.compute(Params(p=24))
    assert many.exits["french"] == "l'éléphant" != few.exits["french"]
    assert "?" in notes(page()) and many.exits["french"] not in notes(page(p=24))
    test = page(3, p=24)
    assert {
        *("elephant", "c: 24 numbers", "4 decoders", "Spanish", "French", "German", "Persian"),
        *("el elefante", "l'éléphant", "der Elefant", "فیل"),
    } <= {*notes(test)}
    assert f"French {percent(many.right['french'])}" in said(test)
    assert notes(page(2, p=24))[-1] == "l'éléphant"


def test_the_picture_is_the_context_of_the_run():
    data = exhibit.compute(Params(word="queen", p=5))
    test = page(2, word="queen", p=5)
    tiles = drawn_rows(test, "value", mark="rect")
    (bars,) = (
        rows for each in find_layers(test, mark="rect") if "name" in (rows := each["data"]["values"])[0]
    )
    assert [bar["name"] for bar in bars] == ["c1", "c2", "c3", "c4", "c5"]
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


def test_ones_own_word_goes_through_the_same_encoder(capsys):
    """C114."""
    data = exhibit.compute(Params(word="castle", p=20))
    assert np.linalg.norm(data.entry) == pytest.approx(1)
    assert str(data.exits["french"]) in notes(page(3, word="Castle", p=20))
    near = exhibit.compute(Params(word="elephants", p=24)).near["french"]
    assert "l'éléphant" in [word for word, _ in near]
    exec(words.code(Params(word="castle", p=20)), {})
    numbers, outputs = capsys.readouterr().out.rsplit("[", 1)
    assert f"[{outputs}".strip() == str(list(data.exits.values()))
    printed = [float(each) for each in numbers.strip("[]\n ").split()]
    np.testing.assert_allclose(printed, data.context, atol=1e-4)
    for text, wrong in (("", "is 0 words"), ("two words", "is 2 words"), ("xyzzyq", "not in the vocabulary")):
        with pytest.raises(InputError, match=wrong):
            exhibit.compute(Params(word=text))


def test_letters_come_back_as_the_truncated_decomposition_says():
    test, data = page(4, letter="S", p=6), compression.letter("S", 6)
    assert list(data.exits) == ["plain", "bold", "slanted", "framed"]
    assert data.lost_share == pytest.approx(FLOOR[6])
    made, entry = np.asarray(data.exits["plain"]), glyphs()[letters().index("S")].reshape(7, 5)
    dots = [dot["value"] for dot in drawn_rows(test, "value", mark="square")]
    assert dots[:35] == entry.ravel().tolist()
    exits = np.concatenate([np.ravel(each) for each in data.exits.values()])
    np.testing.assert_allclose(dots[35:], exits, atol=1e-6)
    assert states(said(test), int(((made > 0.5) != (entry > 0.5)).sum()), "35 dots")
    assert f"{percent(FLOOR[6], 2)} is lost" in said(test)
    np.testing.assert_allclose(compression.letter("S", 24).exits["plain"], entry, atol=1e-8)


@pytest.mark.slow
def test_the_error_is_drawn_against_the_size_and_learning_reaches_it():
    """C003."""
    data, enough = compression.loss(7, 0), int((FLOOR <= pictures.ENOUGH).argmax())
    np.testing.assert_allclose(data.floors["letters, 35 dots"], FLOOR, atol=1e-12)
    assert data.learned == pytest.approx({p: FLOOR[p] for p in range(1, 25)}, abs=2e-3)
    test = answered(page(5, p=7))
    lines = [row["y"] for row in drawn_rows(test, mark="line") if row["line"] == "letters, 35 dots"]
    np.testing.assert_allclose(lines, FLOOR, atol=1e-9)
    assert {row["x"]: row["y"] for row in all_rows(test, mark="point")} == data.learned
    assert all_rows(test, mark="rule") == [{"x": 7}] and page.answer(test, "size") == enough
    assert states(said(test), enough, percent(FLOOR[enough], 2), enough - 1, percent(FLOOR[enough - 1], 2))


def test_the_words_name_the_list_as_it_is():
    look = exhibit.EXHIBIT.text.steps[1].look
    assert states(look, f"{len(TAUGHT)} words", ", ".join(concepts.UNTAUGHT[:4]))
