"""The exhibit on words, sentences, a document: weights, products, the class, the text without a sentence, the record."""

from __future__ import annotations

import numpy as np
import pytest
from drawn_layers import drawn_rows
from exhibit_pages import bar_labels, drawn, lanes, said
from streamlit.testing.v1 import AppTest

import core
from core.checkpoints.manifest import shipped_folder
from core.checkpoints.scores import read_scores
from core.errors import InputError
from core.maths import softmax
from core.text.sentences import sentences_of
from viz.course.look_up.hierarchy import exhibit, maths
from viz.course.look_up.hierarchy.params import EXAMPLES, Params
from viz.labels import percent

OWN = "We sat by the fire. A whale rose beside the boat! Who had the key?"


def page(step: int = 1, told: str = "", answer: object = None, text: str = "") -> AppTest:
    link = {"hierarchy.step": str(step)} | ({"hierarchy.text": text} if text else {})
    state = {f"predict:hierarchy.{told}": answer} if told else {}
    test = drawn("hierarchy", link, state, guarded=True)
    assert not test.exception
    return test


def data(text: str = OWN) -> maths.Data:
    return exhibit.compute(Params(text=text))


@pytest.mark.quick(2)
@pytest.mark.parametrize("text", [OWN, *EXAMPLES.values(), "whale"])
def test_weights_of_words_of_sentences_and_their_products_sum_to_one(text):
    """C023."""
    found = data(text)
    run = core.open_model(maths.MODEL).run(text)
    words, sentences = run.attention("words", by="word"), run.attention("sentences")
    for i in range(len(found.sentence_texts)):
        own = found.words_of(i)
        assert found.inside[own].sum() == pytest.approx(1, abs=1e-5)
        np.testing.assert_allclose(found.inside[own], words.weights[0, 0, i, own], atol=1e-6)
    np.testing.assert_allclose(found.sentences, sentences.weights[0, 0, 0], atol=1e-6)
    assert found.sentences.sum() == pytest.approx(1, abs=1e-5)
    np.testing.assert_allclose(found.products, found.inside * found.sentences[found.numbers])
    assert found.products.sum() == pytest.approx(1, abs=1e-5) and (found.products >= 0).all()
    np.testing.assert_allclose(found.rows[-1], found.products)
    np.testing.assert_allclose(found.rows.sum(1), 1, atol=1e-5)
    assert found.words == words.keys and found.sentence_texts == sentences.keys
    np.testing.assert_allclose(found.chances, softmax(run.classes))


def test_without_a_sentence_is_the_text_read_again_without_it():
    found, model = data(), core.open_model(maths.MODEL)
    places = sentences_of(OWN)
    for i, row in enumerate(found.chances_without):
        rest = " ".join(OWN[slice(*place)] for j, place in enumerate(places) if j != i)
        np.testing.assert_allclose(row, softmax(model.run(rest).classes), atol=1e-5)
    assert data("whale").chances_without.shape == (0, 6) and maths.agreement(data("whale")) is None


def test_the_page_opens_with_a_question_and_tells_no_weight_before():
    found = data(Params().text)
    test = page()
    assert "Guess first" in said(test) and not test.get("vega_lite_chart")
    told = page(1, "first", found.names[found.heaviest])
    assert "Right." in said(told)
    assert bar_labels(told) == [f"{weight:.1%}" for weight in found.sentences]
    assert (
        f"Output: {found.classes[found.predicted_class]} ({percent(found.chances[found.predicted_class], 2)})"
        in said(told)
    )


def test_the_words_of_a_sentence_with_their_weights():
    found = data()
    own = found.words_of(found.heaviest)
    best = own[found.inside[own].argmax()]
    test = page(2, "word", found.words[best], OWN)
    assert "Right." in said(test) and f"“{found.words[best]}” {percent(found.inside[best], 2)}" in said(test)


def test_the_products_add_up_and_the_heaviest_are_told():
    found = data()
    best = int(found.products.argmax())
    test = page(3, "sum", "1", OWN)
    i = found.numbers[best]
    line = f"{percent(found.sentences[i], 1)} × {percent(found.inside[best], 1)} = {percent(found.products[best], 2)}"
    assert "Right." in said(test) and line in said(test)


@pytest.mark.slow
def test_six_kinds_and_what_one_of_ours_is_meant_as():
    for name, text in EXAMPLES.items():
        found = data(text)
        test = page(4, "kind", found.classes[found.predicted_class], text)
        assert "Right." in said(test) and len(drawn_rows(test, "value")) == 6
        meant = next(one for one in maths.preset_results() if one.row.task == name)
        assert ("That is right." in said(test)) == meant.passed
        assert ("A telling error" in said(test)) != meant.passed
    assert "no class" in said(page(4, "kind", data().classes[data().predicted_class], OWN))


@pytest.mark.slow
def test_a_deleted_sentence_moves_the_class_or_does_not():
    for text in (OWN, *EXAMPLES.values()):
        found = data(text)
        after = int(found.chances_without[found.heaviest].argmax())
        right = "It stays" if after == found.predicted_class else f"It becomes {found.classes[after]}"
        test = page(5, "gone", right, text)
        assert "Right." in said(test)
        lost = found.chances[found.predicted_class] - found.chances_without[:, found.predicted_class]
        np.testing.assert_allclose(lanes(test)[1], lost, atol=6e-4)
        turned = [
            1 + i for i, row in enumerate(found.chances_without) if row.argmax() != found.predicted_class
        ]
        assert ("No single sentence" in said(test)) == (not turned)
    assert "nothing is left" in said(page(5, text="whale"))


@pytest.mark.slow
def test_rank_correlation_is_spearmans():
    from scipy.stats import spearmanr

    for text in EXAMPLES.values():
        found = data(text)
        lost = found.chances[found.predicted_class] - found.chances_without[:, found.predicted_class]
        assert maths.agreement(found) == pytest.approx(spearmanr(found.sentences, lost).statistic)


def test_the_record_is_told_beside_its_baselines_and_our_texts_as_they_come_out():
    found = maths.accuracies()
    held = {
        score.subject: score.value
        for score in read_scores(shipped_folder() / maths.MODEL)
        if (score.measure, score.split) == ("accuracy", maths.SPLIT)
    }
    assert found | held == found and held[maths.MODEL] >= 0.80 and len(held) == 3
    test = page(6)
    slider = next(one for one in test.slider if str(one.key).startswith("predict:"))
    told = slider.set_value(round(100 * held[maths.MODEL])).run()
    button = next(one for one in told.button if one.label == "That is my guess")
    told = button.click().run()
    assert percent(held[maths.MODEL], 2) in said(told)
    shown = [*maths.left_out().values(), *(value for name, value in found.items() if name != maths.MODEL)]
    assert bar_labels(told) == [f"{value:.1%}" for value in shown]
    assert maths.left_out()["test"] == held[maths.MODEL] and len(maths.left_out()) == 3
    wrong = [one for one in maths.preset_results() if not one.passed]
    assert all(one.says in said(told) for one in wrong) and wrong, "a case where it is wrong is told"


@pytest.mark.quick(1)
@pytest.mark.parametrize(
    "text", ["word " * 900, "Слово. Другое слово! Третье?", "你好。再见！", "?", "a" * 3000]
)
def test_odd_texts_are_read_or_answered_calmly(text):
    found = data(text)
    assert found.products.sum() == pytest.approx(1, abs=1e-4)
    for step in range(1, 6):
        assert "Something went wrong" not in said(page(step, text=text))


@pytest.mark.parametrize("text", ["", "  "])
def test_nothing_to_read_is_said(text):
    with pytest.raises(InputError, match="holds no word"):
        data(text)
    with pytest.raises(InputError, match="at most 1,024 at once"):
        data("word " * 1100)
